"""Combines several aggregated numbers of a task, for example into their mean.

The combined number cannot be computed from the scores of single trials, because each
part uses different trials. The parts share the clusters of trials, so they are not
independent. Therefore each draw of the bootstrap is the same for all parts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from mmeval.aggregate.intervals import ONE_CLUSTER, uncertainty_of_terms
from mmeval.aggregate.scores import STATUSES, AggregatedNumber, Scores, first_statuses
from mmeval.aggregate.statistics import Interval, Uncertainty
from mmeval.aggregate.summary import (
    NOT_DRAWN,
    UNKNOWN_DRAW,
    Aggregation,
    bounds_interval,
    extremes,
    scorable,
    widened,
)
from mmeval.aggregate.terms import term_of_mean, terms_of
from mmeval.records.evidence import Evidence, Term
from mmeval.records.score import Result

_LOST = ("unsupported", "failed")
"""If a trial has one of these statuses, it has the same status in every part."""
_SKIPPING = (*_LOST, "unscored", "scored", "unavailable", "inapplicable")
_UNKNOWN = (*_LOST, "unavailable", "unscored", "scored", "inapplicable")
"""A trial gets the first status in this list that it has in any part."""


def mean_of(
    task: str,
    name: str,
    parts: Sequence[AggregatedNumber],
    *,
    skip: bool,
    higher_is_better: bool = True,
    unavailable: bool = False,
    bootstrap_iters: int = 0,
) -> Result:
    """Returns the mean of several numbers of a task over the same trials.

    The ``weights`` of the result are the shares of the parts that are used. A part may
    have no scorable trial (all unsupported, faulty, unavailable or inapplicable). With
    ``skip`` such a part is left out. Without ``skip`` the mean then has no value. If
    all trials of a part are lost (failed, unscored), the mean has bounds but no value.
    If all answers or verdicts of a part are refused, the part is used for the bounds,
    but not for the value. If no answer contains anything for a part to score, the part
    is left out, even if trials failed.

    A trial counts as scored if it is scored in at least one part and lost in none. With
    ``unavailable`` the mean has no value, and ``parts`` may be any numbers that cover
    the trials.
    """
    counted: list[AggregatedNumber] = []
    bounded: list[AggregatedNumber] = []
    is_whole = True
    for part in parts:
        result = part.result
        # No answer contains anything to score, so failed answers would not either.
        is_empty = result.inapplicable > 0 and not result.scored + result.unscored
        is_scorable = not is_empty and scorable(result) > 0
        if is_scorable and not result.is_refused_whole:
            counted.append(part)
        if not is_empty and scorable(result) + result.faulty:
            bounded.append(part)
        if is_empty or not (is_scorable or result.is_refused_whole):
            is_whole = skip

    suspended = any(part.result.suspended for part in parts)
    value = bounds = None
    if is_whole and not unavailable and not suspended:
        value = _mean([part.result.value for part in counted])
    if not unavailable and (skip or len(bounded) == len(parts)):
        bounds = _mean_bounds(bounded)

    uncertainty = Uncertainty()
    bounds_ci95 = None
    evidence = None
    if value is not None:
        number = _MeanOfNumbers(skip, bootstrap_iters)
        uncertainty = number.uncertainty(counted, value)
        evidence = _evidence(counted, bounded)
        if bounds is not None:
            bounds_ci95 = uncertainty.ci95
            if any(_has_lost(part.result) for part in bounded):
                bounds_ci95 = number.bounds_ci95(bounded, bounds, evidence)

    columns = [part.scores for part in parts]
    order = _SKIPPING if skip else _UNKNOWN
    statuses = first_statuses(columns, order)
    weights = {part.result.metric: 1 / len(counted) for part in counted}
    if unavailable:
        weights = {}
        lost = {status: statuses[status] for status in _LOST}
        others = statuses.total() - sum(lost.values())
        statuses = Counter({**lost, "unavailable": others})
    counts: dict[str, Any] = {**dict.fromkeys(STATUSES, 0), **statuses}
    return Result(
        task=task,
        metric=name,
        value=value,
        n=statuses.total(),
        **counts,
        stderr=uncertainty.stderr,
        ci95=uncertainty.ci95,
        bounds=bounds,
        higher_is_better=higher_is_better,
        suspended=suspended,
        clusters=_count(part.scores.clusters for part in counted),
        bootstrap_iters=uncertainty.bootstrap_iters,
        weights=weights,
        faulty=parts[0].scores.faulty,
        no_option=_count(scores.no_option for scores in columns),
        bounds_ci95=bounds_ci95,
        no_interval=uncertainty.no_interval,
        effective_clusters=uncertainty.effective_clusters,
        evidence=evidence,
        refused=_count(scores.refused for scores in columns),
        refused_unscored=_count(scores.refused_unscored for scores in columns),
        refused_verdicts=_count(scores.refused_verdicts for scores in columns),
    )


def _count(columns: Iterable[Iterable[Hashable]]) -> int:
    """Returns the number of distinct items over all columns."""
    items: set[Hashable] = set()
    for column in columns:
        items.update(column)
    return len(items)


def _mean_bounds(parts: Sequence[AggregatedNumber]) -> Interval | None:
    lows: list[float] = []
    highs: list[float] = []
    for part in parts:
        if part.result.bounds is None:
            return None
        lows.append(part.result.bounds[0])
        highs.append(part.result.bounds[1])
    low, high = _mean(lows), _mean(highs)
    return None if low is None or high is None else (low, high)


def _has_lost(result: Result) -> bool:
    return bool(result.failed + result.unscored)


class _MeanOfNumbers(NamedTuple):
    """The uncertainty of a mean of numbers.

    With ``skip``, a number without a value in a draw is left out of that draw's mean.
    """

    skip: bool
    iterations: int

    def uncertainty(
        self, parts: Sequence[AggregatedNumber], value: float
    ) -> Uncertainty:
        if len(parts) == 1:
            result = parts[0].result
            return Uncertainty(
                result.stderr,
                result.ci95,
                result.bootstrap_iters,
                result.no_interval,
                result.effective_clusters,
            )
        return self._of([(part, part.scores) for part in parts], value)

    def bounds_ci95(
        self,
        parts: Sequence[AggregatedNumber],
        bounds: Interval,
        evidence: Evidence | None,
    ) -> Interval | None:
        """Returns the 95 % interval of the mean for any values of the lost trials."""
        if len(parts) == 1:
            return parts[0].result.bounds_ci95
        if evidence and evidence.low is not None and evidence.high is not None:
            return bounds_interval(bounds, evidence.low, evidence.high)
        lows: list[tuple[AggregatedNumber, Scores]] = []
        highs: list[tuple[AggregatedNumber, Scores]] = []
        for part in parts:
            ends = extremes(part.scores, _aggregation(part))
            if ends is None:
                return None
            lows.append((part, ends[0].scores))
            highs.append((part, ends[1].scores))
        low = self._of(lows, bounds[0])
        high = self._of(highs, bounds[1])
        if low.ci95 is None or high.ci95 is None:
            return None
        return (low.ci95[0], high.ci95[1])

    def _of(
        self,
        columns: Sequence[tuple[AggregatedNumber, Scores]],
        value: float,
    ) -> Uncertainty:
        terms = _terms_of(columns)
        if terms is not None:
            return uncertainty_of_terms(value, terms)

        means: list[Term] = []
        for _, scores in columns:
            mean = term_of_mean(scores)
            if mean is not None:
                means.append(mean)
        if _count(mean.clusters for mean in means) < 2:
            return Uncertainty(no_interval=ONE_CLUSTER)
        if not self.iterations:
            return Uncertainty(no_interval=NOT_DRAWN)
        # Imported late: it imports numpy, which few numbers need.
        from mmeval.aggregate.resampling import resample_together

        numbers = []
        for part, scores in columns:
            numbers.append((scores, part.aggregator, part.options))
        drawn = resample_together(numbers, self.iterations, skip=self.skip)
        if drawn.stderr is None:
            return Uncertainty(no_interval=UNKNOWN_DRAW)
        return widened(drawn, value, means)


def _evidence(
    counted: Sequence[AggregatedNumber], bounded: Sequence[AggregatedNumber]
) -> Evidence | None:
    terms = _terms_of([(part, part.scores) for part in counted])
    if terms is None:
        return None
    if not any(_has_lost(part.result) for part in bounded):
        return Evidence(terms, terms, terms)

    lows: list[tuple[Term, ...] | None] = []
    highs: list[tuple[Term, ...] | None] = []
    for part in bounded:
        ends = extremes(part.scores, _aggregation(part))
        if ends is None:
            return Evidence(terms, None, None)
        lows.append(ends[0].estimate.terms)
        highs.append(ends[1].estimate.terms)
    return Evidence(terms, _terms(lows), _terms(highs))


def _terms(
    numbers: Sequence[tuple[Term, ...] | None],
) -> tuple[Term, ...] | None:
    """Returns the terms of a mean of numbers.

    The result is None if one of the numbers is not a sum of means.
    """
    count = len(numbers)
    return terms_of(numbers, [1 / count] * count)


def _terms_of(
    columns: Sequence[tuple[AggregatedNumber, Scores]],
) -> tuple[Term, ...] | None:
    terms = []
    for part, scores in columns:
        terms.append(_aggregation(part).estimate(scores).terms)
    return _terms(terms)


def _aggregation(part: AggregatedNumber) -> Aggregation:
    return Aggregation(part.aggregator, part.options, 0)


def _mean(values: Sequence[float | None]) -> float | None:
    """Returns the mean, or None if a value is missing or there are no values."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return math.fsum(known) / len(known)
