"""Estimates the error of any aggregator by drawing clusters of trials again.

Means and the median are computed for many draws at once. Any other aggregator is called once for each draw, with the
rows of that draw, which is slow: so it gets fewer draws where there are many rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from mmeval.aggregate.aggregators import mean, median, weighted_mean
from mmeval.aggregate.scores import Aggregator, Averaged, Scores
from mmeval.aggregate.statistics import FEWEST_DRAWS, Sureness

Draws: TypeAlias = NDArray[np.intp]
"""Clusters by number, one row a draw."""
Values: TypeAlias = NDArray[np.float64]
Statistic: TypeAlias = Callable[[Draws], Values]
"""A number for each draw."""

ROWS = 500_000
"""Rows that an aggregator is given for one number, all draws together: about half a second."""
BOOTSTRAP_SEED = 0
"""The same scores always give the same interval, whichever run or later scoring computes it."""
_WEIGHTED: Mapping[Aggregator, bool] = {mean: False, weighted_mean: True}
"""The means, and whether scores count in them by their weights."""
DRAWN_AT_ONCE = 1 << 20
"""Clusters that are drawn in one batch: a few arrays of 8 MiB, however many there are to draw."""


def resample(scores: Scores, aggregator: Aggregator, options: Mapping[str, Any], iterations: int) -> Sureness:
    """Standard error and 95 % interval of a value by ``iterations`` draws of clusters.

    An aggregator that is called for each draw gets fewer where that would be more than ``ROWS`` rows, but at least
    ``FEWEST_DRAWS``. Nothing is known where the value of a draw is unknown.
    """
    if aggregator in _WEIGHTED:
        clusters = dict.fromkeys(scores.clusters)
        return bootstrap(_means(scores, clusters, weighted=_WEIGHTED[aggregator]), len(clusters), iterations)
    if aggregator is median:
        return _medians(scores, iterations)
    places = [*scores.by_cluster().values()]
    return bootstrap(_one_by_one(scores, aggregator, options, places), len(places), _fewer(iterations, len(scores)))


def resample_together(numbers: Sequence[Averaged], iterations: int, *, skip: bool) -> Sureness:
    """Those of the mean of some numbers over the same trials: each draw is one for all.

    With ``skip``, a draw in which one of them has no value is that of the others. Means are drawn of the clusters that
    have a value by one of them, others of all clusters.
    """
    first = numbers[0].scores
    if all(number.aggregator in _WEIGHTED for number in numbers):
        clusters = dict.fromkeys(cluster for number in numbers for cluster in number.scores.clusters)
        statistics = [_means(one.scores, clusters, weighted=_WEIGHTED[one.aggregator]) for one in numbers]
    else:
        clusters = dict.fromkeys(places := first.by_cluster())
        iterations = _fewer(iterations, len(numbers) * len(first))
        statistics = [
            _means(scores, clusters, weighted=_WEIGHTED[aggregator])
            if aggregator in _WEIGHTED
            else _one_by_one(scores, aggregator, options, [*places.values()])
            for _, scores, aggregator, options in numbers
        ]

    def statistic(drawn: Draws) -> Values:
        values = np.stack([of_one(drawn) for of_one in statistics])
        known = ~np.isnan(values) if skip else np.ones_like(values, dtype=bool)
        with np.errstate(invalid="ignore"):  # of a draw without any value
            means: Values = np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)
        return means

    return bootstrap(statistic, len(clusters), iterations)


def _fewer(iterations: int, rows: int) -> int:
    return min(iterations, max(FEWEST_DRAWS, ROWS // rows))


def _means(scores: Scores, clusters: Iterable[str], *, weighted: bool) -> Statistic:
    """The mean of each draw of ``clusters``; NaN where no drawn one has a value."""
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


def _medians(scores: Scores, iterations: int) -> Sureness:
    """The median by weights of trials: how often a draw has drawn their cluster.
    It is where half of the weight lies below."""
    place = {cluster: number for number, cluster in enumerate(dict.fromkeys(scores.clusters))}
    clusters = len(place)
    order = np.argsort(scores.values, kind="stable")
    values = np.asarray(scores.values)[order]
    cluster_of = np.asarray([place[cluster] for cluster in scores.clusters])[order]

    def statistic(drawn: Draws) -> Values:
        draws = len(drawn)
        cells = (drawn + clusters * np.arange(draws)[:, None]).ravel()
        weights = np.bincount(cells, minlength=draws * clusters).reshape(draws, clusters)
        up_to = weights[:, cluster_of].cumsum(axis=1)
        whole = up_to[:, -1:]
        lower, upper = (values[(up_to < rank).sum(axis=1)] for rank in ((whole + 1) // 2, whole // 2 + 1))
        medians: Values = (lower + upper) / 2
        return medians

    return bootstrap(statistic, clusters, iterations)


def _one_by_one(
    scores: Scores, aggregator: Aggregator, options: Mapping[str, Any], places: Sequence[Sequence[int]]
) -> Statistic:
    """Draw all rows, also without a value: an aggregator may count them in its way.
    ``places`` are those of each cluster."""

    def of_one(draw: Sequence[int]) -> float:
        value = aggregator(scores.drawn(places[number] for number in draw), **options).value
        return np.nan if value is None else value

    return lambda drawn: np.asarray([of_one(draw) for draw in drawn.tolist()])


def bootstrap(statistic: Statistic, clusters: int, iterations: int) -> Sureness:
    """Standard error and percentile interval by resampling; neither if a draw gives NaN.

    With fewer than about 20 clusters the interval is too narrow, as bootstrap intervals are.
    """

    def of_draws(drawn: Draws, axis: int) -> Values:  # noqa: ARG001  scipy's contract
        return statistic(drawn)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # of draws without a value
        found: Any = stats.bootstrap(  # scipy brings no types
            (np.arange(clusters),),
            of_draws,
            n_resamples=iterations,
            batch=max(1, DRAWN_AT_ONCE // clusters),
            method="percentile",
            rng=np.random.default_rng(BOOTSTRAP_SEED),
        )
    low, high = map(float, found.confidence_interval)
    stderr = float(found.standard_error)
    return Sureness(stderr, (low, high), iterations) if math.isfinite(low + high + stderr) else Sureness()
