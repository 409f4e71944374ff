"""The tasks and groups of a run folder as they were when it was made, to rescore."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from mmeval.task.build import build, check_metric_names, check_prompt_names
from mmeval.task.derived_entries import outputs_of, with_pieces
from mmeval.task.file import OF_A_RUN, TaskFile, parse_task
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
    """A run's tasks and groups as they were, with other metrics and switches if given.
    Raises UnknownNameError for a metric that is not registered, or is named to be
    changed and not there."""
    for metric in metrics:
        load_metric(metric)
    listed = {
        entry["metric"]
        for config in record["tasks"].values()
        for entry in _listed(config)
    }
    left_out = record.get("settings", {}).get("skip_metric", ())
    check_metric_names({*listed, *left_out, *metrics}, overrides)
    files = {
        name: _stored_file(name, config, metrics, listed, overrides.metric_args)
        for name, config in record["tasks"].items()
    }
    tasks = []
    for name, file in files.items():
        config = record["tasks"][name]
        skipped = (
            ()
            if metrics
            else tuple(entry["metric"] for entry in config.get("skipped_metrics", ()))
        )
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
            kept = _worth_scoring(task.metrics, metrics)
            there = {output for entry in kept for output in entry.bound.metric.outputs}
            task = replace(
                task,
                metrics=kept,
                numbers=tuple(n for n in task.numbers if there.issuperset(n.of)),
            )
        if data := config.get("data"):
            task = replace(
                task,
                config={**task.config, "data": data},
                comparable=task.comparable and data != "bundled",
            )
        tasks.append(task)
    check_prompt_names(tasks, overrides)
    groups = []
    for group in record.get("groups", {}).values():
        numbers = tuple(GroupMetric(**metric) for metric in group["metrics"])
        groups.append(
            Group(**{**group, "members": tuple(group["members"]), "metrics": numbers})
        )
    left_out = tuple(_left_out(groups, files, record.get("left_out", {})))
    return Selection(tuple(tasks), tuple(groups), left_out)


def _left_out(
    groups: Sequence[Group],
    run: Collection[str],
    reasons: Mapping[str, Mapping[str, Any]],
) -> Iterator[UnavailableTask]:
    """Members of the groups that the run was made without; ``reasons`` are the findings
    that it has recorded."""
    members = {group.name: group.members for group in groups}
    inside = {task for group in members for task in tasks_inside(group, members)}
    for name in sorted(inside - set(run)):
        cause = "the run was made without it"
        finding = Finding("missing_data", Subject(name), cause=cause, severity="note")
        if name in reasons:
            finding = Finding.from_json(reasons[name])
        yield UnavailableTask(name, name, "", finding)


def _worth_scoring(
    entries: Sequence[TaskMetric], names: Collection[str]
) -> tuple[TaskMetric, ...]:
    """The metrics that are asked for, with the pieces that these are made of. A piece
    of what cannot be computed all the same is not scored for it, which may cost calls;
    one that is itself unavailable stays, as the reason."""
    asked = {load_metric(name).name for name in names}
    kept: list[TaskMetric] = []
    pieces: set[str] = set()
    for entry in reversed(entries):  # a piece stands above what is made of it
        if (
            entry.bound.name in asked
            or entry.unavailable
            or not pieces.isdisjoint(entry.bound.metric.outputs)
        ):
            kept.append(entry)
            pieces.update(() if entry.unavailable else entry.bound.pieces)
    return tuple(reversed(kept))


def left_aside(
    record: Mapping[str, Any], selection: Selection
) -> dict[str, tuple[str, ...]]:
    """By task, the metrics of a run that a selection leaves out, where it leaves
    any."""
    found = {}
    for task in selection:
        own = {metric.bound.name for metric in task.metrics}
        listed = [
            load_metric(entry["metric"]).name
            for entry in record["tasks"][task.name].get("metric_list") or ()
        ]
        found[task.name] = tuple(
            name for name in dict.fromkeys(listed) if name not in own
        )
    return {name: lacking for name, lacking in found.items() if lacking}


def check_any_available(selection: Selection, names: Collection[str]) -> None:
    """Raises MissingError where no metric asked for by name can be computed here.
    Pieces that came along do not count."""
    asked = {load_metric(name).name for name in names}
    metrics = [
        metric
        for task in selection
        for metric in task.metrics
        if metric.bound.name in asked
    ]
    if metrics and all(metric.unavailable for metric in metrics):
        lacks = [finding for metric in metrics for finding in metric.lacks]
        lines = "\n".join(terminal_lines(lacks))
        raise MissingError(f"no metric can be computed:\n{lines}")


_OF_THE_RUN = (
    "data",
    "system_instruction",
    "skipped_metrics",
    "judge_prompts",
    "refusals",
)
"""What a recorded task has besides the keys of its file."""


def _stored_file(
    name: str,
    config: Mapping[str, Any],
    metrics: tuple[str, ...],
    listed: Collection[str],
    metric_args: Mapping[str, Mapping[str, Any]],
) -> TaskFile:
    keys = {key: value for key, value in config.items() if key not in _OF_THE_RUN}
    # what is made of them says why it is not there
    if config.get("skipped_metrics") and not metrics:
        keys["metric_list"] = _listed(config)
    if metrics:
        own = {entry["metric"]: entry for entry in _listed(config)}
        asked = [
            own.get(m, {"metric": m}) for m in metrics if m in own or m not in listed
        ]
        keys["metric_list"] = with_pieces(asked, own, metric_args)
        outputs = {
            output
            for entry in keys["metric_list"]
            for output in outputs_of(entry["metric"])
        }
        keys["numbers"] = [
            number
            for number in config.get("numbers") or ()
            if outputs.issuperset(name_and_filter(part)[0] for part in number["of"])
        ]
    return replace(
        parse_task(Document(Path(f"{OF_A_RUN}{name}"), keys)),
        prompts=config.get("judge_prompts", {}),
    )


def _listed(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The metrics of a recorded task, those that the run skipped included."""
    return [*(config.get("metric_list") or ()), *config.get("skipped_metrics", ())]
