"""Estimates the error of any aggregator by resampling clusters of trials.

The mean and the median are computed for many draws at once. Any other aggregator is
called once for each draw. This is slow, so fewer draws are used if there are many rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.aggregators import mean, median, weighted_mean
from mmeval.aggregate.scores import Aggregator, Scores
from mmeval.aggregate.statistics import FEWEST_DRAWS, Uncertainty

Draws: TypeAlias = NDArray[np.intp]
"""The indexes of the drawn clusters, one row per draw."""
Values: TypeAlias = NDArray[np.float64]
Statistic: TypeAlias = Callable[[Draws], Values]
"""A function that computes a number for each draw."""

ROWS = 500_000
"""The maximum number of rows that an aggregator reads for one number, over all draws
together. This takes about half a second."""
BOOTSTRAP_SEED = 0
"""The seed is fixed, so that the same scores get the same interval in a run and when
they are scored later."""
DRAWN_AT_ONCE = 1 << 20
"""The number of clusters that are drawn in one batch. A batch needs a few arrays of 8
MiB each."""
_TAIL = (1 - 0.95) / 2
"""The share of draws below a 95 % interval, which is also the share above it."""


def resample(
    scores: Scores, aggregator: Aggregator, options: Mapping[str, Any], iterations: int
) -> Uncertainty:
    """Estimates the standard error and the 95 % interval of a value by resampling.

    ``iterations`` is the number of draws of clusters.

    Fewer draws are used if the aggregator is called for each draw and the draws have
    more than ``ROWS`` rows in total. At least ``FEWEST_DRAWS`` draws are used. The
    result is empty if a draw has no value.
    """
    return resample_together([(scores, aggregator, options)], iterations, skip=False)


def resample_together(
    numbers: Sequence[tuple[Scores, Aggregator, Mapping[str, Any]]],
    iterations: int,
    *,
    skip: bool,
) -> Uncertainty:
    """Resamples a mean of numbers over the same trials, as ``resample`` does.

    All numbers share each draw.

    With ``skip``, a number without a value in a draw is left out of that draw's mean.
    For means and medians, clusters are drawn from those that have a value in any of the
    numbers. For other aggregators, they are drawn from all clusters.
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

    def mean_of_numbers(draws: Draws) -> Values:
        values = np.stack([statistic(draws) for statistic in statistics])
        known = ~np.isnan(values) if skip else np.ones_like(values, dtype=bool)
        with np.errstate(invalid="ignore"):  # a draw may have no value
            totals = np.where(known, values, 0.0).sum(axis=0)
            means: Values = totals / known.sum(axis=0)
        return means

    return bootstrap(mean_of_numbers, len(clusters), iterations)


def fewer(iterations: int, rows: int) -> int:
    """Returns the number of draws for an aggregator with ``rows`` rows per draw."""
    return min(iterations, max(FEWEST_DRAWS, ROWS // rows))


def drawn_statistic(
    scores: Scores,
    aggregator: Aggregator,
    options: Mapping[str, Any],
    clusters: Sequence[str],
) -> Statistic:
    """Returns a function that computes the aggregator's number for each draw.

    Each draw is a resample of ``clusters``. The number is NaN for a draw without a
    value.
    """
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

    def statistic(draws: Draws) -> Values:
        with np.errstate(invalid="ignore"):
            means: Values = totals[draws].sum(axis=1) / counts[draws].sum(axis=1)
        return means

    return statistic


def _medians(scores: Scores, clusters: Sequence[str]) -> Statistic:
    """Returns the weighted median of each draw.

    Half of the total weight is below the weighted median. The weight of a trial is the
    number of times that its cluster is drawn.
    """
    place = {cluster: number for number, cluster in enumerate(clusters)}
    order = np.argsort(scores.values, kind="stable")
    # the last value belongs to draws without any weight
    values = np.append(np.asarray(scores.values)[order], np.nan)
    cluster_of = np.asarray([place[cluster] for cluster in scores.clusters])[order]

    def statistic(draws: Draws) -> Values:
        shape = (len(draws), len(place))
        first_cells = len(place) * np.arange(len(draws))[:, None]
        cells = (draws + first_cells).ravel()
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
    """Calls the aggregator once for each draw.

    The aggregator receives all rows. It may use the number of rows without a value.
    """
    by_cluster = scores.by_cluster()
    places = [by_cluster[cluster] for cluster in clusters]

    def statistic(draws: Draws) -> Values:
        numbers = []
        for draw in draws.tolist():
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
    """Computes the standard error and the percentile interval by resampling.

    Both are None if a draw is NaN.

    Like all bootstrap intervals, the interval is too narrow with fewer than about 20
    clusters.
    """
    values = distribution(statistic, clusters, iterations)
    stderr = float(np.std(values, ddof=1))
    ordered = np.sort(values)
    low = _quantile(ordered, _TAIL)
    high = _quantile(ordered, 1 - _TAIL)
    if not math.isfinite(low + high + stderr):
        return Uncertainty()
    return Uncertainty(stderr, (low, high), iterations)


def distribution(
    statistic: Statistic,
    clusters: int,
    iterations: int,
) -> Values:
    """Returns the value of each draw.

    ``bootstrap`` computes its interval from these values. They are the same as those of
    ``scipy.stats.bootstrap``, whose import takes a second.
    """
    random = np.random.default_rng(BOOTSTRAP_SEED)
    at_once = max(1, DRAWN_AT_ONCE // clusters)
    batches: list[Values] = []
    for first in range(0, iterations, at_once):
        count = min(at_once, iterations - first)
        draws = random.integers(0, clusters, (count, clusters))
        batches.append(statistic(draws))
    return np.concatenate(batches)


def _quantile(ordered: Values, share: float) -> float:
    """Interpolates between sorted values: definition 7 of Hyndman and Fan, as in
    ``scipy.stats.quantile``. ``numpy.quantile`` rounds differently."""
    place = share * len(ordered) + (1 - share)
    below = int(place) - 1
    above = min(below + 1, len(ordered) - 1)
    part = place % 1
    return float((1 - part) * ordered[below] + part * ordered[above])
