"""What unequal clusters do to a standard error: how many equal ones they are worth, and
its degrees of freedom, also of a sum of several means.

The standard error is the one called CR2: before they are squared, the residuals of a
cluster with the share h of all trials are divided by the root of 1 - h. With equal
clusters that is the usual factor C / (C - 1). Source: Bell and McCaffrey, Bias
Reduction in Standard Errors for Linear Regression with Multi-Stage Samples, 2002.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

WHOLE = 1 - 1e-12
"""A cluster with this share of all trials is the only one."""


def adjusted(residuals: Sequence[float], shares: Sequence[float]) -> array[float]:
    """The residuals of clusters of which the root of the sum of squares is the standard
    error.

    A cluster pulls the mean towards itself, so its residual is too small by the root of
    1 less its share of all trials. One that holds all of them has no distance from the
    mean: 0.
    """
    if are_equal(shares):
        factor = _adjustment(shares[0]) if shares else 0.0
        return array("d", [residual * factor for residual in residuals])
    factors = map(_adjustment, shares)
    return array("d", map(operator.mul, residuals, factors))


def _adjustment(share: float) -> float:
    return 1 / math.sqrt(1 - share) if share < WHOLE else 0.0


def effective_clusters(shares: Sequence[float]) -> float:
    """How many clusters of one size would tell as much. ``shares`` are those of all
    trials (or weights) that each cluster holds; they sum to 1."""
    if are_equal(shares):
        return float(len(shares))
    return 1 / _power_sum(Counter(shares), 2)


def freedom(shares: Sequence[float]) -> float:
    """The degrees of freedom of the standard error of a mean, after Bell and McCaffrey.

    They depend on how alike the trials of a cluster are, which is not known: the
    smaller of the two values for trials that have nothing in common, and for trials
    that are all the same. With C equal clusters both are C - 1. ``shares`` as for
    ``effective_clusters``, each below 1.
    """
    if are_equal(shares):
        return len(shares) - 1.0
    sizes = Counter(shares)  # of thousands of clusters most have one of few sizes
    return min(_if_unlike(sizes), _if_same(sizes))


def satterthwaite(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    """The degrees of freedom of a sum of independent variances. Source: Satterthwaite,
    An approximate distribution of estimates of variance components, 1946."""
    squares = []
    for variance, own in zip(variances, freedoms, strict=True):
        squares.append(variance**2 / own)
    spread = math.fsum(squares)
    if not spread:
        return math.fsum(freedoms)
    return math.fsum(variances) ** 2 / spread


def connected(clusters: Sequence[Iterable[str]]) -> list[list[int]]:
    """Groups of means, by their places, that share clusters: each group is independent
    of the others. ``clusters`` has those of each mean."""
    leaders = list(range(len(clusters)))

    def leader(of: int) -> int:
        while leaders[of] != of:
            of = leaders[of]
        return of

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
    """Whether all numbers are the same; of thousands of clusters most have one trial
    each, and this is faster than any formula."""
    stored = array("d", numbers)
    return stored.tobytes() == stored[:1].tobytes() * len(stored)


def _if_unlike(sizes: Mapping[float, int]) -> float:
    diagonal = []
    for share, count in sizes.items():
        diagonal.append(count * (share * share / (1 - share)) ** 2)
    off_diagonal = _adjusted_sum(sizes, 0) ** 2 - math.fsum(diagonal)
    return 1 / (_power_sum(sizes, 2) + off_diagonal)


def _if_same(sizes: Mapping[float, int]) -> float:
    """With the matrix G of the covariances of the adjusted residuals: the square of its
    trace over the sum of its squares, both written out."""
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
    """The sum over clusters of share² / (1 - share), times the share to a power."""
    summands = []
    for share, count in sizes.items():
        summands.append(count * share ** (2 + power) / (1 - share))
    return math.fsum(summands)
