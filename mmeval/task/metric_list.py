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
    positions: list[int] = []
    for position, entry in enumerate(file.keys.metric_list):
        if entry.metric not in overrides.skip_metric:
            positions.append(position)
    return positions


def metrics_of(
    file: TaskFile, overrides: TaskOverrides, roles: frozenset[str]
) -> tuple[TaskMetric, ...]:
    """The metrics of a task, derived ones with their pieces. Raises KeyFaultsError."""
    positions = positions_of(file, overrides)
    found = [metric_at(file, position, overrides, roles) for position in positions]
    skipped: list[str] = []
    for keys in file.keys.metric_list:
        if keys.metric in overrides.skip_metric:
            skipped += numbers_of(file, keys.metric)
    pieces: dict[str, TaskMetric] = {}
    for entry in found:
        if not entry.bound.metric.derived:
            pieces.update(dict.fromkeys(entry.bound.metric.outputs, entry))
    for at, entry in enumerate(found):
        if not entry.bound.metric.derived:
            continue
        try:
            found[at] = made_of(entry, pieces, skipped)
        except UsageError as error:
            path: KeyPath = ("metric_list", positions[at], PIECES_SWITCH)
            if path not in file.document.places:
                path = path[:2]
            raise KeyFaultsError((path, str(error))) from None
        pieces.update(dict.fromkeys(entry.bound.metric.outputs, found[at]))
    return tuple(found)


def metric_at(
    file: TaskFile, position: int, overrides: TaskOverrides, roles: frozenset[str]
) -> TaskMetric:
    """Make an entry's metric with switches and aggregator. Raises KeyFaultsError."""
    keys = file.keys.metric_list[position]
    path = ("metric_list", position)
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


def _step_faults(
    keys: AnswerFilterKeys,
    path: KeyPath,
    repeats: int,
) -> list[Problem]:
    faults: list[Problem] = []
    for position, step in enumerate(keys.filter):
        where = (*path, "filter", position)
        name = step.function
        if name not in STEPS:
            advice = f"unknown filter {name!r}{did_you_mean(name, STEPS)}"
            if name in _FILTERS_ELSEWHERE:
                advice = f"is not supported here: {_FILTERS_ELSEWHERE[name]}"
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
    kept: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    texts: dict[str, dict[str, str]] = {}
    bound = [metric.bound for metric in metrics]
    for entry in file.document.data.get("metric_list") or ():
        name = entry["metric"]
        row = {**entry, **overrides.metric_args.get(name, {})}
        if name in overrides.skip_metric:
            skipped.append(row)
            continue
        own = bound[len(kept)]
        kept.append({**row, **_found_from_anywhere(row, own)})
        if own.prompts:
            prompts = own.prompts.values()
            texts[own.name] = {prompt["name"]: prompt["text"] for prompt in prompts}
    written: dict[str, Any] = {}
    if kept or skipped:
        written["metric_list"] = kept
    # so that mmeval score can add them later, with their switches
    if skipped:
        written["skipped_metrics"] = skipped
    if texts:
        written["judge_prompts"] = texts
    return written


def _found_from_anywhere(
    entry: Mapping[str, Any], bound: BoundMetric
) -> dict[str, Any]:
    """The paths of an entry, those of its models too, as they are from any folder, and
    the texts of its prompts that are files or written in it."""
    found: dict[str, Any] = {}
    for switch, value in bound.params.items():
        if switch in entry and bound.metric.takes_path(switch, str(entry[switch])):
            found[switch] = value
    for switch, model in bound.models.items():
        text = str(entry.get(switch, ""))
        if text and (text[0] == "~" or bound.metric.takes_path(switch, text)):
            found[switch] = model["folder"]
    for switch, prompt in bound.prompts.items():
        given = entry.get(switch)
        is_path = isinstance(given, str) and is_prompt_path(given)
        if is_path or isinstance(given, Mapping):
            found[switch] = prompt
    return found


def _bound(
    file: TaskFile,
    metric: Metric,
    keys: MetricKeys,
    path: KeyPath,
    overrides: TaskOverrides,
) -> BoundMetric:
    profile = overrides.profile or file.keys.profile
    home = file.beside("metric_list")
    faults: list[Problem] = []
    for name in keys.switches:
        fault = _switch_fault(metric, keys, name, home)
        if fault:
            faults.append(((*path, name), fault))
    for name in keys.asks:
        if name in metric.roles:
            continue
        fault = f"the metric {metric.name!r} asks no role"
        if metric.roles:
            near = did_you_mean(name, metric.roles)
            fault = f"unknown role{near} (the metric asks {', '.join(metric.roles)})"
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
    switches = metric.consented(given, trust=overrides.trust_remote_code)
    try:
        bound = bind(metric, switches, profile, texts)
    except PromptError as error:
        named = [name for name in metric.prompts if name in keys.switches]
        switch = named[0] if named else "metric"
        raise KeyFaultsError(((*path, switch), str(error))) from None
    asks = {name: role for name, role in keys.asks.items() if role != name}
    return replace(bound, asks=asks)


def _switch_fault(
    metric: Metric,
    keys: MetricKeys,
    name: str,
    home: Path,
) -> str:
    if name not in metric.switches:
        known = ["metric", "aggregation", "higher_is_better", "asks", *metric.switches]
        return f"unknown key{did_you_mean(name, known)}"
    if name == TRUST:
        return (
            f"a task file cannot allow code to run; give --{TRUST} on the command line"
        )
    value = keys.switches[name]
    fault = written_fault(value) if name in metric.models else ""
    fault = fault or metric.switch_fault(name, value)
    if fault or not metric.takes_path(name, value):
        return fault
    try:
        path_inside(home, value)
    except UsageError:
        advice = "put the file there, or give it with --judge_prompts or --metric_args"
        return f"{value[:200]!r} leads out of the task file's folder; {advice}"
    return ""
