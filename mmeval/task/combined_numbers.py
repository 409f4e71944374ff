"""The ``numbers`` of a task file: numbers that are made of averaged numbers of the
task."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from mmeval.errors import did_you_mean
from mmeval.findings.finding import Finding
from mmeval.system.yaml_document import KeyPath, Problem
from mmeval.task.derived_entries import (
    about,
    direction_fault,
    inherited,
    skipped_piece,
    unavailable_piece,
)
from mmeval.task.file import TaskFile
from mmeval.task.key_faults import KeyFaultsError
from mmeval.task.metric_list import numbers_of
from mmeval.task.schema import NumberKeys
from mmeval.task.task import CombinedNumber, TaskMetric


def combined_numbers(
    file: TaskFile, metrics: Sequence[TaskMetric]
) -> tuple[CombinedNumber, ...]:
    """The numbers of a task with these metrics. Raises KeyFaultsError with every
    fault."""
    taken: set[str] = set()
    outputs: list[str] = []
    for entry in file.keys.metric_list:
        taken.add(entry.metric)
        outputs += numbers_of(file, entry.metric)
    outputs = list(dict.fromkeys(outputs))
    taken.update(outputs)
    parts: dict[str, TaskMetric] = {}
    for metric in metrics:
        parts.update(dict.fromkeys(metric.bound.metric.outputs, metric))
    problems: list[Problem] = []
    for at, keys in enumerate(file.keys.numbers):
        problems += _faults(keys, ("numbers", at), outputs, parts)
        if keys.number in taken:
            message = f"{keys.number!r} is a name in this task already; choose another"
            problems.append((("numbers", at, "number"), message))
        taken.add(keys.number)
    if problems:
        raise KeyFaultsError(*problems)
    return tuple(_combined(keys, parts) for keys in file.keys.numbers)


def _faults(
    keys: NumberKeys,
    path: KeyPath,
    outputs: Sequence[str],
    parts: Mapping[str, TaskMetric],
) -> Iterator[Problem]:
    better: dict[str, bool] = {}
    for place, part in enumerate(keys.of):
        if part in parts:
            better[part] = parts[part].bound.metric.higher_is_better
        if part not in outputs:
            near = did_you_mean(part, outputs)
            known = ", ".join(outputs) or "none"
            message = f"unknown number {part!r}{near} (the metrics give {known})"
            yield (*path, "of", place), message
    fault = direction_fault(better)
    if fault:
        yield (*path, "of"), fault


def _combined(keys: NumberKeys, parts: Mapping[str, TaskMetric]) -> CombinedNumber:
    """A number with what is known of its parts before the run; one that ``parts`` lack
    was skipped by the user."""
    there = {name: parts[name] for name in keys.of if name in parts}
    skipped = [name for name in keys.of if name not in parts]
    lacking: dict[str, Sequence[Finding]] = {}
    lows: list[float] = []
    highs: list[float] = []
    for name, metric in there.items():
        if metric.lacks:
            lacking[name] = metric.lacks
        low, high = metric.bound.metric.range_for(name)
        lows.append(low)
        highs.append(high)
    ends = (-math.inf, math.inf)
    if there and keys.missing == "unknown":
        count = len(there)
        ends = (math.fsum(lows) / count, math.fsum(highs) / count)
    elif there:
        ends = (min(lows), max(highs))
    missing = len(lacking) + len(skipped)
    lacks: tuple[Finding, ...] = ()
    without: dict[str, Finding] = {}
    if missing and not (keys.missing == "skip" and missing < len(keys.of)):
        left_out = tuple(skipped_piece(name) for name in skipped)
        lacks = (*inherited(lacking, keys.number), *left_out)
    else:
        for metric in there.values():
            without.update(metric.without)
        without.update({name: unavailable_piece(name) for name in lacking})
        without.update({name: skipped_piece(name) for name in skipped})
    return CombinedNumber(
        name=keys.number,
        of=tuple(keys.of),
        range=ends,
        higher_is_better=all(
            metric.bound.metric.higher_is_better for metric in there.values()
        ),
        combine=keys.combine,
        missing=keys.missing,
        lacks=lacks,
        without=about(without, keys.number),
    )
