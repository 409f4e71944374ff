"""Summarises scores of trials, or of tasks, as one number with its uncertainty."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from mmeval.aggregate import statistics
from mmeval.aggregate.aggregators import mean
from mmeval.aggregate.intervals import (
    ONE_CLUSTER,
    bounds_tail,
    uncertainty_of_components,
    uncertainty_of_terms,
)
from mmeval.aggregate.leverage import effective_clusters
from mmeval.aggregate.scores import STATUSES, Aggregator, Estimate, Scores
from mmeval.aggregate.statistics import Interval, Uncertainty
from mmeval.aggregate.terms import component_of, term_of_mean, terms_of
from mmeval.records.evidence import Evidence, Term
from mmeval.records.score import Result

NOT_DRAWN = "not bootstrapped"
UNKNOWN_DRAW = "some draws of the bootstrap have no value"
NOT_GIVEN = "the aggregator gives none"


class Aggregation(NamedTuple):
    """An aggregator with its options, and the number of draws for the error."""

    aggregator: Aggregator
    options: Mapping[str, Any]
    bootstrap_iters: int

    def estimate(self, scores: Scores) -> Estimate:
        """Returns the aggregator's estimate, with None for NaN and infinity."""
        estimate: Estimate = self.aggregator(scores, **self.options)
        if estimate.value is None or not math.isfinite(estimate.value):
            return Estimate(None)
        if estimate.ci95 is not None and not all(map(math.isfinite, estimate.ci95)):
            estimate = replace(estimate, ci95=None)
        if estimate.stderr is not None and not math.isfinite(estimate.stderr):
            estimate = replace(estimate, stderr=None)
        return estimate


class ExtremeEstimate(NamedTuple):
    """The estimate of scores with the lowest or highest value for each lost trial.

    ``scores`` includes the values of the lost trials.
    """

    scores: Scores
    estimate: Estimate


def summarise(
    task: str,
    metric: str,
    scores: Scores,
    aggregator: Aggregator = mean,
    options: Mapping[str, Any] | None = None,
    *,
    bootstrap_iters: int = 0,
    suspended: bool = False,
) -> Result:
    """Returns the result for one line of a report.

    The result contains the estimate, the counts, the interval and the bounds.

    An estimate without a standard error is bootstrapped with ``bootstrap_iters`` draws,
    unless this number is 0. If scoring was ``suspended``, the result has only counts
    and bounds.
    """
    aggregation = Aggregation(aggregator, options or {}, bootstrap_iters)
    estimate = aggregation.estimate(scores)
    is_known = estimate.value is not None and not suspended
    uncertainty = (
        _uncertainty_of(scores, estimate, aggregation) if is_known else Uncertainty()
    )
    has_lost = bool(scores.count("failed") + scores.count("unscored"))
    ends = extremes(scores, aggregation) if has_lost else None
    bounds = bounds_ci95 = None
    if ends is not None:
        bounds = _bounds(ends)
        if is_known:
            bounds_ci95 = _bounds_ci95(ends, aggregation)
    elif (
        not has_lost
        and all(map(math.isfinite, scores.range))
        and estimate.value is not None
    ):
        bounds = (estimate.value, estimate.value)
        bounds_ci95 = uncertainty.ci95
    if estimate.terms is not None and len(estimate.terms) == 1:
        clusters = len(estimate.terms[0].clusters)
    else:
        clusters = len(set(scores.clusters))
    counts: dict[str, Any] = {status: scores.count(status) for status in STATUSES}
    return Result(
        task=task,
        metric=metric,
        value=None if suspended else estimate.value,
        n=len(scores),
        **counts,
        stderr=uncertainty.stderr,
        ci95=uncertainty.ci95,
        bounds=bounds,
        higher_is_better=scores.higher_is_better,
        suspended=suspended,
        clusters=clusters,
        bootstrap_iters=uncertainty.bootstrap_iters,
        faulty=scores.faulty,
        no_option=len(scores.no_option),
        bounds_ci95=bounds_ci95,
        no_interval=uncertainty.no_interval,
        effective_clusters=uncertainty.effective_clusters,
        evidence=_evidence(estimate, ends, has_lost=has_lost),
        refused=len(scores.refused),
        refused_unscored=len(scores.refused_unscored),
        refused_verdicts=len(scores.refused_verdicts),
    )


def _uncertainty_of(
    scores: Scores,
    estimate: Estimate,
    aggregation: Aggregation,
) -> Uncertainty:
    """Returns the uncertainty of a value.

    The uncertainty is computed by a formula, by the aggregator, or by resampling.
    """
    value = estimate.value
    assert value is not None
    if estimate.terms is not None:
        return uncertainty_of_terms(value, estimate.terms)
    design = term_of_mean(scores)
    if design is None or not design.is_known:
        return Uncertainty(no_interval=ONE_CLUSTER)
    uncertainty = Uncertainty(estimate.stderr)
    if estimate.stderr is None and estimate.resample:
        uncertainty = _resampled(scores, value, aggregation)
    if estimate.ci95 is not None or estimate.no_interval:
        return uncertainty._replace(
            ci95=estimate.ci95,
            no_interval="" if estimate.ci95 else estimate.no_interval,
            effective_clusters=effective_clusters(design.sizes),
        )
    if uncertainty.stderr is None:
        return uncertainty._replace(no_interval=uncertainty.no_interval or NOT_GIVEN)
    return widened(uncertainty, value, [design])


def _resampled(
    scores: Scores,
    value: float,
    aggregation: Aggregation,
) -> Uncertainty:
    if set(scores.values) == {value}:  # all draws would be the same
        return Uncertainty(0.0)
    if not aggregation.bootstrap_iters:
        return Uncertainty(no_interval=NOT_DRAWN)
    # Imported late: it imports numpy, which few numbers need.
    from mmeval.aggregate.resampling import resample

    drawn = resample(scores, *aggregation)
    return drawn if drawn.ci95 else Uncertainty(no_interval=UNKNOWN_DRAW)


def widened(
    drawn: Uncertainty,
    value: float,
    means: Sequence[Term],
) -> Uncertainty:
    """Widens the interval of the standard error to contain the interval of the draws.

    The quantiles of draws are too close together if there are few clusters, or if the
    value is near an end of the range. ``means`` are means over the same trials.
    """
    assert drawn.stderr is not None
    uncertainty = uncertainty_of_components(
        value, [component_of(drawn.stderr, value, means)]
    )
    interval = uncertainty.ci95
    if interval and drawn.ci95 and uncertainty.stderr:
        low, high = drawn.ci95
        interval = (min(interval[0], low), max(interval[1], high))
    return uncertainty._replace(ci95=interval, bootstrap_iters=drawn.bootstrap_iters)


def extremes(scores: Scores, aggregation: Aggregation) -> list[ExtremeEstimate] | None:
    """Returns the lowest and the highest possible estimate.

    The result is None if lost trials have no lowest or highest value, or if an estimate
    has no value.
    """
    ends = []
    for end in (0, 1):
        filled = scores.filled(end)
        if not all(map(math.isfinite, filled.values)):
            return None
        estimate = aggregation.estimate(filled)
        if estimate.value is None:
            return None
        ends.append(ExtremeEstimate(filled, estimate))
    # Sorted, because some aggregators return a lower number for higher scores.
    return sorted(ends, key=lambda end: end.estimate.value or 0.0)


def _bounds(ends: Sequence[ExtremeEstimate]) -> Interval:
    low, high = (end.estimate.value for end in ends)
    assert low is not None
    assert high is not None
    return (low, high)


def _bounds_ci95(
    ends: Sequence[ExtremeEstimate], aggregation: Aggregation
) -> Interval | None:
    """Returns the 95 % interval of the number for any values of its lost trials."""
    low, high = ends
    if low.estimate.terms is not None and high.estimate.terms is not None:
        return bounds_interval(_bounds(ends), low.estimate.terms, high.estimate.terms)
    below = _uncertainty_of(low.scores, low.estimate, aggregation).ci95
    above = _uncertainty_of(high.scores, high.estimate, aggregation).ci95
    if below is None or above is None:
        return None
    return (below[0], above[1])


def bounds_interval(
    bounds: Interval, low: Sequence[Term], high: Sequence[Term]
) -> Interval | None:
    """Returns the 95 % interval of a number within bounds.

    ``low`` are the number's terms at the lower bound, ``high`` those at the upper
    bound.
    """
    lowest, highest = bounds
    low_error = uncertainty_of_terms(lowest, low).stderr
    high_error = uncertainty_of_terms(highest, high).stderr
    if low_error is None or high_error is None:
        return None
    tail = bounds_tail(highest - lowest, max(low_error, high_error))
    below = uncertainty_of_terms(lowest, low, tail).ci95
    above = uncertainty_of_terms(highest, high, tail).ci95
    if below is None or above is None:
        return None
    return (below[0], above[1])


def _evidence(
    estimate: Estimate, ends: Sequence[ExtremeEstimate] | None, *, has_lost: bool
) -> Evidence | None:
    """Returns the terms that a group needs.

    The result is None if the number is not a sum of means.
    """
    if estimate.value is not None and estimate.terms is None:
        return None
    terms = estimate.terms or ()
    if not has_lost:
        return Evidence(terms, terms, terms)
    if not ends:
        return Evidence(terms, None, None)
    return Evidence(terms, ends[0].estimate.terms, ends[1].estimate.terms)


_COUNTS = (
    "n",
    "scored",
    "failed",
    "unscored",
    "unavailable",
    "unsupported",
    "faulty",
    "inapplicable",
    "no_option",
    "refused",
    "refused_unscored",
    "refused_verdicts",
)
"""The counts of trials in a result. For a group, the counts of its tasks are added up.
"""

_ZERO: Mapping[str, Any] = {
    "value": 0.0,
    "stderr": 0.0,
    "ci95": (0.0, 0.0),
    "bounds": (0.0, 0.0),
    "bounds_ci95": (0.0, 0.0),
    "evidence": Evidence((), (), ()),
}


def combine(
    task: str,
    metric: str,
    members: Sequence[Result],
    *,
    weight_by_size: bool,
    counts_absent: bool = False,
) -> Result:
    """Returns a group's number: the mean of its tasks' numbers.

    The tasks are weighted equally or by their number of trials.

    A task is left out if none of its trials could be run or scored (unsupported,
    faulty, unavailable). It is also left out if no answer contains anything for the
    metric (inapplicable). If all trials of a task are lost (failed, unscored), the
    group has bounds but no value. Weights count the trials that could have been scored,
    so lost and faulty trials do not change them. The weights of the bounds also count
    faulty trials.

    If all answers or verdicts of a task are refused, the task is used for the bounds,
    but not for the value.

    With ``counts_absent`` members are not left out for any other reason. If the model
    does not support a member, the member counts as 0, weighted by its trials. If a
    member is unknown (unavailable, inapplicable, faulty, not run), the group has no
    value.

    The standard error and the interval are computed for the same weighted mean. The
    standard error is None if a member has none, and so is the interval. Clusters with
    the same name in several members are the same clusters. If a member is not a mean,
    all members are treated as independent.
    """
    counted: list[Result] = []
    counted_sizes: list[int] = []
    bounded: list[Result] = []
    bounded_sizes: list[int] = []
    whole: list[Result] = []
    for result in members:
        member, size = result, scorable(result)
        if counts_absent and is_unsupported(result):
            member, size = replace(result, **_ZERO), result.unsupported
        whole.append(member)
        if (counts_absent or size) and not member.is_refused_whole:
            counted.append(member)
            counted_sizes.append(size)
        if counts_absent or size + member.faulty:
            bounded.append(member)
            bounded_sizes.append(size + member.faulty)
    members = whole

    shares = _shares(counted_sizes, weight_by_size=weight_by_size)
    value = _weighted([m.value for m in counted], shares)
    uncertainty = Uncertainty()
    if value is not None:
        uncertainty = _group_uncertainty(value, counted, shares)

    bound_shares = _shares(bounded_sizes, weight_by_size=weight_by_size)
    bounds = _weighted_bounds(bounded, bound_shares)
    bounds_ci95 = None
    if value is not None and bounds is not None:
        bounds_ci95 = uncertainty.ci95
        if any(m.failed + m.unscored for m in bounded):
            bounds_ci95 = _group_bounds_ci95(bounds, bounded, bound_shares)
    evidence = _group_evidence(counted, shares, bounded, bound_shares)
    if evidence is None:
        clusters = sum(m.clusters for m in members)
    else:
        # clusters that several members share count once
        names: set[str] = set()
        for term in evidence.terms:
            names.update(term.clusters)
        clusters = len(names)
    counts: dict[str, Any] = dict.fromkeys(_COUNTS, 0)
    for member in members:
        for name in _COUNTS:
            counts[name] += getattr(member, name)
    return Result(
        task=task,
        metric=metric,
        value=value,
        **counts,
        stderr=uncertainty.stderr,
        ci95=uncertainty.ci95,
        bounds=bounds,
        higher_is_better=all(m.higher_is_better for m in members),
        suspended=any(m.suspended for m in members),
        clusters=clusters,
        weights=dict(zip([m.task for m in counted], shares, strict=True)),
        bounds_ci95=bounds_ci95,
        no_interval=uncertainty.no_interval,
        effective_clusters=uncertainty.effective_clusters,
        evidence=evidence,
    )


def _group_uncertainty(
    value: float,
    members: Sequence[Result],
    shares: Sequence[float],
) -> Uncertainty:
    terms = _group_terms(members, shares, "value")
    if terms is not None:
        for member in members:
            if member.stderr is None:
                return Uncertainty(no_interval=_reason_of(member))
        return uncertainty_of_terms(value, terms)

    stderr = None
    errors = [m.stderr for m in members if m.stderr is not None]
    if len(errors) == len(members):
        stderr = statistics.weighted_mean_stderr(errors, shares)
    for member in members:
        if member.ci95 is None:
            return Uncertainty(stderr, no_interval=_reason_of(member))
    values = [m.value for m in members if m.value is not None]
    intervals = [m.ci95 for m in members if m.ci95 is not None]
    interval = statistics.weighted_mean_interval(values, intervals, shares)
    return Uncertainty(stderr, interval)


def _group_terms(
    members: Sequence[Result],
    shares: Sequence[float],
    which: Literal["value", "low", "high"],
) -> tuple[Term, ...] | None:
    """Returns the terms of the value or of a bound, or None if a member has none."""
    by_member: list[tuple[Term, ...] | None] = []
    for member in members:
        evidence = member.evidence
        if evidence is None:
            return None
        terms = {"value": evidence.terms, "low": evidence.low, "high": evidence.high}
        by_member.append(terms[which])
    return terms_of(by_member, shares)


def _reason_of(member: Result) -> str:
    """Returns why a group has no interval, from a member that has none.

    The reason does not name the member. If several groups have the same reason, it is
    then stated only once.
    """
    return member.no_interval or f"{member.task} has none"


def _group_evidence(
    counted: Sequence[Result],
    shares: Sequence[float],
    bounded: Sequence[Result],
    bound_shares: Sequence[float],
) -> Evidence | None:
    terms = _group_terms(counted, shares, "value")
    if terms is None:
        return None
    low = _group_terms(bounded, bound_shares, "low")
    high = _group_terms(bounded, bound_shares, "high")
    return Evidence(terms, low, high)


def _group_bounds_ci95(
    bounds: Interval, members: Sequence[Result], shares: Sequence[float]
) -> Interval | None:
    low_terms = _group_terms(members, shares, "low")
    high_terms = _group_terms(members, shares, "high")
    if low_terms is not None and high_terms is not None:
        return bounds_interval(bounds, low_terms, high_terms)
    # Each side is computed separately, as in ``weighted_mean_interval``.
    below, above = [], []
    for member, share in zip(members, shares, strict=True):
        if member.bounds is None or member.bounds_ci95 is None:
            return None
        below.append(share * (member.bounds[0] - member.bounds_ci95[0]))
        above.append(share * (member.bounds_ci95[1] - member.bounds[1]))
    low, high = bounds
    return (low - math.hypot(*below), high + math.hypot(*above))


def scorable(result: Result) -> int:
    """Returns the number of trials that could have been scored."""
    impossible = result.unsupported + result.unavailable + result.inapplicable
    return result.n - impossible - result.faulty


def is_unsupported(result: Result) -> bool:
    """Returns True if the model supports none of the trials.

    Faulty trials are ignored. The result is False for a group that has weights but no
    value, because the value of such a group is unknown.
    """
    is_unknown = result.value is None and bool(result.weights)
    return (
        result.unsupported > 0
        and result.unsupported + result.faulty == result.n
        and not is_unknown
    )


def _shares(trials: Sequence[int], *, weight_by_size: bool) -> list[float]:
    sizes = [float(count) if weight_by_size else 1.0 for count in trials]
    total = math.fsum(sizes) or 1.0  # 0 if no member has a scorable trial
    return [size / total for size in sizes]


def _weighted(values: Sequence[float | None], shares: Sequence[float]) -> float | None:
    """Returns the weighted mean, or None if there are no values or one is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return math.fsum(map(operator.mul, shares, known))


def _weighted_bounds(
    members: Sequence[Result],
    shares: Sequence[float],
) -> Interval | None:
    lows: list[float] = []
    highs: list[float] = []
    for member in members:
        if member.bounds is None:
            return None
        low, high = member.bounds
        lows.append(low)
        highs.append(high)
    low_mean, high_mean = _weighted(lows, shares), _weighted(highs, shares)
    if low_mean is None or high_mean is None:
        return None
    return (low_mean, high_mean)
