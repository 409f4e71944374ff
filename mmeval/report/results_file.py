"""Writes the results file in lm-evaluation-harness's layout, readable by its tools.

The key ``mmeval`` contains what that layout lacks: counts of unscored trials, bounds,
intervals, slices, and reasons why results are not comparable.
"""

from __future__ import annotations

import hashlib
import math
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from mmeval._version import __version__
from mmeval.metric.answer_filter import name_and_filter
from mmeval.program.prompt_origin import without_released_texts
from mmeval.records.score import FORMAT_VERSION, Result
from mmeval.results.corrected import with_corrected
from mmeval.results.prompt_words import prompts_json
from mmeval.run.availability import unavailable_findings
from mmeval.run.costs.bill import spent_json
from mmeval.run.options import RunOutcome
from mmeval.settings.report_options import ReportContext, run_config
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import sealed_document
from mmeval.system.secrets import without_secrets
from mmeval.task.task import Task


@dataclass(frozen=True)
class PublishedResults:
    """The results of a finished run, for loggers. ``table`` is the printed table.
    ``file`` is the results file, and ``document`` its content as JSON values.
    ``samples`` are the samples files by task; it is empty if none were requested."""

    table: str
    file: Path
    document: Mapping[str, Any]
    samples: Mapping[str, Path] = field(default_factory=dict)


def file_time(moment: datetime) -> str:
    """Returns a time for file names: ISO, with dashes instead of colons."""
    return moment.isoformat().replace(":", "-")


def write_results(
    outcome: RunOutcome,
    context: ReportContext,
    *,
    moment: datetime,
    task_hashes: Mapping[str, str] | None = None,
) -> Path:
    """Write ``results_<time>.json`` into the run folder, or the context's folder.
    Raises StorageError."""
    folder = context.folder or outcome.folder
    file = folder / f"{context.stem}_{file_time(moment)}.json"
    document = results_document(outcome, context, task_hashes or {})
    document = with_corrected(document, outcome.folder)
    write_atomic(file, sealed_document(document, allow_nan=False))
    return file


def results_document(
    outcome: RunOutcome, context: ReportContext, task_hashes: Mapping[str, str]
) -> dict[str, Any]:
    """Returns the content of the results file as JSON values."""
    tasks, groups = outcome.selection.tasks, outcome.selection.groups
    names = {task.name: task.alias for task in tasks}
    group_names = {group.name: group.alias for group in groups}
    numbers = _numbers(outcome.results, names)
    group_numbers = _numbers(outcome.group_results, group_names)
    # a group without any number has no entry
    group_numbers = {name: row for name, row in group_numbers.items() if len(row) > 1}
    members: dict[str, list[str]] = {}
    versions: dict[str, str] = {}
    for task in tasks:
        versions[task.name] = task.version
    for group in groups:
        members[group.name] = list(group.members)
        if group.version:
            versions[group.name] = group.version
    for task in tasks:
        members[task.name] = []
    directions: dict[str, dict[str, bool]] = {}
    trials: dict[str, int] = {}
    for result in (*outcome.results, *outcome.group_results):
        name, _ = name_and_filter(result.metric)
        directions.setdefault(result.task, {})[name] = result.higher_is_better
        if not result.slice:
            trials[result.task] = max(result.n, trials.get(result.task, 0))
    # rows of the data set, and samples that this run asked
    samples = {}
    for task in tasks:
        effective = trials.get(task.name, 0) // max(1, task.repeats)
        original = max(outcome.rows.get(task.name, 0), effective)
        samples[task.name] = {"original": original, "effective": effective}
    instruction = context.system_instruction
    instruction_sha = hashlib.sha256(instruction.encode()).hexdigest()
    return {
        "results": {**numbers, **group_numbers},
        "groups": group_numbers,
        "group_subtasks": members,
        "configs": {task.name: _config(task) for task in tasks},
        "versions": versions,
        "n-shot": dict.fromkeys((*names, *group_names), 0),
        "higher_is_better": directions,
        "n-samples": samples,
        "config": {**run_config(context), **without_secrets(context.metadata)},
        "git_hash": _git_hash(),
        "date": datetime.strptime(outcome.started, "%Y-%m-%dT%H-%M-%S").timestamp(),
        "pretty_env_info": (
            f"mmeval {__version__}; Python {platform.python_version()} "
            f"({sys.platform}); {platform.platform()}"
        ),
        "mmeval_version": __version__,
        "task_hashes": dict(task_hashes),
        "model_source": context.model,
        "model_name": outcome.model_name,
        "model_name_sanitized": re.sub(r'["<>:/|\\?*\[\]]+', "__", outcome.model_name),
        "system_instruction": instruction or None,
        "system_instruction_sha": instruction_sha if instruction else None,
        "fewshot_as_multiturn": None,
        "chat_template": None,
        "chat_template_sha": None,
        "start_time": outcome.started,
        "total_evaluation_time_seconds": str(outcome.seconds),
        "mmeval": _ours(outcome, context),
    }


def _numbers(
    results: tuple[Result, ...], aliases: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Returns ``{name: {"alias", "metric,none", "metric_stderr,none"}}``, without
    slices. The name of an answer filter replaces ``none``. An unknown value is null; an
    unknown standard error is "N/A", as readers of this layout expect."""
    entries: dict[str, dict[str, Any]] = {}
    for name, alias in aliases.items():
        entries[name] = {"alias": alias}
    for result in results:
        if result.slice:
            continue
        entry = entries.setdefault(result.task, {"alias": result.task})
        entry["sample_len"] = max(result.n, entry.get("sample_len", 0))
        name, filter_name = name_and_filter(result.metric)
        stderr = "N/A" if result.stderr is None else result.stderr
        entry[f"{name},{filter_name}"] = result.value
        entry[f"{name}_stderr,{filter_name}"] = stderr
    return entries


def _config(task: Task) -> dict[str, Any]:
    numbers: list[str] = []
    for metric in task.metrics:
        numbers += metric.bound.metric.outputs
    numbers += [number.name for number in task.numbers]
    return {
        **without_released_texts(dict(task.config)),
        "task": task.name,
        "output_type": "generate_until",
        "repeats": task.repeats,
        "num_fewshot": 0,
        "profile": task.config.get("profile", "standard"),
        "metric_list": [{"metric": name} for name in numbers],
    }


def _ours(outcome: RunOutcome, context: ReportContext) -> dict[str, Any]:
    tasks = outcome.selection.tasks
    results = [*outcome.results, *outcome.group_results]
    # a run that scores nothing does not need the requirements of its metrics
    lacks = unavailable_findings(outcome.selection, scoring=bool(outcome.results))
    left_out = {task.name: task.finding.cause for task in outcome.selection.left_out}
    prompts = chain.from_iterable(task.prompts for task in tasks)
    judges = {}
    for name, versions in outcome.judges.items():
        judges[name] = [asdict(version) for version in versions]
    return {
        "format": FORMAT_VERSION,
        "counts": asdict(outcome.counts),
        "settings": dict(context.settings),
        "results": [result.to_json() for result in results],
        "protocols": {task.name: task.protocol_name for task in tasks},
        "metrics": {task.name: _metrics(task, outcome) for task in tasks},
        "prompts": prompts_json([*prompts, *outcome.agent_prompts]),
        "refusals": {task.name: task.refusals for task in tasks},
        "subset": {name: subset.to_json() for name, subset in outcome.subsets.items()},
        "asked": {task.name: _asked_trials(task, outcome) for task in tasks},
        "unfinished": {
            name: asdict(progress) for name, progress in outcome.unfinished.items()
        },
        "left_aside": {name: list(rows) for name, rows in outcome.left_aside.items()},
        "left_out": left_out,
        "uses_reference": [task.name for task in tasks if task.uses_reference],
        "not_comparable": [task.name for task in tasks if not task.comparable],
        "spent": spent_json(outcome.bills),
        "metric_device": outcome.metric_device,
        "judges": judges,
        "handshakes": {
            role: [probe.to_json() for probe in probes]
            for role, probes in outcome.handshakes.items()
        },
        "score_sets": {name: path.name for name, path in outcome.score_sets.items()},
        "findings": [finding.to_json() for finding in (*lacks, *outcome.findings)],
        "exit_code": outcome.exit_code,
    }


def _metrics(task: Task, outcome: RunOutcome) -> dict[str, Any]:
    """Returns the metrics by name. Combined numbers are included as metrics that are
    computed from others. ``without`` also names parts without a scorable trial, unless
    the number leaves them out by definition."""
    rows: dict[str, Any] = {}
    profiles: dict[str, str] = {}
    for metric in task.metrics:
        outputs = metric.bound.metric.outputs
        profiles |= dict.fromkeys(outputs, metric.bound.profile)
        rows[metric.bound.name] = {
            "version": metric.bound.metric.version,
            "switches": metric.bound.described,
            "profile": metric.bound.profile,
            "aggregation": metric.aggregation,
            "without": list(metric.without),
            "outputs": list(outputs),
            "judged": metric.bound.metric.judged,
            "pieces": list(metric.bound.pieces),
            "range": _range(metric.bound.metric.range),
        }
        if metric.bound.metric.caution:
            rows[metric.bound.name]["caution"] = metric.bound.metric.caution
    whole = {}
    for result in outcome.results:
        if result.task == task.name and not result.slice:
            whole[result.metric] = result
    for number in task.numbers:
        counted = set(number.of)
        if number.name in whole:
            counted = set(whole[number.name].weights)
        absent = []
        for part in number.of:
            is_meant = (
                number.missing == "inapplicable"
                and part in whole
                and whole[part].inapplicable > 0
            )
            if counted and part not in counted and not is_meant:
                absent.append(part)
        known_profiles = [profiles[part] for part in number.of if part in profiles]
        rows[number.name] = {
            "version": "",
            "switches": {"of": list(number.of), "missing": number.missing},
            "profile": known_profiles[0] if known_profiles else "standard",
            "aggregation": number.combine,
            "without": list(dict.fromkeys((*absent, *number.without))),
            "outputs": [number.name],
            "judged": False,
            "pieces": list(number.of),
            "range": _range(number.range),
            "of_averages": True,
        }
    return rows


def _range(range: tuple[float, float]) -> list[float] | None:
    """Returns the range, or None if an end is infinite, which JSON cannot express."""
    return list(range) if all(map(math.isfinite, range)) else None


def _asked_trials(task: Task, outcome: RunOutcome) -> dict[str, Any]:
    """Returns the trials of the run folder that the numbers include: the repeats of
    each sample, and the index ranges of the chosen ``samples`` (null: all)."""
    chosen = outcome.chosen.get(task.name)
    if chosen is None or task.name not in outcome.subsets:
        return {"repeats": task.repeats, "samples": None}
    stretches: list[list[int]] = []
    for place in range(outcome.rows.get(task.name, 0)):
        if not chosen(place, 0):
            continue
        if stretches and stretches[-1][1] == place - 1:
            stretches[-1][1] = place
        else:
            stretches.append([place, place])
    return {"repeats": task.repeats, "samples": stretches}


@cache
def _git_hash() -> str | None:
    """Returns the commit of mmeval if it runs from a checkout. The commit is read once,
    because the code of a process does not change."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None
