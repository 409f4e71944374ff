"""A number that is made of averaged numbers of one task, such as the mean of two means.

No score of a single trial could give it, as other trials stand behind each of its
parts. What its parts have in common are the clusters of trials, so an error drawn part
by part would take them as independent: each draw is one for all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mmeval.aggregate.intervals import ONE_CLUSTER, sureness_of_terms
from mmeval.aggregate.scores import Averaged, Estimate, Scores, first_statuses
from mmeval.aggregate.statistics import Interval, Sureness
from mmeval.aggregate.summary import (
    NOT_DRAWN,
    UNKNOWN_DRAW,
    Aggregation,
    askable,
    bounds_interval,
    completed,
    widened,
)
from mmeval.aggregate.terms import term_of_mean, terms_of
from mmeval.records.evidence import Evidence, Term
from mmeval.records.score import Result

_LOST = ("unsupported", "failed")
"""The statuses that a trial has by each part alike."""
_SKIPPING = (*_LOST, "unscored", "scored", "unavailable", "inapplicable")
_UNKNOWN = (*_LOST, "unavailable", "unscored", "scored", "inapplicable")
"""The statuses of a trial by the parts, of which the first counts as that by the
whole."""


def mean_of(
    task: str,
    name: str,
    parts: Sequence[Averaged],
    *,
    skip: bool,
    higher_is_better: bool = True,
    unavailable: bool = False,
    bootstrap_iters: int = 0,
) -> Result:
    """The mean of a task's numbers over the same trials; ``weights`` are the shares of
    those that count.

    A part of which no trial could have been scored (unsupported, faulty, unavailable,
    inapplicable) is left out with ``skip``, else the whole is unknown. A part whose
    trials were all lost (failed, unscored) leaves it unknown in any case: the bounds
    are what it could be. One whose answers or verdicts are all refused is left out of
    the value, and counts in the bounds. Where all answers hold nothing for a part, it
    is left out whatever failed.

    A trial counts as scored where it is by one part and lost by none. What is
    ``unavailable`` has no value; any numbers over the trials are its ``parts`` then.
    """
    applicable = [part for part in parts if not _is_empty(part.result)]
    refused = [part for part in applicable if part.result.is_refused_whole]
    counted = [
        part
        for part in applicable
        if askable(part.result) and not part.result.is_refused_whole
    ]
    bounded = [part for part in applicable if askable(part.result) + part.result.faulty]
    is_whole = skip or len(counted) + len(refused) == len(parts)
    suspended = any(part.result.suspended for part in parts)
    is_known = is_whole and not unavailable and not suspended
    value = _mean([part.result.value for part in counted]) if is_known else None
    clusters = len(set[str]().union(*(part.scores.clusters for part in counted)))
    low, high = (
        _mean([part.result.bounds and part.result.bounds[end] for part in bounded])
        for end in (0, 1)
    )
    is_bounded = not unavailable and (skip or len(bounded) == len(parts))
    bounds = None if low is None or high is None or not is_bounded else (low, high)
    sure = Sureness()
    bounds_ci95 = None
    evidence = None
    if value is not None:
        number = _Number(skip, bootstrap_iters)
        sure = number.sureness(counted, value)
        evidence = _evidence(counted, bounded)
        if bounds is not None:
            has_lost = any(_has_lost(part.result) for part in bounded)
            bounds_ci95 = (
                number.bounds_ci95(bounded, bounds, evidence) if has_lost else sure.ci95
            )
    statuses = first_statuses(
        [part.scores for part in parts], _SKIPPING if skip else _UNKNOWN
    )
    if unavailable:
        lost = {status: statuses[status] for status in _LOST}
        statuses = Counter(
            {**lost, "unavailable": statuses.total() - sum(lost.values())}
        )
    return Result(
        task=task,
        metric=name,
        value=value,
        n=statuses.total(),
        scored=statuses["scored"],
        failed=statuses["failed"],
        unscored=statuses["unscored"],
        unavailable=statuses["unavailable"],
        unsupported=statuses["unsupported"],
        stderr=sure.stderr,
        ci95=sure.ci95,
        bounds=bounds,
        higher_is_better=higher_is_better,
        suspended=suspended,
        clusters=clusters,
        bootstrap_iters=sure.bootstrap_iters,
        weights={}
        if unavailable
        else {part.result.metric: 1 / len(counted) for part in counted},
        faulty=parts[0].scores.faulty,
        inapplicable=statuses["inapplicable"],
        no_option=len(frozenset[int]().union(*(p.scores.no_option for p in parts))),
        bounds_ci95=bounds_ci95,
        no_interval=sure.no_interval,
        effective_clusters=sure.effective_clusters,
        evidence=evidence,
        refused=len(_any(part.scores.refused for part in parts)),
        refused_unscored=len(_any(part.scores.refused_unscored for part in parts)),
        refused_verdicts=len(_any(part.scores.refused_verdicts for part in parts)),
    )


def _any(places: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*places)


def _is_empty(result: Result) -> bool:
    """Whether the answers that came hold nothing for a number: those that failed would
    not be expected to."""
    return result.inapplicable > 0 and not result.scored + result.unscored


def _has_lost(result: Result) -> bool:
    return bool(result.failed + result.unscored)


class _Number(NamedTuple):
    """How sure the mean of some numbers is. With ``skip``, a draw in which one of them
    has no value is that of the others."""

    skip: bool
    iterations: int

    def sureness(self, parts: Sequence[Averaged], value: float) -> Sureness:
        if len(parts) == 1:
            result = parts[0].result
            return Sureness(
                result.stderr,
                result.ci95,
                result.bootstrap_iters,
                result.no_interval,
                result.effective_clusters,
            )
        return self._of([(part, part.scores) for part in parts], value)

    def bounds_ci95(
        self, parts: Sequence[Averaged], bounds: Interval, evidence: Evidence | None
    ) -> Interval | None:
        """The interval that covers whatever lost trials would have been."""
        if len(parts) == 1:
            return parts[0].result.bounds_ci95
        if evidence and evidence.low is not None and evidence.high is not None:
            return bounds_interval(bounds, evidence.low, evidence.high)
        pairs = [(part, completed(part.scores, _aggregation(part))) for part in parts]
        known = [(part, ends) for part, ends in pairs if ends is not None]
        if len(known) < len(pairs):
            return None
        low, high = (
            self._of([(part, ends[end].scores) for part, ends in known], bounds[end])
            for end in (0, 1)
        )
        if low.ci95 is None or high.ci95 is None:
            return None
        return (low.ci95[0], high.ci95[1])

    def _of(self, columns: Sequence[tuple[Averaged, Scores]], value: float) -> Sureness:
        terms = _terms([_estimate(part, scores).terms for part, scores in columns])
        if terms is not None:
            return sureness_of_terms(value, terms)
        means = [mean for _, scores in columns if (mean := term_of_mean(scores))]
        if len(set[str]().union(*(mean.clusters for mean in means))) < 2:
            return Sureness(no_interval=ONE_CLUSTER)
        if not self.iterations:
            return Sureness(no_interval=NOT_DRAWN)
        # numpy and scipy.stats, which few numbers need
        from mmeval.aggregate.resampling import resample_together

        numbers = [(scores, part.aggregator, part.options) for part, scores in columns]
        found = resample_together(numbers, self.iterations, skip=self.skip)
        if found.stderr is None:
            return Sureness(no_interval=UNKNOWN_DRAW)
        return widened(found, value, means)


def _evidence(
    counted: Sequence[Averaged], bounded: Sequence[Averaged]
) -> Evidence | None:
    terms = _terms([_estimate(part, part.scores).terms for part in counted])
    if terms is None:
        return None
    if not any(_has_lost(part.result) for part in bounded):
        return Evidence(terms, terms, terms)
    both = [completed(part.scores, _aggregation(part)) for part in bounded]
    low, high = (
        _terms([ends[end].estimate.terms if ends else None for ends in both])
        for end in (0, 1)
    )
    return Evidence(terms, low, high)


def _terms(numbers: Sequence[tuple[Term, ...] | None]) -> tuple[Term, ...] | None:
    """Those of the mean of some numbers; None where one is no sum of means."""
    return terms_of(numbers, [1 / len(numbers)] * len(numbers))


def _estimate(part: Averaged, scores: Scores) -> Estimate:
    return _aggregation(part).estimate(scores)


def _aggregation(part: Averaged) -> Aggregation:
    return Aggregation(part.aggregator, part.options, 0)


def _mean(values: Sequence[float | None]) -> float | None:
    """None where one is missing, and without any."""
    known = [value for value in values if value is not None]
    return (
        math.fsum(known) / len(known) if known and len(known) == len(values) else None
    )
