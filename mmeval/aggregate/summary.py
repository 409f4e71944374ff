"""Summarises scores of trials, or of tasks, as one number with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mmeval.aggregate import statistics
from mmeval.aggregate.aggregators import mean, weighted_mean
from mmeval.aggregate.scores import Aggregator, Estimate, Scores
from mmeval.aggregate.statistics import Sureness
from mmeval.records.score import Result


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
    """One line of a report: the estimate with counts, 95 % interval and bounds.

    An estimate without a standard error is bootstrapped ``bootstrap_iters`` times; 0
    leaves it without. Where scoring was ``suspended`` there are only counts and bounds.
    """
    options = options or {}
    estimate = _sound(aggregator, options)(scores)
    # The bounds need the value alone, for which a mean need not compute its standard
    # error.
    quick = (
        {**options, "interval": "bootstrap"}
        if aggregator in (mean, weighted_mean)
        else options
    )
    clusters = len(set(scores.clusters))
    sure = Sureness()
    if estimate.value is not None and clusters > 1 and not suspended:
        resampled = partial(_resampled, scores, aggregator, options, bootstrap_iters)
        sure = _sureness(scores, estimate.value, estimate, clusters, resampled)
    return Result(
        task=task,
        metric=metric,
        value=None if suspended else estimate.value,
        n=len(scores),
        scored=scores.count("scored"),
        failed=scores.count("failed"),
        unscored=scores.count("unscored"),
        unavailable=scores.count("unavailable"),
        unsupported=scores.count("unsupported"),
        stderr=sure.stderr,
        ci95=sure.ci95,
        bounds=_bounds(scores, estimate.value, _sound(aggregator, quick)),
        higher_is_better=scores.higher_is_better,
        suspended=suspended,
        clusters=clusters,
        bootstrap_iters=sure.bootstrap_iters,
        faulty=scores.faulty,
        inapplicable=scores.count("inapplicable"),
        no_option=len(scores.no_option),
        refused=len(scores.refused),
        refused_unscored=len(scores.refused_unscored),
        refused_verdicts=len(scores.refused_verdicts),
    )


def _sound(
    aggregator: Aggregator, options: Mapping[str, Any]
) -> Callable[[Scores], Estimate]:
    """The aggregator with its options, with None for NaN and infinity."""

    def estimate(scores: Scores) -> Estimate:
        found: Estimate = aggregator(scores, **options)
        if found.value is None or not math.isfinite(found.value):
            return Estimate(None)
        if found.ci95 is not None and not all(map(math.isfinite, found.ci95)):
            found = replace(found, ci95=None)
        if found.stderr is not None and not math.isfinite(found.stderr):
            found = replace(found, stderr=None)
        return found

    return estimate


def _sureness(
    scores: Scores,
    value: float,
    estimate: Estimate,
    clusters: int,
    resampled: Callable[[], Sureness],
) -> Sureness:
    """The uncertainty of a value: its aggregator's, else a formula's, else
    resampled."""
    if estimate.ci95 is not None:
        return Sureness(estimate.stderr, estimate.ci95)
    found = Sureness(estimate.stderr)
    if found.stderr is None and estimate.resample:
        # Draws of one and the same value have nothing to tell.
        found = Sureness(0.0) if set(scores.values) == {value} else resampled()
    if found.stderr is None:
        return found
    if alike(found.stderr, value, scores.range):
        return found._replace(
            stderr=0.0,
            ci95=statistics.same_value_interval(value, clusters, scores.range),
        )
    if found.ci95 is None:
        found = found._replace(
            ci95=statistics.interval(value, found.stderr, clusters, scores.range)
        )
    return found


def alike(stderr: float, value: float, range: tuple[float, float]) -> bool:
    """Whether all clusters have the same value, up to rounding, in a finite range.
    Neither formula nor resampling can give an interval then, and the values not seen so
    far bound it."""
    low, high = range
    within = math.isfinite(low) and math.isfinite(high) and low <= value <= high
    return within and math.isclose(stderr, 0.0, abs_tol=1e-12 * max(1.0, abs(value)))


def _resampled(
    scores: Scores, aggregator: Aggregator, options: Mapping[str, Any], iterations: int
) -> Sureness:
    if not iterations:
        return Sureness()
    # numpy and scipy.stats, which few numbers need
    from mmeval.aggregate.resampling import resample

    return resample(scores, aggregator, options, iterations)


def _bounds(
    scores: Scores, value: float | None, aggregator: Aggregator
) -> tuple[float, float] | None:
    """The value if each failed or unscored trial had its lowest, or highest, value."""
    if not scores.count("failed") + scores.count("unscored"):
        finite = all(map(math.isfinite, scores.range))
        return (value, value) if finite and value is not None else None
    ends = [scores.filled(0), scores.filled(1)]
    if not all(all(map(math.isfinite, end.values)) for end in ends):
        return None
    found = [aggregator(end).value for end in ends]
    if found[0] is None or found[1] is None:
        return None
    return (min(found[0], found[1]), max(found[0], found[1]))


_ZERO: Mapping[str, Any] = {
    "value": 0.0,
    "stderr": 0.0,
    "ci95": (0.0, 0.0),
    "bounds": (0.0, 0.0),
}


def combine(
    task: str,
    metric: str,
    members: Sequence[Result],
    *,
    weight_by_size: bool,
    counts_absent: bool = False,
) -> Result:
    """A group's number: the mean of its tasks, weighted equally or by their trials.

    A task in which nothing could be asked or computed (unsupported, faulty,
    unavailable) is left out, and so is one of which no answer holds anything for the
    metric (inapplicable). One whose trials were all lost (failed, unscored) leaves the
    group without a value: its bounds are what the value could be. Weights count the
    trials that could have been scored, so that neither lost nor faulty ones change
    them. Bounds also weigh the faulty ones, as if these could have been scored.

    A task without a value because all of its answers or verdicts are refused is left
    out of the value, and counts in the bounds.

    Where it ``counts_absent``, no other member is left out: one that the model cannot
    do counts 0, with the trials that it would have, and one of which nothing is known
    (unavailable, inapplicable, faulty, not asked) leaves the group without a value.

    Standard error and interval take the members as independent: they are, unless tasks
    share samples. Both are those of the same weighted mean; None when a member has
    none.
    """
    if counts_absent:
        members = [replace(m, **_ZERO) if cannot_be_done(m) else m for m in members]
    sizes = [
        m.unsupported if counts_absent and cannot_be_done(m) else askable(m)
        for m in members
    ]
    by_value = [
        (m, size)
        for m, size in zip(members, sizes, strict=True)
        if (counts_absent or size) and not m.is_refused_whole
    ]
    counted = [m for m, _ in by_value]
    shares = _shares([size for _, size in by_value], weight_by_size=weight_by_size)
    value = _weighted([m.value for m in counted], shares)
    sure = Sureness() if value is None else _group_sureness(counted, shares)
    with_faulty = [size + m.faulty for m, size in zip(members, sizes, strict=True)]
    bounded = [
        m for m, size in zip(members, with_faulty, strict=True) if counts_absent or size
    ]
    bound_shares = _shares(
        [size for size in with_faulty if counts_absent or size],
        weight_by_size=weight_by_size,
    )
    low = _weighted([m.bounds and m.bounds[0] for m in bounded], bound_shares)
    high = _weighted([m.bounds and m.bounds[1] for m in bounded], bound_shares)
    return Result(
        task=task,
        metric=metric,
        value=value,
        n=sum(m.n for m in members),
        scored=sum(m.scored for m in members),
        failed=sum(m.failed for m in members),
        unscored=sum(m.unscored for m in members),
        unavailable=sum(m.unavailable for m in members),
        unsupported=sum(m.unsupported for m in members),
        stderr=sure.stderr,
        ci95=sure.ci95,
        bounds=None if low is None or high is None else (low, high),
        higher_is_better=all(m.higher_is_better for m in members),
        suspended=any(m.suspended for m in members),
        clusters=sum(m.clusters for m in members),
        weights={m.task: share for m, share in zip(counted, shares, strict=True)},
        faulty=sum(m.faulty for m in members),
        inapplicable=sum(m.inapplicable for m in members),
        no_option=sum(m.no_option for m in members),
        refused=sum(m.refused for m in members),
        refused_unscored=sum(m.refused_unscored for m in members),
        refused_verdicts=sum(m.refused_verdicts for m in members),
    )


def _group_sureness(members: Sequence[Result], shares: Sequence[float]) -> Sureness:
    errors = [m.stderr for m in members if m.stderr is not None]
    values = [m.value for m in members if m.value is not None]
    intervals = [m.ci95 for m in members if m.ci95 is not None]
    return Sureness(
        statistics.weighted_mean_stderr(errors, shares)
        if len(errors) == len(members)
        else None,
        statistics.weighted_mean_interval(values, intervals, shares)
        if len(intervals) == len(members)
        else None,
    )


def askable(result: Result) -> int:
    """The trials that could have been scored."""
    return (
        result.n
        - result.unsupported
        - result.unavailable
        - result.inapplicable
        - result.faulty
    )


def cannot_be_done(result: Result) -> bool:
    """Whether the model cannot take or give what any of the trials asks, but for those
    that no model could be asked. Of a group without a value that has weights, another
    member is unknown."""
    is_unknown = result.value is None and bool(result.weights)
    return (
        result.unsupported > 0
        and result.unsupported + result.faulty == result.n
        and not is_unknown
    )


def _shares(trials: Sequence[int], *, weight_by_size: bool) -> list[float]:
    sizes = [float(count) if weight_by_size else 1.0 for count in trials]
    total = math.fsum(sizes) or 1.0  # 0 where nothing is known of any
    return [size / total for size in sizes]


def _weighted(values: Sequence[float | None], shares: Sequence[float]) -> float | None:
    """The weighted mean; None when there is no value at all, or one is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return math.fsum(share * value for share, value in zip(shares, known, strict=True))
