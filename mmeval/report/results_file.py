"""The results file in lm-evaluation-harness's layout: its readers load it as is.

What that layout has no place for stands beside it under ``mmeval``: counts of what was
not scored, bounds, intervals, slices, and what keeps the result from being compared.
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
from pathlib import Path
from typing import Any

from mmeval._version import __version__
from mmeval.metric.answer_filter import name_and_filter
from mmeval.records.score import FORMAT_VERSION, Result
from mmeval.run.availability import lacking
from mmeval.run.costs.bill import spent_json
from mmeval.run.options import RunOutcome
from mmeval.settings.report_options import ReportContext, run_config
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import sealed_document
from mmeval.system.secrets import without_secrets
from mmeval.task.task import Task


@dataclass(frozen=True)
class Published:
    """The files of a run: ``document`` is the results file's content, as JSON values.
    ``samples`` are the samples files by task, empty where none were wanted."""

    table: str
    file: Path
    document: Mapping[str, Any]
    samples: Mapping[str, Path] = field(default_factory=dict)


def file_time(moment: datetime) -> str:
    """A time as the file names have it: ISO, dashes for colons."""
    return moment.isoformat().replace(":", "-")


def write_results(
    outcome: RunOutcome,
    context: ReportContext,
    *,
    moment: datetime,
    task_hashes: Mapping[str, str] | None = None,
) -> Path:
    """Write ``results_<time>.json`` into the run folder, or where the context says.
    Raises StorageError."""
    file = (
        context.folder or outcome.folder
    ) / f"{context.stem}_{file_time(moment)}.json"
    document = results_document(outcome, context, task_hashes or {})
    write_atomic(file, sealed_document(document, allow_nan=False))
    return file


def results_document(
    outcome: RunOutcome, context: ReportContext, task_hashes: Mapping[str, str]
) -> dict[str, Any]:
    """The whole file as JSON values."""
    tasks, groups = outcome.selection.tasks, outcome.selection.groups
    names = {task.name: task.alias for task in tasks}
    group_names = {group.name: group.alias for group in groups}
    group_numbers = _numbers(outcome.group_results, group_names, keep_empty=False)
    instruction = context.system_instruction
    return {
        "results": {**_numbers(outcome.results, names), **group_numbers},
        "groups": group_numbers,
        "group_subtasks": {
            **{group.name: list(group.members) for group in groups},
            **{task.name: [] for task in tasks},
        },
        "configs": {task.name: _config(task) for task in tasks},
        "versions": {
            **{task.name: task.version for task in tasks},
            **{group.name: group.version for group in groups if group.version},
        },
        "n-shot": dict.fromkeys((*names, *group_names), 0),
        "higher_is_better": _directions((*outcome.results, *outcome.group_results)),
        "n-samples": {task.name: _sample_counts(task, outcome) for task in tasks},
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
        "system_instruction_sha": hashlib.sha256(instruction.encode()).hexdigest()
        if instruction
        else None,
        "fewshot_as_multiturn": None,
        "chat_template": None,
        "chat_template_sha": None,
        "start_time": outcome.started,
        "total_evaluation_time_seconds": str(outcome.seconds),
        "mmeval": _ours(outcome, context),
    }


def _numbers(
    results: tuple[Result, ...], aliases: Mapping[str, str], *, keep_empty: bool = True
) -> dict[str, Any]:
    """``{name: {"alias", "metric,none", "metric_stderr,none"}}``, without slices; the
    name of a filter of answers stands in place of ``none``. A value that is unknown is
    null; its standard error is "N/A", as readers of this layout expect."""
    found: dict[str, dict[str, Any]] = {
        name: {"alias": alias} for name, alias in aliases.items()
    }
    for result in results:
        if result.slice:
            continue
        entry = found.setdefault(result.task, {"alias": result.task})
        entry["sample_len"] = max(result.n, entry.get("sample_len", 0))
        name, filter_name = name_and_filter(result.metric)
        entry[f"{name},{filter_name}"] = result.value
        entry[f"{name}_stderr,{filter_name}"] = (
            "N/A" if result.stderr is None else result.stderr
        )
    return {
        name: entry for name, entry in found.items() if keep_empty or len(entry) > 1
    }


def _directions(results: tuple[Result, ...]) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for result in results:
        name, _ = name_and_filter(result.metric)
        found.setdefault(result.task, {})[name] = result.higher_is_better
    return found


def _config(task: Task) -> dict[str, Any]:
    return {
        **task.config,
        "task": task.name,
        "output_type": "generate_until",
        "repeats": task.repeats,
        "num_fewshot": 0,
        "profile": task.config.get("profile", "standard"),
        "metric_list": [
            {"metric": name}
            for name in (
                *(
                    output
                    for metric in task.metrics
                    for output in metric.bound.metric.outputs
                ),
                *(number.name for number in task.numbers),
            )
        ],
    }


def _sample_counts(task: Task, outcome: RunOutcome) -> dict[str, int]:
    """``original``: rows of the data set; ``effective``: samples that this run
    asked."""
    results = (
        result
        for result in outcome.results
        if result.task == task.name and not result.slice
    )
    trials = max((result.n for result in results), default=0)
    effective = trials // max(1, task.repeats)
    return {
        "original": max(outcome.rows.get(task.name, 0), effective),
        "effective": effective,
    }


def _ours(outcome: RunOutcome, context: ReportContext) -> dict[str, Any]:
    # a run that scores nothing lacks nothing for its metrics
    lacks = lacking(outcome.selection, scoring=bool(outcome.results))
    return {
        "format": FORMAT_VERSION,
        "counts": asdict(outcome.counts),
        "settings": dict(context.settings),
        "results": [
            result.to_json() for result in (*outcome.results, *outcome.group_results)
        ],
        "protocols": {
            task.name: task.protocol_name for task in outcome.selection.tasks
        },
        "metrics": {
            task.name: {**_metrics(task), **_combined(task, outcome)}
            for task in outcome.selection.tasks
        },
        "refusals": {task.name: task.refusals for task in outcome.selection.tasks},
        "subset": {task: subset.to_json() for task, subset in outcome.subsets.items()},
        "asked": {task.name: _asked(task, outcome) for task in outcome.selection.tasks},
        "unfinished": {task: asdict(made) for task, made in outcome.unfinished.items()},
        "left_aside": {task: list(names) for task, names in outcome.left_aside.items()},
        "left_out": {
            task.name: task.finding.cause for task in outcome.selection.left_out
        },
        "uses_reference": [
            task.name for task in outcome.selection.tasks if task.uses_reference
        ],
        "not_comparable": [
            task.name for task in outcome.selection.tasks if not task.comparable
        ],
        "spent": spent_json(outcome.bills),
        "metric_device": outcome.metric_device,
        "judges": {
            task: [asdict(one) for one in versions]
            for task, versions in outcome.judges.items()
        },
        "score_sets": {task: path.name for task, path in outcome.score_sets.items()},
        "findings": [finding.to_json() for finding in (*lacks, *outcome.findings)],
        "exit_code": outcome.exit_code,
    }


def _metrics(task: Task) -> dict[str, Any]:
    return {
        metric.bound.name: {
            "version": metric.bound.metric.version,
            "switches": metric.bound.described,
            "profile": metric.bound.profile,
            "aggregation": metric.aggregation,
            "without": list(metric.without),
            "outputs": list(metric.bound.metric.outputs),
            "judged": metric.bound.metric.judged,
            "pieces": list(metric.bound.pieces),
            "range": _range(metric.bound.metric.range),
        }
        for metric in task.metrics
    }


def _combined(task: Task, outcome: RunOutcome) -> dict[str, Any]:
    """Numbers of numbers, as metrics that are made of others. One is also without the
    parts of which no trial could have been scored, unless it is meant to leave them
    out."""
    whole = {
        one.metric: one
        for one in outcome.results
        if one.task == task.name and not one.slice
    }
    profiles = {
        name: metric.bound.profile
        for metric in task.metrics
        for name in metric.bound.metric.outputs
    }
    found = {}
    for number in task.numbers:
        counted = whole[number.name].weights if number.name in whole else number.of
        meant = {
            part
            for part, one in whole.items()
            if number.missing == "inapplicable" and one.inapplicable
        }
        absent = [
            part for part in number.of if counted and part not in {*counted, *meant}
        ]
        found[number.name] = {
            "version": "",
            "switches": {"of": list(number.of), "missing": number.missing},
            "profile": next(
                (profiles[part] for part in number.of if part in profiles), "standard"
            ),
            "aggregation": number.combine,
            "without": list(dict.fromkeys((*absent, *number.without))),
            "outputs": [number.name],
            "judged": False,
            "pieces": list(number.of),
            "range": _range(number.range),
            "of_averages": True,
        }
    return found


def _range(range: tuple[float, float]) -> list[float] | None:
    """None without both ends, as JSON has no infinity."""
    return list(range) if all(map(math.isfinite, range)) else None


def _asked(task: Task, outcome: RunOutcome) -> dict[str, Any]:
    """Which trials of the run folder the numbers are about. So many repeats of each
    sample; where flags chose, their range in the data set (``samples``; null: all it
    has)."""
    chosen = outcome.chosen.get(task.name)
    if chosen is None or task.name not in outcome.subsets:
        return {"repeats": task.repeats, "samples": None}
    places = (
        index for index in range(outcome.rows.get(task.name, 0)) if chosen(index, 0)
    )
    stretches: list[list[int]] = []
    for place in places:
        if stretches and stretches[-1][1] == place - 1:
            stretches[-1][1] = place
        else:
            stretches.append([place, place])
    return {"repeats": task.repeats, "samples": stretches}


def _git_hash() -> str | None:
    """The commit of mmeval when it runs from a checkout."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
