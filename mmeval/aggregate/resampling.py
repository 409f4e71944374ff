"""Estimates the error of any aggregator by drawing clusters of trials again.

The mean and the median are computed for many draws at once. Any other aggregator is called once for each draw, with the
rows of that draw, which is slow: so it gets fewer draws where there are many rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mmeval.aggregate.aggregators import mean, median
from mmeval.aggregate.scores import Aggregator, Scores, cluster_sums
from mmeval.aggregate.statistics import FEWEST_DRAWS, Draws, Interval, Statistic, Values, bootstrap

ROWS = 500_000
"""Rows that an aggregator is given for one number, all draws together: about half a second."""


class Resampled(NamedTuple):
    stderr: float
    ci95: Interval
    iterations: int


class _Drawable(NamedTuple):
    """The value of an aggregator as a function of draws, and the number of clusters."""

    statistic: Statistic
    clusters: int


def resample(scores: Scores, aggregator: Aggregator, options: Mapping[str, Any], iterations: int) -> Resampled | None:
    """Standard error and 95 % interval of a value by ``iterations`` draws of clusters.

    An aggregator that is called for each draw gets fewer where that would be more than ``ROWS`` rows, but at least
    ``FEWEST_DRAWS``. None where the value of a draw is unknown.
    """
    if aggregator is mean:
        drawable = _means(scores)
    elif aggregator is median:
        drawable = _medians(scores)
    else:
        drawable = _one_by_one(scores, aggregator, options)
        iterations = min(iterations, max(FEWEST_DRAWS, ROWS // len(scores)))
    found = bootstrap(drawable.statistic, drawable.clusters, iterations)
    return None if found is None else Resampled(found.stderr, found.ci95, iterations)


def _means(scores: Scores) -> _Drawable:
    totals, counts = map(np.asarray, cluster_sums(scores))

    def statistic(drawn: Draws) -> Values:
        means: Values = totals[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
        return means

    return _Drawable(statistic, len(totals))


def _medians(scores: Scores) -> _Drawable:
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

    return _Drawable(statistic, clusters)


def _one_by_one(scores: Scores, aggregator: Aggregator, options: Mapping[str, Any]) -> _Drawable:
    """Draw all rows, also without a value: an aggregator may count them in its way."""
    rows: dict[str, list[int]] = {}
    for i, row in enumerate(scores):
        rows.setdefault(row.cluster, []).append(i)
    places: Sequence[Sequence[int]] = list(rows.values())

    def of_one(draw: Sequence[int]) -> float:
        value = aggregator(scores.drawn(places[number] for number in draw), **options).value
        return np.nan if value is None else value

    return _Drawable(lambda drawn: np.asarray([of_one(draw) for draw in drawn.tolist()]), len(places))
