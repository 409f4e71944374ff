"""Correlation coefficients, their intervals and their p values.

Over models, the points are independent: intervals have a formula. Over samples, trials
of a cluster depend on each other: clusters are resampled, and there is no p value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations, permutations
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.resampling import Draws, Values, distribution
from mmeval.aggregate.statistics import BOOTSTRAP_ITERS, Interval

Method = Literal["pearson", "spearman", "kendall"]
Array: TypeAlias = NDArray[np.float64]

METHODS: tuple[Method, ...] = get_args(Method)
MOST_PERMUTED = 9
"""Maximum number of points for which all permutations are tried."""
MOST_KEPT = 64
"""Number of resampled coefficients that are kept, as differences use them again."""
FEWEST_POINTS = 4
"""Minimum number of points, or of clusters, for an interval."""
_Z95 = 1.959963984540054
_FEWEST_VALUED = 0.95
"""Minimum share of draws that must have a value. A draw of a constant series has none.
"""
_KENDALL_VARIANCE = 0.437
CONSTANT = "one of the two series is constant"
TOO_FEW = "too few points"


@dataclass(frozen=True)
class Points:
    """Pairs of values. ``clusters`` has the cluster of each pair; it is empty if the
    pairs are independent."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    clusters: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Correlation:
    """A coefficient between -1 and 1, with its 95 % interval and its p value.

    ``value`` is None if it is not defined, and ``why`` is the reason. ``why`` is also
    the reason for a missing interval. ``p`` is two-sided; it is None over samples.
    ``n`` is the number of pairs, ``clusters`` the number of independent groups of them.
    """

    method: Method
    value: float | None
    n: int
    clusters: int
    ci95: Interval | None = None
    p: float | None = None
    why: str = ""


@dataclass(frozen=True)
class CorrelationDifference:
    """The difference of two correlations with the same series, with its 95 % interval
    by paired resampling. ``why`` is the reason for a missing interval."""

    method: Method
    value: float
    ci95: Interval | None
    why: str = ""


def correlation(method: Method, points: Points) -> Correlation:
    """Returns the correlation of the pairs.

    - ``pearson``: of the values; its p value is that of Student's t
    - ``spearman``: of the ranks; equal values have their mean rank
    - ``kendall``: tau-b, which corrects for ties

    Intervals over independent pairs are computed on Fisher's z. Sources: Bonett and
    Wright 2000 for Spearman, Fieller, Hartley and Pearson 1957 for Kendall. Intervals
    over clusters are quantiles of resampled coefficients. The p value of ranks is
    exact up to nine pairs, as all permutations are tried.
    """
    clusters = len(set(points.clusters)) if points.clusters else len(points)
    x, y = np.asarray(points.x, dtype=float), np.asarray(points.y, dtype=float)
    value = coefficient(method, x, y)
    if value is None:
        why = CONSTANT if len(points) > 1 else TOO_FEW
        return Correlation(method, None, len(points), clusters, why=why)
    p = None
    if points.clusters:
        ci95, why = _interval_of(_drawn(method, points))
    else:
        ci95, why = _fisher_interval(method, value, len(points))
        p = p_value(method, x, y)
    if clusters < FEWEST_POINTS:
        ci95, why = None, TOO_FEW
    return Correlation(method, value, len(points), clusters, ci95, p, why)


def difference(
    method: Method, first: Points, second: Points
) -> CorrelationDifference | None:
    """Returns the correlation of ``first`` minus that of ``second``.

    Both contain the same models or trials in the same order, with the same ``y``.
    Returns None if one of the correlations is not defined.
    """
    a = coefficient(method, np.asarray(first.x), np.asarray(first.y))
    b = coefficient(method, np.asarray(second.x), np.asarray(second.y))
    if a is None or b is None:
        return None
    clusters = len(set(first.clusters)) if first.clusters else len(first)
    if clusters < FEWEST_POINTS:
        return CorrelationDifference(method, a - b, None, TOO_FEW)
    ci95, why = _interval_of(_drawn(method, first) - _drawn(method, second))
    return CorrelationDifference(method, a - b, ci95, why)


def coefficient(method: Method, x: Array, y: Array) -> float | None:
    """Returns the coefficient; None if a series is constant or has fewer than two
    values."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    from scipy import stats

    if method == "kendall":
        return float(stats.kendalltau(x, y).statistic)
    if method == "spearman":
        x, y = stats.rankdata(x), stats.rankdata(y)
    x, y = x - x.mean(), y - y.mean()
    value = float(x @ y) / math.sqrt(float(x @ x) * float(y @ y))
    return max(-1.0, min(1.0, value))


def p_value(method: Method, x: Array, y: Array) -> float | None:
    """Returns the two-sided p value; None for fewer than three pairs."""
    if len(x) < 3:
        return None
    from scipy import stats

    if method == "pearson":
        return float(stats.pearsonr(x, y).pvalue)
    if len(x) <= MOST_PERMUTED:
        return _exact_p(method, x, y)
    test = stats.spearmanr if method == "spearman" else stats.kendalltau
    return float(test(x, y).pvalue)


def _exact_p(method: Method, x: Array, y: Array) -> float:
    """Returns the share of permutations with a coefficient at least as far from 0."""
    from scipy import stats

    orders = _orders(len(x))
    ranks_x, ranks_y = stats.rankdata(x), stats.rankdata(y)
    if method == "spearman":
        # the denominator of the coefficient is the same for all permutations
        centred = ranks_x - ranks_x.mean()
        permuted = ranks_y[orders] @ centred
        observed = float(ranks_y @ centred)
    else:
        signs_x = np.sign(ranks_x[:, None] - ranks_x[None, :])
        signs_y = np.sign(ranks_y[:, None] - ranks_y[None, :])
        permuted = np.zeros(len(orders))
        observed = 0.0
        for i, j in combinations(range(len(x)), 2):
            permuted += signs_x[i, j] * signs_y[orders[:, i], orders[:, j]]
            observed += float(signs_x[i, j] * signs_y[i, j])
    # the sums contain rounding errors
    as_far = np.abs(permuted) >= abs(observed) - 1e-9
    return float(as_far.mean())


@cache
def _orders(count: int) -> NDArray[np.int8]:
    return np.array(list(permutations(range(count))), dtype=np.int8)


def _fisher_interval(
    method: Method, value: float, count: int
) -> tuple[Interval | None, str]:
    if count < FEWEST_POINTS or (method == "kendall" and count == FEWEST_POINTS):
        return None, TOO_FEW
    if abs(value) == 1:
        return None, "all points agree"
    if method == "pearson":
        variance = 1 / (count - 3)
    elif method == "spearman":
        variance = (1 + value**2 / 2) / (count - 3)
    else:
        variance = _KENDALL_VARIANCE / (count - 4)
    half = _Z95 * math.sqrt(variance)
    z = math.atanh(value)
    return (math.tanh(z - half), math.tanh(z + half)), ""


@lru_cache(MOST_KEPT)
def _drawn(method: Method, points: Points) -> Values:
    """Returns the coefficient of each draw of clusters; NaN if it is not defined.

    Draws of the same clusters are the same in each call, so that they are paired.
    """
    x, y = np.asarray(points.x, dtype=float), np.asarray(points.y, dtype=float)
    names = points.clusters or [str(place) for place in range(len(points))]
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    groups = [np.asarray(group) for group in places.values()]

    def statistic(draws: Draws) -> Values:
        values = []
        for draw in draws:
            rows = np.concatenate([groups[number] for number in draw])
            value = coefficient(method, x[rows], y[rows])
            values.append(math.nan if value is None else value)
        return np.asarray(values)

    if len(groups) < 2:
        return np.full(1, math.nan)
    return distribution(statistic, len(groups), BOOTSTRAP_ITERS)


def _interval_of(drawn: Values) -> tuple[Interval | None, str]:
    valued = drawn[~np.isnan(drawn)]
    if len(valued) < _FEWEST_VALUED * len(drawn):
        return None, "too many draws of a constant series"
    low, high = np.quantile(valued, (0.025, 0.975))
    return (float(low), float(high)), ""
