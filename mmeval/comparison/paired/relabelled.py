"""Tests differences that have no formula, such as differences of medians.

The p is computed by swapping the labels of the two runs. The interval is computed by
drawing clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.aggregators import mean, median, weighted_mean
from mmeval.aggregate.resampling import Values, distribution, drawn_statistic, fewer
from mmeval.aggregate.scores import Aggregator, Scores
from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.records.score import Score

_SEED = 0
_VALUES_AT_ONCE = 1 << 21
_TIES = 1e-12

Swaps = NDArray[np.bool_]
"""True for each cluster that swaps its labels, with one row for each relabelling."""


@dataclass(frozen=True)
class ResampledDifference:
    """A difference that is tested by resampling.

    ``draws`` contains the sorted differences of the resamples. ``swapped`` is the
    two-sided p for a true difference of 0, computed by swapping labels. ``size`` is the
    largest absolute value, which determines the tolerance for rounding. The interval
    excludes 0 only if both tests reject 0.
    """

    draws: Values
    swapped: float
    size: float

    @property
    def stderr(self) -> float:
        """The standard deviation of the draws, or 0 if only rounding differs."""
        spread = float(np.ptp(self.draws))
        if spread <= _TIES * self.size:
            return 0.0
        return float(self.draws.std(ddof=1))

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        if above:
            beyond = len(self.draws) - np.searchsorted(self.draws, limit, side="left")
        else:
            beyond = np.searchsorted(self.draws, limit, side="right")
        p = (1 + int(beyond)) / (len(self.draws) + 1)
        if limit == 0 or (limit < 0) == above:
            p = max(p, self.swapped / 2)
        return min(1.0, p)


def resample_difference(
    a: Scores, b: Scores, aggregator: Aggregator, options: Mapping[str, Any]
) -> ResampledDifference | None:
    """Tests the difference of two runs. ``a`` and ``b`` are their paired rows, in the
    same order. Returns None if the number has no value in a resample."""
    clusters = list(a.by_cluster())
    first = drawn_statistic(a, aggregator, options, clusters)
    second = drawn_statistic(b, aggregator, options, clusters)
    iterations = BOOTSTRAP_ITERS
    if aggregator not in (mean, weighted_mean, median):
        iterations = fewer(iterations, 2 * len(a))
    draws = distribution(
        lambda draw: second(draw) - first(draw), len(clusters), iterations
    )
    if not np.isfinite(draws).all():
        return None
    if aggregator is median:
        difference_of = _medians(a, b)
    else:
        difference_of = _one_by_one(a, b, aggregator, options)
    count = len(clusters)
    if 2**count <= iterations:
        relabellings = np.array(list(product((False, True), repeat=count)))
    else:
        random = np.random.default_rng(_SEED)
        relabellings = random.random((iterations - 1, count)) < 0.5
        unswapped = np.zeros((1, count), dtype=bool)
        relabellings = np.vstack((unswapped, relabellings))
    sizes = np.abs(difference_of(relabellings))
    if not np.isfinite(sizes).all():
        return None
    # the first relabelling swaps nothing: it is the observed difference and counts too
    as_large = np.count_nonzero(sizes >= sizes[0] * (1 - _TIES))
    size = float(np.abs([*a.values, *b.values]).max())
    return ResampledDifference(
        np.sort(draws), float(as_large / len(relabellings)), size
    )


def _medians(a: Scores, b: Scores) -> Callable[[Swaps], Values]:
    values_a, values_b = np.asarray(a.values), np.asarray(b.values)
    places = {cluster: place for place, cluster in enumerate(a.by_cluster())}
    cluster_of = np.array([places[cluster] for cluster in a.clusters])
    rows = max(1, _VALUES_AT_ONCE // len(values_a))

    def differences(relabellings: Swaps) -> Values:
        parts = []
        for start in range(0, len(relabellings), rows):
            is_swapped = relabellings[start : start + rows][:, cluster_of]
            first = np.where(is_swapped, values_b, values_a)
            second = np.where(is_swapped, values_a, values_b)
            medians = np.median(second, axis=1), np.median(first, axis=1)
            parts.append(medians[0] - medians[1])
        return np.concatenate(parts)

    return differences


def _one_by_one(
    a: Scores, b: Scores, aggregator: Aggregator, options: Mapping[str, Any]
) -> Callable[[Swaps], Values]:
    # the rows of both runs, those of ``a`` first
    both = a.take(range(len(a)))
    for place, row in enumerate(b):
        name = (row.sample, row.repeat)
        if row.value is None:
            score = Score(None, evidence=row.evidence, weight=row.weight)
            both.add(*name, score, cluster=row.cluster, labels=row.labels)
        else:
            both.add_value(
                *name,
                row.value,
                cluster=row.cluster,
                labels=row.labels,
                weight=row.weight,
                no_option=place in b.no_option,
            )
    clusters = list(a.by_cluster().values())

    def value(rows: Sequence[int]) -> float:
        number = aggregator(both.take(rows), **options).value
        return np.nan if number is None else number

    def differences(relabellings: Swaps) -> Values:
        values = []
        for swaps in relabellings:
            first, second = [], []
            for places, is_swapped in zip(clusters, swaps, strict=True):
                rows_a, rows_b = list(places), [place + len(a) for place in places]
                if is_swapped:
                    rows_a, rows_b = rows_b, rows_a
                first += rows_a
                second += rows_b
            values.append(value(second) - value(first))
        return np.array(values)

    return differences
