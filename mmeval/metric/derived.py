"""Derived metrics, which are computed from other scores of the same trial.

    @metric(range=(0, 1), version="1", source="this paper, section 5")
    def both(scores: Mapping[str, Score], *, of: Sequence[str] = ()) -> Score:
        ...

A derived metric is computed when the row of a trial is assembled, so its pieces may
come from a scoring process and from a judge. ``scores`` contains the scores that the
switch ``of`` names, in that order. They are called the pieces of the metric. Each piece
is either scored, or unscored with bounds if its range is finite.
:mod:`mmeval.task.derived_entries` checks the pieces of a task before the run. These
rules apply before a derived metric is called:

- If a piece has not been scored yet, the derived score is not computed yet.
- If the score of a piece comes from the task's rule for missing output, the derived
  score is equal to it.
- If a piece is inapplicable, the derived score is inapplicable.
- If a piece is unavailable, the derived score is unavailable. This is reported before
  the run.

A metric with ``takes_missing`` also gets pieces that are inapplicable or unavailable.
Skipped pieces are passed to it as unavailable pieces.
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
"""The key in a score set's plan for the pieces of a derived metric and their ranges."""
BY_MISSING_OUTPUT = {"missing_output": True}
BY_REFUSAL = {"refused_answer": True}
"""The evidence of scores from the task's rules for missing output and refusals."""
SKIPPED = Score.unavailable("it was skipped")
"""The score of a piece that the user skips."""
_PASSED_ON: tuple[ScoreStatus, ...] = ("inapplicable", "unavailable")
"""Statuses that the derived score takes over from a piece. The first one has
priority."""

ScoreSetRow = Mapping[str, Any]
"""A row of a score set, which consists of JSON values."""


@dataclass(frozen=True)
class Derivation:
    """A derived metric with the ranges of its pieces, by name."""

    bound: BoundMetric
    ranges: Mapping[str, Range]

    def scores(self, scores_of_trial: Mapping[str, Score]) -> MetricScores:
        """Returns the derived scores of a trial.

        The mapping is empty until all pieces have been scored.
        """
        if not self.ranges.keys() <= scores_of_trial.keys():
            return {}
        pieces = {
            name: self._bounded(name, scores_of_trial[name]) for name in self.ranges
        }
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
        """Returns the score of a piece, with its range as bounds if it is unscored."""
        if score.status != "unscored" or score.bounds is not None:
            return score
        finite = all(map(math.isfinite, self.ranges[name]))
        return replace(score, bounds=self.ranges[name]) if finite else score


def with_range(bound: BoundMetric, ranges: Mapping[str, Range]) -> BoundMetric:
    """Returns a derived metric with its range.

    The range is computed from the ranges of the metric's pieces.
    """
    range_of = bound.metric.range_of
    if range_of is None:
        return bound
    range = whole_range(range_of(ranges, bound.params))
    return replace(bound, metric=replace(bound.metric, range=range))


def derivations(plan: Mapping[str, Any]) -> list[Derivation]:
    """Returns the derived metrics of a score set's plan.

    A metric that cannot be loaded is left out with a warning.
    """
    loaded = []
    for entry in plan["metrics"]:
        if PIECES not in entry or "lacks" in entry:
            continue
        try:
            bound = bind(
                load_metric(entry["metric"]), entry["switches"], entry["profile"]
            )
        except MmevalError as error:
            log.warning("%s is left out: %s", entry["metric"], error)
            continue
        ranges = {}
        for name, (low, high) in entry[PIECES].items():
            # JSON has no infinity, so the plan has null instead.
            lowest = -math.inf if low is None else low
            highest = math.inf if high is None else high
            ranges[name] = (lowest, highest)
        loaded.append(Derivation(with_range(bound, ranges), ranges))
    return loaded


def with_derived(row: ScoreSetRow, derived: Sequence[Derivation]) -> ScoreSetRow:
    """Returns a row of a score set with its derived scores computed again."""
    if row.get("status") != "ok" or not isinstance(row.get("scores"), dict):
        return row
    scores = dict(row["scores"])
    by_name = {name: Score.from_json(score) for name, score in scores.items()}
    for derivation in derived:
        for name in derivation.bound.metric.outputs:
            by_name.pop(name, None)
            scores.pop(name, None)
        for name, score in derivation.scores(by_name).items():
            by_name[name] = writable(score)
            scores[name] = by_name[name].to_json()
    return {**row, "scores": dict(sorted(scores.items()))}
