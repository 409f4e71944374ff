"""Computes standard errors for unequal clusters, with CR2 and degrees of freedom.

In CR2, the residual of a cluster with the share h of all trials is divided by the root
of 1 - h before it is squared. For C equal clusters, this is the usual factor C / (C -
1). Source: Bell and McCaffrey, Bias Reduction in Standard Errors for Linear Regression
with Multi-Stage Samples, 2002.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

WHOLE = 1 - 1e-12
"""A cluster with at least this share of all trials is treated as the only cluster."""


def adjusted(residuals: Sequence[float], shares: Sequence[float]) -> array[float]:
    """Returns the residuals of clusters, adjusted by CR2.

    The standard error is the square root of the sum of the squared results.

    A cluster pulls the mean towards itself, so its residual is too small by the factor
    sqrt(1 - share). If a cluster contains all trials, its residual is 0.
    """
    # the usual case, for which one factor is enough
    if are_equal(shares):
        factor = _adjustment(shares[0]) if shares else 0.0
        return array("d", [residual * factor for residual in residuals])
    factors = map(_adjustment, shares)
    return array("d", map(operator.mul, residuals, factors))


def _adjustment(share: float) -> float:
    return 1 / math.sqrt(1 - share) if share < WHOLE else 0.0


def effective_clusters(shares: Sequence[float]) -> float:
    """Returns how many equal clusters would contain the same amount of information.

    ``shares`` are the clusters' shares of all trials (or weights). They sum to 1.
    """
    if are_equal(shares):
        return float(len(shares))
    return 1 / _power_sum(Counter(shares), 2)


def freedom(shares: Sequence[float]) -> float:
    """Returns the degrees of freedom of a mean's standard error.

    They depend on the correlation within clusters, which is unknown. So the result is
    the smaller of two values. The first assumes that the trials of a cluster are
    independent, the second that they are equal. With C equal clusters both values are C
    - 1. ``shares`` has the same meaning as in ``effective_clusters``, and each share is
    below 1. Source: Bell and McCaffrey (see the module).
    """
    if are_equal(shares):
        return len(shares) - 1.0
    # Counted by size, because thousands of clusters have only a few different sizes.
    sizes = Counter(shares)
    return min(_if_unlike(sizes), _if_same(sizes))


def satterthwaite(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    """Returns the degrees of freedom of a sum of independent variances.

    Source: Satterthwaite, An approximate distribution of estimates of variance
    components, 1946.
    """
    squares = []
    for variance, freedom in zip(variances, freedoms, strict=True):
        squares.append(variance**2 / freedom)
    spread = math.fsum(squares)
    if not spread:
        return math.fsum(freedoms)
    return math.fsum(variances) ** 2 / spread


def connected(clusters: Sequence[Iterable[str]]) -> list[list[int]]:
    """Sorts means into groups, so that means with a common cluster are in one group.

    ``clusters`` contains the clusters of each mean. Each group is a list of positions
    of means. The groups are independent of each other.
    """
    leaders = list(range(len(clusters)))

    def leader(mean: int) -> int:
        while leaders[mean] != mean:
            mean = leaders[mean]
        return mean

    if len(clusters) > 1:
        homes: dict[str, int] = {}
        for place, names in enumerate(clusters):
            others = {homes.setdefault(name, place) for name in names}
            for other in others:
                leaders[leader(other)] = leader(place)
    groups: dict[int, list[int]] = {}
    for place in range(len(clusters)):
        groups.setdefault(leader(place), []).append(place)
    return list(groups.values())


def are_equal(numbers: Sequence[float]) -> bool:
    """Returns True if all numbers are the same.

    Clusters usually have one trial each. For them, this check is faster than the
    formulas.
    """
    stored = array("d", numbers)
    return stored.tobytes() == stored[:1].tobytes() * len(stored)


def _if_unlike(sizes: Mapping[float, int]) -> float:
    diagonal = []
    for share, count in sizes.items():
        diagonal.append(count * (share * share / (1 - share)) ** 2)
    off_diagonal = _adjusted_sum(sizes, 0) ** 2 - math.fsum(diagonal)
    return 1 / (_power_sum(sizes, 2) + off_diagonal)


def _if_same(sizes: Mapping[float, int]) -> float:
    """Returns the degrees of freedom if the trials of a cluster are equal.

    The formula is the squared trace of the covariance matrix of the adjusted residuals
    over the sum of the matrix's squared entries. Both are written out.
    """
    squares = _power_sum(sizes, 2)
    zeroth = _adjusted_sum(sizes, 0)
    first = _adjusted_sum(sizes, 1)
    second = _adjusted_sum(sizes, 2)
    trace = zeroth * (1 + squares) - 2 * first
    everywhere = (
        (squares * zeroth) ** 2
        + 2 * second * zeroth
        - 4 * squares * first * zeroth
        + 2 * first * first
    )
    on_diagonal = []
    for share, count in sizes.items():
        square = (share * share / (1 - share)) ** 2
        on_diagonal.append(count * square * (1 + 2 * squares - 4 * share))
    return trace * trace / (everywhere + math.fsum(on_diagonal))


def _power_sum(sizes: Mapping[float, int], power: int) -> float:
    return math.fsum(count * share**power for share, count in sizes.items())


def _adjusted_sum(sizes: Mapping[float, int], power: int) -> float:
    """Sums share² / (1 - share) times share ** ``power`` over the clusters."""
    summands = []
    for share, count in sizes.items():
        summands.append(count * share ** (2 + power) / (1 - share))
    return math.fsum(summands)
