"""The ``metric_list`` of a task file as metrics, and as a record; the ``filter_list``
says what they read of an answer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.aggregate.scores import load_aggregator
from mmeval.errors import UsageError, did_you_mean
from mmeval.media.media import path_inside
from mmeval.metric.answer_filter import FILTERS, STEPS, AnswerFilter
from mmeval.metric.bound import BoundMetric, bind
from mmeval.metric.contract import AGGREGATION, TRUST, Metric, load_metric
from mmeval.metric.model import written_fault
from mmeval.metric.signature import PIECES_SWITCH
from mmeval.program.prompt import PromptError
from mmeval.program.prompt_file import PromptTexts, is_prompt_path, read_prompt_folder
from mmeval.system.yaml_document import KeyPath, Problem
from mmeval.task.derived_entries import made_of, outputs_of
from mmeval.task.file import TaskFile
from mmeval.task.key_faults import (
    KeyFaultsError,
    check_options,
    check_values,
    name_path,
    plugin_at,
)
from mmeval.task.schema import AnswerFilterKeys, MetricKeys
from mmeval.task.task import TaskMetric, TaskOverrides

_FILTERS_ELSEWHERE = {
    "multi_choice_regex": "the metric 'choice' reads which option an answer names",
    "custom": "a task file runs no code; register a metric",
    "decontaminate": "there is no decontamination",
    "format_span": "register a metric that reads spans",
    "regex_pos": "register a metric that reads tags",
}
"""Filters of lm-evaluation-harness that do not exist here, and what to use instead."""


def positions_of(file: TaskFile, overrides: TaskOverrides) -> list[int]:
    """The positions of the entries that are not skipped."""
    return [
        i
        for i, entry in enumerate(file.keys.metric_list)
        if entry.metric not in overrides.skip_metric
    ]


def metrics_of(
    file: TaskFile, overrides: TaskOverrides, roles: frozenset[str]
) -> tuple[TaskMetric, ...]:
    """The metrics of a task, derived ones with their pieces. Raises KeyFaultsError."""
    positions = positions_of(file, overrides)
    found = [metric_at(file, position, overrides, roles) for position in positions]
    left_out = [
        entry.metric
        for i, entry in enumerate(file.keys.metric_list)
        if i not in positions
    ]
    skipped = [name for metric in left_out for name in numbers_of(file, metric)]
    pieces = {
        name: entry
        for entry in found
        if not entry.bound.metric.derived
        for name in entry.bound.metric.outputs
    }
    for at, entry in enumerate(found):
        if not entry.bound.metric.derived:
            continue
        try:
            found[at] = made_of(entry, pieces, skipped)
        except UsageError as error:
            path: KeyPath = ("metric_list", positions[at], PIECES_SWITCH)
            raise KeyFaultsError(
                (path if path in file.document.places else path[:2], str(error))
            ) from None
        pieces.update(dict.fromkeys(entry.bound.metric.outputs, found[at]))
    return tuple(found)


def metric_at(
    file: TaskFile, position: int, overrides: TaskOverrides, roles: frozenset[str]
) -> TaskMetric:
    """Make an entry's metric with switches and aggregator. Raises KeyFaultsError."""
    keys, path = file.keys.metric_list[position], ("metric_list", position)
    metric = plugin_at(load_metric, keys.metric, (*path, "metric"))
    if keys.higher_is_better is not None:
        metric = replace(
            metric, higher_is_better=keys.higher_is_better, direction_of=None
        )
    where = (*path, "aggregation")
    aggregator = plugin_at(
        load_aggregator, keys.aggregation.name, name_path(file, where)
    )
    options = keys.aggregation.options
    if "profile" in inspect.signature(aggregator).parameters:
        options = {"profile": overrides.profile or file.keys.profile, **options}
    check_options(aggregator, options, where)
    check_values(aggregator, options, where)
    bound = _bound(file, metric, keys, path, overrides)
    return TaskMetric(
        bound=bound,
        aggregation=keys.aggregation.name,
        options=options,
        lacks=bound.lacks(roles),
    )


def answer_filters(
    file: TaskFile, overrides: TaskOverrides
) -> tuple[AnswerFilter, ...]:
    """The pipelines of a task. Raises KeyFaultsError with every fault."""
    repeats = overrides.repeats or file.keys.repeats
    pipelines: list[AnswerFilter] = []
    faults: list[Problem] = []
    names: set[str] = set()
    for position, keys in enumerate(file.keys.filter_list):
        path = (FILTERS, position)
        if keys.name in names:
            faults.append(((*path, "name"), f"{keys.name!r} stands here twice"))
        names.add(keys.name)
        step_faults = _step_faults(keys, path, repeats)
        faults += step_faults
        if not step_faults:
            steps = tuple(
                {"function": step.function, **step.options} for step in keys.filter
            )
            pipelines.append(AnswerFilter(keys.name, steps))
    if faults:
        raise KeyFaultsError(*faults)
    return tuple(pipelines)


def reads_filtered(metric: Metric) -> bool:
    """Whether a metric reads an answer as the filters leave it. A judge reads the whole
    answer, and so does a metric of one kind of media."""
    reads_text = metric.looks_at in (None, "text")
    return reads_text and not (metric.judged or metric.derived)


def numbers_of(file: TaskFile, metric: str) -> tuple[str, ...]:
    """The names of the numbers that a metric gives in a task, one for each filter; none
    of a metric that cannot be loaded."""
    outputs = tuple(outputs_of(metric))
    if not outputs or not reads_filtered(load_metric(metric)):
        return outputs
    filtered: list[str] = []
    for keys in file.keys.filter_list:
        filtered += [f"{output},{keys.name}" for output in outputs]
    return tuple(filtered) or outputs


def _step_faults(keys: AnswerFilterKeys, path: KeyPath, repeats: int) -> list[Problem]:
    faults: list[Problem] = []
    for position, step in enumerate(keys.filter):
        where = (*path, "filter", position)
        name = step.function
        if name not in STEPS:
            advice = (
                f"is not supported here: {_FILTERS_ELSEWHERE[name]}"
                if name in _FILTERS_ELSEWHERE
                else f"unknown filter {name!r}{did_you_mean(name, STEPS)}"
            )
            faults.append(((*where, "function"), advice))
            continue
        try:
            check_options(STEPS[name], step.options, where)
            check_values(STEPS[name], step.options, where)
        except KeyFaultsError as error:
            faults += error.problems
            continue
        if name == "take_first_k" and step.options["k"] > repeats:
            message = f"a sample has {repeats} answers; raise repeats, or lower k"
            faults.append(((*where, "k"), message))
    return faults


def check_outputs(file: TaskFile, overrides: TaskOverrides) -> None:
    """Refuse a number that two entries give. Unknown metrics are passed over."""
    seen: set[str] = set()
    for position in positions_of(file, overrides):
        outputs = outputs_of(file.keys.metric_list[position].metric)
        twice = sorted(seen.intersection(outputs))
        if twice:
            message = (
                f"{' and '.join(twice)} is given by an earlier entry already; list a "
                "metric once"
            )
            raise KeyFaultsError((("metric_list", position, "metric"), message))
        seen.update(outputs)


def written_metrics(
    file: TaskFile, overrides: TaskOverrides, metrics: Sequence[TaskMetric]
) -> dict[str, Any]:
    """The metrics of the resolved file as plain JSON. They are its entries with the
    overrides, skipped ones apart, and the texts of all prompts."""
    written: dict[str, Any] = {}
    entries = [
        {**entry, **overrides.metric_args.get(entry["metric"], {})}
        for entry in file.document.data.get("metric_list") or ()
    ]
    kept = positions_of(file, overrides)
    if entries:
        written["metric_list"] = [
            {
                **entries[i],
                **_written_paths(entries[i], metric.bound),
                **_written_prompts(entries[i], metric.bound),
            }
            for i, metric in zip(kept, metrics, strict=True)
        ]
    # so that mmeval score can add them later, with their switches
    if len(kept) < len(entries):
        written["skipped_metrics"] = [
            entry for i, entry in enumerate(entries) if i not in kept
        ]
    bound = (metric.bound for metric in metrics if metric.bound.prompts)
    if named := {
        one.name: {prompt["name"]: prompt["text"] for prompt in one.prompts.values()}
        for one in bound
    }:
        written["judge_prompts"] = named
    return written


def _written_prompts(entry: Mapping[str, Any], bound: BoundMetric) -> dict[str, Any]:
    """The prompts of an entry that are files or written in it, with their texts."""
    given = {switch: entry.get(switch) for switch in bound.prompts}
    return {
        switch: bound.prompts[switch]
        for switch, written in given.items()
        if isinstance(written, Mapping)
        or (isinstance(written, str) and is_prompt_path(written))
    }


def _written_paths(entry: Mapping[str, Any], bound: BoundMetric) -> dict[str, Any]:
    """The paths of an entry, those of its models too, so that they are found from any
    folder."""
    found = {
        **bound.params,
        **{switch: model["folder"] for switch, model in bound.models.items()},
    }
    written = {switch: str(entry[switch]) for switch in found if switch in entry}
    return {
        switch: found[switch]
        for switch, text in written.items()
        if bound.metric.takes_path(switch, text)
        or (switch in bound.models and text[:1] == "~")
    }


def _bound(
    file: TaskFile,
    metric: Metric,
    keys: MetricKeys,
    path: KeyPath,
    overrides: TaskOverrides,
) -> BoundMetric:
    profile = overrides.profile or file.keys.profile
    home = file.beside("metric_list")
    faults = [
        ((*path, name), fault)
        for name in keys.switches
        if (fault := _switch_fault(metric, keys, name, home))
    ]
    for name in (name for name in keys.asks if name not in metric.roles):
        known = (
            f"{did_you_mean(name, metric.roles)} (the metric asks "
            f"{', '.join(metric.roles)})"
        )
        fault = (
            f"unknown role{known}"
            if metric.roles
            else f"the metric {metric.name!r} asks no role"
        )
        faults.append(((*path, "asks", name), fault))
    if faults:
        raise KeyFaultsError(*faults)
    given = {
        **metric.placed(keys.switches, home),
        **overrides.metric_args.get(keys.metric, {}),
    }
    if AGGREGATION in metric.switches:
        given[AGGREGATION] = keys.aggregation.name
    filters = answer_filters(file, overrides)
    if filters and reads_filtered(metric):
        given[FILTERS] = [pipeline.to_json() for pipeline in filters]
    folder = overrides.judge_prompts
    texts = PromptTexts(
        given={} if folder is None else read_prompt_folder(folder),
        recorded=file.prompts.get(keys.metric, {}),
    )
    try:
        bound = bind(
            metric,
            metric.consented(given, trust=overrides.trust_remote_code),
            profile,
            texts,
        )
        return replace(
            bound, asks={name: role for name, role in keys.asks.items() if role != name}
        )
    except PromptError as error:
        switch = next(
            (name for name in metric.prompts if name in keys.switches), "metric"
        )
        raise KeyFaultsError(((*path, switch), str(error))) from None


def _switch_fault(metric: Metric, keys: MetricKeys, name: str, home: Path) -> str:
    if name not in metric.switches:
        known = ["metric", "aggregation", "higher_is_better", "asks", *metric.switches]
        return f"unknown key{did_you_mean(name, known)}"
    if name == TRUST:
        return (
            f"a task file cannot allow code to run; give --{TRUST} on the command line"
        )
    value = keys.switches[name]
    found = (
        written_fault(value) if name in metric.models else ""
    ) or metric.switch_fault(name, value)
    if found or not metric.takes_path(name, value):
        return found
    try:
        path_inside(home, value)
    except UsageError:
        advice = "put the file there, or give it with --judge_prompts or --metric_args"
        return f"{value[:200]!r} leads out of the task file's folder; {advice}"
    return ""
