"""Estimates the error of any aggregator by drawing clusters of trials again.

The mean and the median are computed for many draws at once. Any other aggregator is
called once for each draw, with the rows of that draw, which is slow: so it gets fewer
draws where there are many rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.aggregators import mean, median, weighted_mean
from mmeval.aggregate.scores import Aggregator, Scores
from mmeval.aggregate.statistics import FEWEST_DRAWS, Uncertainty

Draws: TypeAlias = NDArray[np.intp]
"""Clusters by number, one row a draw."""
Values: TypeAlias = NDArray[np.float64]
Statistic: TypeAlias = Callable[[Draws], Values]
"""A number for each draw."""

ROWS = 500_000
"""Rows that an aggregator is given for one number, all draws together: about half a
second."""
BOOTSTRAP_SEED = 0
"""The same scores always give the same interval, whichever run or later scoring
computes it."""
DRAWN_AT_ONCE = 1 << 20
"""Clusters that are drawn in one batch: a few arrays of 8 MiB, however many there are
to draw."""


def resample(
    scores: Scores, aggregator: Aggregator, options: Mapping[str, Any], iterations: int
) -> Uncertainty:
    """Standard error and 95 % interval of a value by ``iterations`` draws of clusters.

    An aggregator that is called for each draw gets fewer where that would be more than
    ``ROWS`` rows, but at least ``FEWEST_DRAWS``. Nothing is known where the value of a
    draw is unknown.
    """
    return resample_together([(scores, aggregator, options)], iterations, skip=False)


def resample_together(
    numbers: Sequence[tuple[Scores, Aggregator, Mapping[str, Any]]],
    iterations: int,
    *,
    skip: bool,
) -> Uncertainty:
    """Those of the mean of some numbers over the same trials: each draw is one for all.

    With ``skip``, a draw in which one of them has no value is that of the others. Means
    and medians are drawn of the clusters that have a value by one of them, others of
    all clusters.
    """
    first = numbers[0][0]
    if all(aggregator in (mean, weighted_mean, median) for _, aggregator, _ in numbers):
        valued: dict[str, None] = {}
        for scores, _, _ in numbers:
            valued |= dict.fromkeys(scores.clusters)
        clusters = list(valued)
    else:
        clusters = list(first.by_cluster())
        iterations = fewer(iterations, len(numbers) * len(first))
    statistics = [drawn_statistic(*number, clusters) for number in numbers]

    def mean_of_them(drawn: Draws) -> Values:
        values = np.stack([of_one(drawn) for of_one in statistics])
        known = ~np.isnan(values) if skip else np.ones_like(values, dtype=bool)
        with np.errstate(invalid="ignore"):  # of a draw without any value
            totals = np.where(known, values, 0.0).sum(axis=0)
            means: Values = totals / known.sum(axis=0)
        return means

    return bootstrap(mean_of_them, len(clusters), iterations)


def fewer(iterations: int, rows: int) -> int:
    """The draws for an aggregator that is called with so many ``rows`` for each."""
    return min(iterations, max(FEWEST_DRAWS, ROWS // rows))


def drawn_statistic(
    scores: Scores,
    aggregator: Aggregator,
    options: Mapping[str, Any],
    clusters: Sequence[str],
) -> Statistic:
    """One number for each draw of ``clusters``; NaN where it has no value in one."""
    if aggregator in (mean, weighted_mean):
        return _means(scores, clusters, weighted=aggregator is weighted_mean)
    if aggregator is median:
        return _medians(scores, clusters)
    return _one_by_one(scores, aggregator, options, clusters)


def _means(
    scores: Scores,
    clusters: Sequence[str],
    *,
    weighted: bool,
) -> Statistic:
    number = {cluster: place for place, cluster in enumerate(clusters)}
    places = [number[cluster] for cluster in scores.clusters]
    weights = np.asarray(scores.weights) if weighted else np.ones(len(places))
    totals = np.bincount(places, weights=weights * scores.values, minlength=len(number))
    counts = np.bincount(places, weights=weights, minlength=len(number))

    def statistic(drawn: Draws) -> Values:
        with np.errstate(invalid="ignore"):
            means: Values = totals[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
        return means

    return statistic


def _medians(scores: Scores, clusters: Sequence[str]) -> Statistic:
    """The median by weights of trials: how often a draw has drawn their cluster.
    It is where half of the weight lies below."""
    place = {cluster: number for number, cluster in enumerate(clusters)}
    order = np.argsort(scores.values, kind="stable")
    # the last is that of a draw without weight
    values = np.append(np.asarray(scores.values)[order], np.nan)
    cluster_of = np.asarray([place[cluster] for cluster in scores.clusters])[order]

    def statistic(drawn: Draws) -> Values:
        shape = (len(drawn), len(place))
        first_cells = len(place) * np.arange(len(drawn))[:, None]
        cells = (drawn + first_cells).ravel()
        weights = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
        up_to = weights[:, cluster_of].cumsum(axis=1)
        whole = up_to[:, -1:]
        lower = values[(up_to < (whole + 1) // 2).sum(axis=1)]
        upper = values[(up_to < whole // 2 + 1).sum(axis=1)]
        medians: Values = (lower + upper) / 2
        return medians

    return statistic


def _one_by_one(
    scores: Scores,
    aggregator: Aggregator,
    options: Mapping[str, Any],
    clusters: Sequence[str],
) -> Statistic:
    """Draw all rows, also without a value: an aggregator may count them in its way."""
    by_cluster = scores.by_cluster()
    places = [by_cluster[cluster] for cluster in clusters]

    def statistic(drawn: Draws) -> Values:
        numbers = []
        for draw in drawn.tolist():
            rows = scores.drawn(places[number] for number in draw)
            value = aggregator(rows, **options).value
            numbers.append(np.nan if value is None else value)
        return np.asarray(numbers)

    return statistic


def bootstrap(
    statistic: Statistic,
    clusters: int,
    iterations: int,
) -> Uncertainty:
    """Standard error and percentile interval by resampling; neither if a draw gives
    NaN.

    With fewer than about 20 clusters the interval is too narrow, as bootstrap intervals
    are.
    """
    found = _resampled(statistic, clusters, iterations)
    low, high = map(float, found.confidence_interval)
    stderr = float(found.standard_error)
    if not math.isfinite(low + high + stderr):
        return Uncertainty()
    return Uncertainty(stderr, (low, high), iterations)


def distribution(
    statistic: Statistic,
    clusters: int,
    iterations: int,
) -> Values:
    """The value of each draw, of which ``bootstrap`` makes an interval."""
    values: Values = _resampled(statistic, clusters, iterations).bootstrap_distribution
    return values


def _resampled(
    statistic: Statistic, clusters: int, iterations: int
) -> Any:  # scipy brings no types
    def of_draws(drawn: Draws, axis: int) -> Values:  # noqa: ARG001  scipy's contract
        return statistic(drawn)

    # Its import takes a second; a comparison of means does without.
    from scipy import stats

    with warnings.catch_warnings():
        # draws without a value are expected
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        return stats.bootstrap(
            (np.arange(clusters),),
            of_draws,
            n_resamples=iterations,
            batch=max(1, DRAWN_AT_ONCE // clusters),
            method="percentile",
            rng=np.random.default_rng(BOOTSTRAP_SEED),
        )
