"""The ``numbers`` of a task file, which combine averages of its metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from mmeval.errors import did_you_mean
from mmeval.findings.finding import Finding
from mmeval.system.yaml_document import KeyPath, Problem
from mmeval.task.derived_entries import (
    direction_fault,
    findings_about,
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
    """Returns the combined numbers of a task. Raises KeyFaultsError with all faults."""
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
    for position, keys in enumerate(file.keys.numbers):
        problems += _faults(keys, ("numbers", position), outputs, parts)
        if keys.number in taken:
            message = f"{keys.number!r} is already a name in this task; choose another"
            problems.append((("numbers", position, "number"), message))
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
            names = ", ".join(outputs) or "none"
            message = f"unknown number {part!r}{near} (the metrics compute {names})"
            yield (*path, "of", place), message
    fault = direction_fault(better)
    if fault:
        yield (*path, "of"), fault


def _combined(keys: NumberKeys, parts: Mapping[str, TaskMetric]) -> CombinedNumber:
    """Returns a combined number, with the findings about its unavailable parts.

    ``parts`` maps each output to its metric. Skipped metrics are not included.
    """
    present = {name: parts[name] for name in keys.of if name in parts}
    skipped = [name for name in keys.of if name not in parts]
    unavailable: dict[str, Sequence[Finding]] = {}
    lows: list[float] = []
    highs: list[float] = []
    for name, metric in present.items():
        if metric.lacks:
            unavailable[name] = metric.lacks
        low, high = metric.bound.metric.range_for(name)
        lows.append(low)
        highs.append(high)
    ends = (-math.inf, math.inf)
    if present and keys.missing == "unknown":
        count = len(present)
        ends = (math.fsum(lows) / count, math.fsum(highs) / count)
    elif present:
        ends = (min(lows), max(highs))
    missing = len(unavailable) + len(skipped)
    lacks: tuple[Finding, ...] = ()
    without: dict[str, Finding] = {}
    if missing and not (keys.missing == "skip" and missing < len(keys.of)):
        left_out = tuple(skipped_piece(name) for name in skipped)
        lacks = (*inherited(unavailable, keys.number), *left_out)
    else:
        for metric in present.values():
            without.update(metric.without)
        without.update({name: unavailable_piece(name) for name in unavailable})
        without.update({name: skipped_piece(name) for name in skipped})
    return CombinedNumber(
        name=keys.number,
        of=tuple(keys.of),
        range=ends,
        higher_is_better=all(
            metric.bound.metric.higher_is_better for metric in present.values()
        ),
        combine=keys.combine,
        missing=keys.missing,
        lacks=lacks,
        without=findings_about(without, keys.number),
    )
