"""Reads the tasks and groups of a run folder, as the run recorded them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.errors import MissingError
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.render import terminal_lines
from mmeval.metric.answer_filter import name_and_filter
from mmeval.metric.contract import load_metric
from mmeval.results.groups import tasks_inside
from mmeval.system.yaml_document import Document
from mmeval.task.build import build, check_metric_names, prompt_findings
from mmeval.task.derived_entries import outputs_of, with_pieces
from mmeval.task.file import OF_A_RUN, TaskFile, parse_task
from mmeval.task.index import TaskIndex
from mmeval.task.released.catalogue import catalogue_files
from mmeval.task.released.chosen import OWN_WORDS, RELEASED
from mmeval.task.selection import choose
from mmeval.task.task import (
    Group,
    GroupMetric,
    Selection,
    TaskMetric,
    TaskOverrides,
    UnavailableTask,
)


def stored_selection(
    record: Mapping[str, Any],
    overrides: TaskOverrides,
    roles: frozenset[str],
    *,
    metrics: tuple[str, ...] = (),
) -> Selection:
    """Returns the tasks and groups of a run, with the given metrics and switches.

    Raises UnknownNameError for a metric that is not registered, or if switches are
    given for a metric that no task has.
    """
    for metric in metrics:
        load_metric(metric)
    listed: set[str] = set()
    for config in record["tasks"].values():
        listed.update(entry["metric"] for entry in _listed(config))
    left_out = record.get("settings", {}).get("skip_metric", ())
    check_metric_names({*listed, *left_out, *metrics}, overrides)
    catalogues: dict[str, tuple[Path, ...]] = {}
    if overrides.prompts == RELEASED:
        catalogues = _catalogues_of(record)
    tasks = []
    for name, config in record["tasks"].items():
        file = _stored_file(name, config, metrics, listed, overrides)
        file = replace(file, catalogues=catalogues.get(name, ()))
        skipped = []
        if not metrics:
            skipped = [entry["metric"] for entry in config.get("skipped_metrics", ())]
        changed = replace(
            overrides,
            data="",
            data_dir=None,
            system_instruction=config.get("system_instruction", ""),
            refusals=overrides.refusals or config.get("refusals", ""),
            skip_metric=(*overrides.skip_metric, *skipped),
        )
        task = build(file, changed, roles=roles)
        if metrics:
            entries = _metrics_to_score(task.metrics, metrics)
            outputs: set[str] = set()
            for entry in entries:
                outputs.update(entry.bound.metric.outputs)
            numbers = [
                number for number in task.numbers if outputs.issuperset(number.of)
            ]
            task = replace(task, metrics=entries, numbers=tuple(numbers))
        data = config.get("data")
        if data:
            task = replace(
                task,
                config={**task.config, "data": data},
                comparable=task.comparable and data != "bundled",
            )
        tasks.append(task)
    findings = prompt_findings(tasks, overrides)
    groups = []
    members: dict[str, tuple[str, ...]] = {}
    for group in record.get("groups", {}).values():
        of_group = tuple(GroupMetric(**metric) for metric in group["metrics"])
        members[group["name"]] = tuple(group["members"])
        changed_group = {"members": members[group["name"]], "metrics": of_group}
        groups.append(Group(**{**group, **changed_group}))
    # members of groups that the run left out, with the recorded reasons
    inside: set[str] = set()
    for group in members:
        inside.update(tasks_inside(group, members))
    reasons = record.get("left_out", {})
    without = []
    for name in sorted(inside - record["tasks"].keys()):
        cause = "the run left it out"
        finding = Finding("missing_data", Subject(name), cause=cause, severity="note")
        if name in reasons:
            finding = Finding.from_json(reasons[name])
        without.append(UnavailableTask(name, name, "", finding))
    return Selection(
        tuple(tasks),
        tuple(groups),
        tuple(without),
        tuple(findings),
    )


def _metrics_to_score(
    entries: Sequence[TaskMetric], names: Collection[str]
) -> tuple[TaskMetric, ...]:
    """Returns the requested metrics, with the pieces that they are computed from.

    Pieces of an unavailable metric are not scored, since that may cost calls. An
    unavailable piece is kept, since it explains why its metric is unavailable.
    """
    requested = {load_metric(name).name for name in names}
    entries_to_score: list[TaskMetric] = []
    pieces: set[str] = set()
    for entry in reversed(entries):  # a piece comes before its metric
        is_requested = entry.bound.name in requested
        is_piece = not pieces.isdisjoint(entry.bound.metric.outputs)
        if entry.unavailable:
            entries_to_score.append(entry)
        elif is_requested or is_piece:
            entries_to_score.append(entry)
            pieces.update(entry.bound.pieces)
    return tuple(reversed(entries_to_score))


def left_aside(
    record: Mapping[str, Any], selection: Selection
) -> dict[str, tuple[str, ...]]:
    """Returns the metrics of a run that a selection leaves out, by task."""
    left_out = {}
    for task in selection:
        selected = {metric.bound.name for metric in task.metrics}
        # in order, each once
        missing: dict[str, None] = {}
        for entry in record["tasks"][task.name].get("metric_list") or ():
            name = load_metric(entry["metric"]).name
            if name not in selected:
                missing[name] = None
        if missing:
            left_out[task.name] = tuple(missing)
    return left_out


def check_any_available(selection: Selection, names: Collection[str]) -> None:
    """Raises MissingError if no requested metric can be computed.

    A metric that was not requested, but is a piece of a requested one, does not count.
    """
    requested = {load_metric(name).name for name in names}
    lacks: list[Finding] = []
    for task in selection:
        for metric in task.metrics:
            if metric.bound.name not in requested:
                continue
            if not metric.unavailable:
                return
            lacks += metric.lacks
    if lacks:
        lines = "\n".join(terminal_lines(lacks))
        raise MissingError(f"no metric can be computed:\n{lines}")


_OF_THE_RUN = (
    "data",
    "system_instruction",
    "skipped_metrics",
    "judge_prompts",
    "refusals",
    "task_prompt",
)
"""Fields of a recorded task that are not keys of its file."""


def _catalogues_of(record: Mapping[str, Any]) -> dict[str, tuple[Path, ...]]:
    """Returns the catalogues of released prompts of a run's tasks, by task.

    A record names no files, so the tasks are selected as the run selected them. Raises
    UnknownNameError for a task that is not known any more.
    """
    settings = record.get("settings", {})
    folders = [Path(folder) for folder in settings.get("include_path", ())]
    names = settings.get("tasks") or [*record["tasks"]]
    catalogues: dict[str, tuple[Path, ...]] = {}
    for name, file in choose(names, TaskIndex(folders)).tasks.items():
        catalogues[name] = tuple(catalogue_files([file]))
    return catalogues


def _stored_file(
    name: str,
    config: Mapping[str, Any],
    metrics: tuple[str, ...],
    listed: Collection[str],
    overrides: TaskOverrides,
) -> TaskFile:
    keys = {key: value for key, value in config.items() if key not in _OF_THE_RUN}
    # skipped metrics remain listed, so that numbers computed from them state why
    if config.get("skipped_metrics") and not metrics:
        keys["metric_list"] = _listed(config)
    if metrics:
        recorded = {entry["metric"]: entry for entry in _listed(config)}
        requested = []
        for metric in metrics:
            if metric in recorded or metric not in listed:
                requested.append(recorded.get(metric, {"metric": metric}))
        keys["metric_list"] = with_pieces(requested, recorded, overrides.metric_args)
        outputs: set[str] = set()
        for entry in keys["metric_list"]:
            outputs.update(outputs_of(entry["metric"]))
        keys["numbers"] = []
        for number in config.get("numbers") or ():
            parts = {name_and_filter(part)[0] for part in number["of"]}
            if parts <= outputs:
                keys["numbers"].append(number)
    file = parse_task(Document(Path(f"{OF_A_RUN}{name}"), keys))
    in_own_words = overrides.prompts == OWN_WORDS
    return replace(
        file,
        prompts={} if in_own_words else config.get("judge_prompts", {}),
        task_prompt=config.get("task_prompt"),
    )


def _listed(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the metrics of a recorded task, including skipped metrics."""
    metrics = list(config.get("metric_list") or ())
    metrics += config.get("skipped_metrics", ())
    return metrics
