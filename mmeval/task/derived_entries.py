"""Checks and completes the derived metrics of a task before scoring."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmeval.errors import MmevalError, UsageError, did_you_mean
from mmeval.findings.finding import Finding, Subject
from mmeval.metric.answer_filter import name_and_filter
from mmeval.metric.bound import BoundMetric
from mmeval.metric.contract import load_metric
from mmeval.metric.derived import with_range
from mmeval.metric.signature import PIECES_SWITCH
from mmeval.task.task import TaskMetric

MetricEntry = Mapping[str, Any]
"""An entry of a ``metric_list`` as in the file."""


def complete_derived(
    derived: TaskMetric, pieces: Mapping[str, TaskMetric], skipped: Collection[str] = ()
) -> TaskMetric:
    """Completes a derived entry from its pieces: range, direction and availability.

    ``pieces`` maps the outputs of the task's other metrics to their entries.
    ``skipped`` are the outputs of skipped metrics. Raises UsageError if the derived
    metric cannot be computed from the outputs that it names.
    """
    bound = derived.bound
    _check_names(bound, {*pieces, *skipped})
    entries: dict[str, TaskMetric] = {}
    skipped_pieces: list[str] = []
    for name in bound.pieces:
        if name in pieces:
            entries[name] = pieces[name]
        else:
            skipped_pieces.append(name)
    if skipped_pieces and (not entries or not bound.metric.takes_missing):
        return replace(derived, lacks=(skipped_piece(skipped_pieces[0], bound.name),))
    for name, entry in entries.items():
        if any(pipeline.chooses(name) for pipeline in entry.bound.filters):
            raise UsageError(
                f"{bound.name} scores each answer, but {name} scores only the majority "
                "of a sample's answers (majority_vote); name another output"
            )
    ranges: dict[str, tuple[float, float]] = {}
    better: dict[str, bool] = {}
    for name, entry in entries.items():
        ranges[name] = entry.bound.metric.range_for(name)
        better[name] = entry.bound.metric.higher_is_better
    fault = direction_fault(better)
    if fault:
        raise UsageError(fault)
    ranged = with_range(bound, ranges)
    metric = replace(ranged.metric, higher_is_better=next(iter(better.values())))
    completed = replace(derived, bound=replace(ranged, metric=metric))
    unavailable = {name: entry.lacks for name, entry in entries.items() if entry.lacks}
    if unavailable and not (
        bound.metric.takes_missing and len(unavailable) < len(entries)
    ):
        return replace(
            completed, lacks=(*derived.lacks, *inherited(unavailable, bound.name))
        )
    without: dict[str, Finding] = {}
    for entry in entries.values():
        without.update(entry.without)
    for piece in unavailable:
        without[piece] = unavailable_piece(piece)
    for piece in skipped_pieces:
        without[piece] = skipped_piece(piece, bound.name)
    return replace(completed, without=findings_about(without, bound.name))


def inherited(
    unavailable: Mapping[str, Sequence[Finding]], name: str
) -> tuple[Finding, ...]:
    """Converts findings about unavailable pieces to findings about ``name``."""
    by_finding: dict[Finding, None] = {}
    for findings in unavailable.values():
        by_finding.update(dict.fromkeys(_about(finding, name) for finding in findings))
    return tuple(by_finding)


def findings_about(without: Mapping[str, Finding], name: str) -> dict[str, Finding]:
    """Converts findings about missing pieces to findings about the number ``name``."""
    return {piece: _about(finding, name) for piece, finding in without.items()}


def _about(finding: Finding, name: str) -> Finding:
    return replace(finding, subject=replace(finding.subject, metric=name))


def direction_fault(better: Mapping[str, bool]) -> str:
    """Returns why numbers cannot be combined, or an empty string if they can.

    ``better`` maps each number to True if higher is better. Numbers can be combined if
    higher is better for all of them or for none of them.
    """
    high = [name for name, is_higher in better.items() if is_higher]
    low = [name for name, is_higher in better.items() if not is_higher]
    if not high or not low:
        return ""
    return (
        f"higher is better for {high[0]}, but lower is better for {low[0]}; they "
        "cannot be combined"
    )


def unavailable_piece(piece: str) -> Finding:
    """Returns the finding that a piece is unavailable.

    The piece's own findings explain why.
    """
    return Finding("partial", cause=f"without {piece}", severity="note")


def skipped_piece(piece: str, name: str = "") -> Finding:
    """Returns the finding that the user skipped a piece, with the command to add it."""
    only = f" --metrics {name}" if name else ""
    return Finding(
        "partial",
        Subject(metric=name),
        cause=f"without {piece}, skipped by --skip_metric",
        remedy=f"mmeval score {{RUN}}{only}",
        severity="note",
    )


def piece_ranges(
    entry: TaskMetric, entries: Iterable[TaskMetric]
) -> dict[str, list[float | None]]:
    """Returns the ranges of a derived entry's pieces as JSON. Null means infinite."""
    ranges: dict[str, list[float | None]] = {}
    for other in entries:
        metric = other.bound.metric
        for name in metric.outputs:
            ends = metric.range_for(name)
            ranges[name] = [end if math.isfinite(end) else None for end in ends]
    return {name: ranges[name] for name in entry.bound.pieces if name in ranges}


def outputs_of(metric: str) -> Sequence[str]:
    """Returns the outputs of a metric; none if it cannot be loaded.

    Other checks report the error of a metric that cannot be loaded.
    """
    try:
        return load_metric(metric).outputs
    except MmevalError:
        return ()


def derived_outputs(entries: Iterable[TaskMetric], lost: Collection[str]) -> set[str]:
    """Returns the outputs that are derived, directly or indirectly, from ``lost``."""
    gone = set(lost)
    for entry in entries:  # a piece comes before the entries that are derived from it
        if not gone.isdisjoint(entry.bound.pieces):
            gone.update(entry.bound.metric.outputs)
    return gone - set(lost)


def with_pieces(
    requested: Sequence[MetricEntry],
    listed: Mapping[str, MetricEntry],
    metric_args: Mapping[str, Mapping[str, Any]],
) -> list[MetricEntry]:
    """Returns the ``requested`` entries, each after the entries of its pieces.

    ``listed`` maps metrics to the task's entries. ``metric_args`` override their
    switches.
    """
    entry_of: dict[str, MetricEntry] = {}
    for entry in listed.values():
        entry_of.update(dict.fromkeys(outputs_of(entry["metric"]), entry))
    ordered: dict[str, MetricEntry] = {}
    visited: set[str] = set()

    def add(entry: MetricEntry) -> None:
        name = entry["metric"]
        if name in visited:
            return
        visited.add(name)
        for piece in _pieces({**entry, **metric_args.get(name, {})}):
            output, _ = name_and_filter(str(piece))
            if output in entry_of:
                add(entry_of[output])
        ordered[name] = entry

    for entry in requested:
        add(entry)
    return list(ordered.values())


def _pieces(entry: MetricEntry) -> list[Any]:
    """Returns the pieces that a derived entry names, or else its metric's defaults."""
    try:
        metric = load_metric(entry["metric"])
    except MmevalError:
        return []
    if not metric.derived:
        return []
    written = entry.get(PIECES_SWITCH, metric.switches[PIECES_SWITCH])
    return list(written) if isinstance(written, (list, tuple)) else []


def _check_names(bound: BoundMetric, available: Collection[str]) -> None:
    if not bound.pieces:
        outputs = ", ".join(sorted(available))
        hint = f"the task's outputs are {outputs}"
        if not outputs:
            hint = f"list the metrics that compute them before {bound.name}"
        raise UsageError(
            f"name the outputs from which to compute {bound.name} ({hint})"
        )
    if len(set(bound.pieces)) < len(bound.pieces):
        raise UsageError("an output is named twice; name each one once")
    for name in bound.pieces:
        if name in bound.metric.outputs:
            raise UsageError(f"{bound.name} cannot be computed from itself")
        if name not in available:
            outputs = ", ".join(sorted(available)) or "none"
            usable = ", ".join(piece for piece in bound.pieces if piece in available)
            advice = (
                f"; to use the known ones write {PIECES_SWITCH}: [{usable}]"
                if usable
                else ""
            )
            raise UsageError(
                f"unknown output {name!r}{did_you_mean(name, available)} (the task's "
                f"other metrics compute {outputs}{advice}; derived metrics must come "
                "before those that use them)"
            )
