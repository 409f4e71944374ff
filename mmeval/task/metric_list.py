"""Creates metrics from a task's ``metric_list`` and ``filter_list``."""

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
from mmeval.program.prompt_file import PromptTexts, PromptValue, is_prompt_path
from mmeval.system.yaml_document import KeyPath, Problem
from mmeval.task.derived_entries import complete_derived, outputs_of
from mmeval.task.file import TaskFile
from mmeval.task.key_faults import (
    KeyFaultsError,
    check_options,
    check_values,
    name_path,
    plugin_at,
)
from mmeval.task.released.chosen import chosen_prompts
from mmeval.task.schema import AnswerFilterKeys, MetricKeys
from mmeval.task.task import TaskMetric, TaskOverrides

_FILTERS_ELSEWHERE = {
    "multi_choice_regex": "the metric 'choice' reads which option an answer names",
    "custom": "a task file runs no code; register a metric",
    "decontaminate": "mmeval does not decontaminate; remove the filter",
    "format_span": "register a metric that reads spans",
    "regex_pos": "register a metric that reads tags",
}
"""Unsupported filters of lm-evaluation-harness, with what to use instead."""


def positions_of(file: TaskFile, overrides: TaskOverrides) -> list[int]:
    """Returns the positions of entries that are not skipped."""
    positions: list[int] = []
    for position, entry in enumerate(file.keys.metric_list):
        if entry.metric not in overrides.skip_metric:
            positions.append(position)
    return positions


def metrics_of(
    file: TaskFile, overrides: TaskOverrides, roles: frozenset[str]
) -> tuple[TaskMetric, ...]:
    """Returns the metrics of a task. Derived metrics are completed from their pieces.

    Raises KeyFaultsError.
    """
    positions = positions_of(file, overrides)
    metrics = [metric_at(file, position, overrides, roles) for position in positions]
    skipped: list[str] = []
    for keys in file.keys.metric_list:
        if keys.metric in overrides.skip_metric:
            skipped += numbers_of(file, keys.metric)
    pieces: dict[str, TaskMetric] = {}
    for entry in metrics:
        if not entry.bound.metric.derived:
            pieces.update(dict.fromkeys(entry.bound.metric.outputs, entry))
    for number, entry in enumerate(metrics):
        if not entry.bound.metric.derived:
            continue
        try:
            metrics[number] = complete_derived(entry, pieces, skipped)
        except UsageError as error:
            path: KeyPath = ("metric_list", positions[number], PIECES_SWITCH)
            if path not in file.document.places:
                path = path[:2]
            raise KeyFaultsError((path, str(error))) from None
        pieces.update(dict.fromkeys(entry.bound.metric.outputs, metrics[number]))
    return tuple(metrics)


def metric_at(
    file: TaskFile, position: int, overrides: TaskOverrides, roles: frozenset[str]
) -> TaskMetric:
    """Returns the metric of an entry, with switches and aggregator.

    Raises KeyFaultsError.
    """
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
    """Returns the filter pipelines of a task. Raises KeyFaultsError with all faults."""
    repeats = overrides.repeats or file.keys.repeats
    pipelines: list[AnswerFilter] = []
    faults: list[Problem] = []
    names: set[str] = set()
    for position, keys in enumerate(file.keys.filter_list):
        path = (FILTERS, position)
        if keys.name in names:
            faults.append(((*path, "name"), f"{keys.name!r} is listed twice"))
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
    """Returns True if a metric gets filtered answers.

    Judged metrics and metrics of one kind of media get the unfiltered answer.
    """
    reads_text = metric.looks_at in (None, "text")
    return reads_text and not (metric.judged or metric.derived)


def numbers_of(file: TaskFile, metric: str) -> tuple[str, ...]:
    """Returns the names of a metric's numbers: one for each output and filter.

    Returns an empty tuple for a metric that cannot be loaded.
    """
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
    """Raises KeyFaultsError if two entries compute the same number.

    Unknown metrics are ignored.
    """
    earlier: set[str] = set()
    for position in positions_of(file, overrides):
        outputs = outputs_of(file.keys.metric_list[position].metric)
        twice = sorted(earlier.intersection(outputs))
        if twice:
            message = (
                f"an earlier entry already computes {' and '.join(twice)}; list each "
                "metric once"
            )
            raise KeyFaultsError((("metric_list", position, "metric"), message))
        earlier.update(outputs)


def written_metrics(
    file: TaskFile, overrides: TaskOverrides, metrics: Sequence[TaskMetric]
) -> dict[str, Any]:
    """Returns the metrics of the resolved task file as JSON.

    The mapping contains the entries with overrides, the skipped entries, and the texts
    of all prompts.
    """
    listed: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    texts: dict[str, dict[str, PromptValue]] = {}
    bound = [metric.bound for metric in metrics]
    for entry in file.document.data.get("metric_list") or ():
        name = entry["metric"]
        row = {**entry, **overrides.metric_args.get(name, {})}
        if name in overrides.skip_metric:
            skipped.append(row)
            continue
        entry_metric = bound[len(listed)]
        listed.append({**row, **_independent_of_folder(row, entry_metric)})
        if entry_metric.prompts:
            by_name: dict[str, PromptValue] = {}
            for prompt in entry_metric.prompts.values():
                by_name[prompt["name"]] = _recorded(prompt)
            texts[entry_metric.name] = by_name
    record: dict[str, Any] = {}
    if listed or skipped:
        record["metric_list"] = listed
    # recorded with their switches, so that mmeval score can add these metrics later
    if skipped:
        record["skipped_metrics"] = skipped
    if texts:
        record["judge_prompts"] = texts
    return record


def _recorded(prompt: Mapping[str, Any]) -> PromptValue:
    """Returns the text of a prompt, with the ids of a released text."""
    if "released" not in prompt:
        text: str = prompt["text"]
        return text
    return {name: value for name, value in prompt.items() if name != "name"}


def _independent_of_folder(
    entry: Mapping[str, Any], bound: BoundMetric
) -> dict[str, Any]:
    """Makes the switches of an entry independent of its folder, and returns them.

    Paths of files and models become absolute. Prompts from files become their text.
    """
    replaced: dict[str, Any] = {}
    for switch, value in bound.params.items():
        if switch in entry and bound.metric.takes_path(switch, str(entry[switch])):
            replaced[switch] = value
    for switch, model in bound.models.items():
        text = str(entry.get(switch, ""))
        if text and (text[0] == "~" or bound.metric.takes_path(switch, text)):
            replaced[switch] = model["folder"]
    for switch, prompt in bound.prompts.items():
        written = entry.get(switch)
        is_path = isinstance(written, str) and is_prompt_path(written)
        if is_path or isinstance(written, Mapping):
            replaced[switch] = prompt
    return replaced


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
        fault = f"the metric {metric.name!r} calls no role"
        if metric.roles:
            near = did_you_mean(name, metric.roles)
            fault = f"unknown role{near} (the metric calls {', '.join(metric.roles)})"
        faults.append(((*path, "asks", name), fault))
    if faults:
        raise KeyFaultsError(*faults)
    params = {
        **metric.placed(keys.switches, home),
        **overrides.metric_args.get(keys.metric, {}),
    }
    if AGGREGATION in metric.switches:
        params[AGGREGATION] = keys.aggregation.name
    filters = answer_filters(file, overrides)
    if filters and reads_filtered(metric):
        params[FILTERS] = [pipeline.to_json() for pipeline in filters]
    texts = PromptTexts(
        given=chosen_prompts(file, overrides),
        recorded=file.prompts.get(keys.metric, {}),
    )
    switches = metric.consented(params, trust=overrides.trust_remote_code)
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
        key_names = [
            "metric",
            "aggregation",
            "higher_is_better",
            "asks",
            *metric.switches,
        ]
        return f"unknown key{did_you_mean(name, key_names)}"
    if name == TRUST:
        return (
            f"a task file cannot allow code to run; use --{TRUST} on the command line"
        )
    value = keys.switches[name]
    fault = written_fault(value) if name in metric.models else ""
    fault = fault or metric.switch_fault(name, value)
    if fault or not metric.takes_path(name, value):
        return fault
    try:
        path_inside(home, value)
    except UsageError:
        advice = "move the file there, or use --judge_prompts or --metric_args"
        return f"{value[:200]!r} is outside of the task file's folder; {advice}"
    return ""
