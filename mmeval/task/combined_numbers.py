"""The ``numbers`` of a task file: numbers that are made of averaged numbers of the
task."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from mmeval.errors import did_you_mean
from mmeval.findings.finding import Finding
from mmeval.system.yaml_document import Problem
from mmeval.task.derived_entries import (
    about,
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
    listed = [entry.metric for entry in file.keys.metric_list]
    given = (output for metric in listed for output in numbers_of(file, metric))
    outputs = list(dict.fromkeys(given))
    parts = {
        output: metric for metric in metrics for output in metric.bound.metric.outputs
    }
    found: list[CombinedNumber] = []
    problems: list[Problem] = []
    taken = {*listed, *outputs}
    for at, keys in enumerate(file.keys.numbers):
        path = ("numbers", at)
        faults = [
            ((*path, *place), fault) for place, fault in _faults(keys, outputs, parts)
        ]
        if keys.number in taken:
            faults.append(
                (
                    (*path, "number"),
                    f"{keys.number!r} is a name in this task already; choose another",
                )
            )
        taken.add(keys.number)
        problems += faults
        if not faults:
            found.append(_combined(keys, parts))
    if problems:
        raise KeyFaultsError(*problems)
    return tuple(found)


def _faults(
    keys: NumberKeys, outputs: Sequence[str], parts: Mapping[str, TaskMetric]
) -> Iterator[Problem]:
    for place, part in enumerate(keys.of):
        if part not in outputs:
            known = ", ".join(outputs) or "none"
            yield (
                ("of", place),
                f"unknown number {part!r}{did_you_mean(part, outputs)} (the metrics "
                f"give {known})",
            )
    better = {
        part: parts[part].bound.metric.higher_is_better
        for part in keys.of
        if part in parts
    }
    if len(set(better.values())) > 1:
        high, low = (
            next(name for name, higher in better.items() if higher is wanted)
            for wanted in (True, False)
        )
        yield (
            ("of",),
            f"higher is better for {high}, lower is better for {low}: one number "
            "cannot be both",
        )


def _combined(keys: NumberKeys, parts: Mapping[str, TaskMetric]) -> CombinedNumber:
    """A number with what is known of its parts before the run; one that ``parts`` lack
    was skipped by the user."""
    there = {name: parts[name] for name in keys.of if name in parts}
    lacking = {name: metric.lacks for name, metric in there.items() if metric.lacks}
    skipped = [name for name in keys.of if name not in parts]
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
    ranges = [
        metric.bound.metric.range_for(name) for name, metric in there.items()
    ] or [(-math.inf, math.inf)]
    lows, highs = zip(*ranges, strict=True)
    return CombinedNumber(
        name=keys.number,
        of=tuple(keys.of),
        range=(min(lows), max(highs))
        if keys.missing != "unknown"
        else (_mean(lows), _mean(highs)),
        higher_is_better=all(
            metric.bound.metric.higher_is_better for metric in there.values()
        ),
        combine=keys.combine,
        missing=keys.missing,
        lacks=lacks,
        without=about(without, keys.number),
    )


def _mean(ends: Sequence[float]) -> float:
    return math.fsum(ends) / len(ends)
