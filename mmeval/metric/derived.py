"""Derived metrics, computed from other scores of the same trial.

    @metric(range=(0, 1), version="1", source="this paper, section 5")
    def both(scores: Mapping[str, Score], *, of: Sequence[str] = ()) -> Score:
        ...

They are computed where the row of a trial is assembled, so that their pieces may come
from a scoring process and from a judge. ``scores`` holds the pieces that the switch
``of`` names, in its order: each is scored, or unscored with bounds if its range is
finite. The pieces of a task are checked in :mod:`mmeval.task.derived_entries` before
the run. These rules hold for every derived metric, before it is called:

- a piece is not scored yet: there is no derived score yet;
- the task's rule for a missing output has scored a piece: the derived score is the
  same;
- a piece is inapplicable to the answer: so is the derived score;
- a piece is unavailable: so is the derived score, which is reported before the run.

A metric that ``takes_missing`` pieces also gets those of the last two kinds, and those
that the run has skipped as unavailable ones.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmeval.errors import MmevalError
from mmeval.metric.apply import score_derived
from mmeval.metric.bound import BoundMetric, bind
from mmeval.metric.contract import Range, load_metric, whole_range
from mmeval.metric.result import MetricScores, writable
from mmeval.records.score import Score, ScoreStatus

log = logging.getLogger(__name__)

PIECES = "pieces"
"""The key for the pieces of a derived metric and their ranges, in a score set's
plan."""
BY_MISSING_OUTPUT = {"missing_output": True}
BY_REFUSAL = {"refused_answer": True}
"""The evidence of a score that the task's rule for a missing output gave."""
SKIPPED = Score.unavailable("it was skipped")
"""A piece that a run leaves out."""
_PASSED_ON: tuple[ScoreStatus, ...] = ("inapplicable", "unavailable")
"""The statuses of a piece that become that of the derived score, the first before the
second."""

ScoreSetRow = Mapping[str, Any]
"""A row of a score set: JSON values."""


@dataclass(frozen=True)
class Derivation:
    """A derived metric with the ranges of its pieces, by their names."""

    bound: BoundMetric
    ranges: Mapping[str, Range]

    def scores(self, known: Mapping[str, Score]) -> MetricScores:
        """Its scores from those of a trial; empty while a piece is missing."""
        if not self.ranges.keys() <= known.keys():
            return {}
        pieces = {name: self._bounded(name, known[name]) for name in self.ranges}
        outputs = self.bound.metric.outputs
        for piece in pieces.values():
            if piece.evidence in (BY_MISSING_OUTPUT, BY_REFUSAL):
                return dict.fromkeys(outputs, piece)
        if self.bound.metric.takes_missing:
            skipped = dict.fromkeys(self.bound.pieces, SKIPPED)
            return score_derived(self.bound, {**skipped, **pieces})
        for status in _PASSED_ON:
            for name, piece in pieces.items():
                if piece.status == status:
                    passed_on = Score(status=status, reason=f"{name}: {piece.reason}")
                    return dict.fromkeys(outputs, passed_on)
        return score_derived(self.bound, pieces)

    def _bounded(self, name: str, score: Score) -> Score:
        """A piece with its bounds: an unscored one lies in its range."""
        if score.status != "unscored" or score.bounds is not None:
            return score
        finite = all(map(math.isfinite, self.ranges[name]))
        return replace(score, bounds=self.ranges[name]) if finite else score


def with_range(bound: BoundMetric, ranges: Mapping[str, Range]) -> BoundMetric:
    """A derived metric with the range that follows from those of its pieces."""
    range_of = bound.metric.range_of
    if range_of is None:
        return bound
    range = whole_range(range_of(ranges, bound.params))
    return replace(bound, metric=replace(bound.metric, range=range))


def derivations(plan: Mapping[str, Any]) -> list[Derivation]:
    """The derived metrics of a score set's plan; warns of those that cannot be
    loaded."""
    found = []
    for entry in plan["metrics"]:
        if PIECES not in entry or "lacks" in entry:
            continue
        try:
            bound = bind(
                load_metric(entry["metric"]), entry["switches"], entry["profile"]
            )
        except MmevalError as error:
            log.warning("%s is not shown: %s", entry["metric"], error)
            continue
        ranges = {}
        for name, (low, high) in entry[PIECES].items():
            # JSON has no infinity
            lowest = -math.inf if low is None else low
            highest = math.inf if high is None else high
            ranges[name] = (lowest, highest)
        found.append(Derivation(with_range(bound, ranges), ranges))
    return found


def with_derived(row: ScoreSetRow, derived: Sequence[Derivation]) -> ScoreSetRow:
    """A row of a score set with its derived scores computed anew from the others."""
    if row.get("status") != "ok" or not isinstance(row.get("scores"), dict):
        return row
    scores = dict(row["scores"])
    known = {name: Score.from_json(score) for name, score in scores.items()}
    for one in derived:
        for name in one.bound.metric.outputs:
            known.pop(name, None)
            scores.pop(name, None)
        for name, score in one.scores(known).items():
            known[name] = writable(score)
            scores[name] = known[name].to_json()
    return {**row, "scores": dict(sorted(scores.items()))}
