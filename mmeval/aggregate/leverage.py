"""What unequal clusters do to a standard error: how many equal ones they are worth, and
its degrees of freedom.

The standard error is the one called CR2: before they are squared, the residuals of a
cluster with the share h of all trials are divided by the root of 1 - h. With equal
clusters that is the usual factor C / (C - 1). Source: Bell and McCaffrey, Bias
Reduction in Standard Errors for Linear Regression with Multi-Stage Samples, 2002.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def effective_clusters(shares: Sequence[float]) -> float:
    """How many clusters of one size would tell as much. ``shares`` are those of all
    trials (or weights) that each cluster holds; they sum to 1."""
    return 1 / math.fsum(share * share for share in shares)


def freedom(shares: Sequence[float]) -> float:
    """The degrees of freedom of the standard error of a mean, after Bell and McCaffrey.

    They depend on how alike the trials of a cluster are, which is not known: the
    smaller of the two values for trials that have nothing in common, and for trials
    that are all the same. With C equal clusters both are C - 1. ``shares`` as for
    ``effective_clusters``, each below 1.
    """
    return min(_if_unlike(shares), _if_same(shares))


def _if_unlike(shares: Sequence[float]) -> float:
    adjusted = [share * share / (1 - share) for share in shares]
    off_diagonal = math.fsum(adjusted) ** 2 - math.fsum(one * one for one in adjusted)
    return 1 / (math.fsum(share * share for share in shares) + off_diagonal)


def _if_same(shares: Sequence[float]) -> float:
    """With the matrix G of the covariances of the adjusted residuals: the square of its
    trace over the sum of its squares, both written out."""
    squares = math.fsum(share * share for share in shares)
    adjusted = [share * share / (1 - share) for share in shares]
    zeroth = math.fsum(adjusted)
    first = math.fsum(one * share for one, share in zip(adjusted, shares, strict=True))
    second = math.fsum(
        one * share * share for one, share in zip(adjusted, shares, strict=True)
    )
    trace = zeroth * (1 + squares) - 2 * first
    everywhere = (
        (squares * zeroth) ** 2
        + 2 * second * zeroth
        - 4 * squares * first * zeroth
        + 2 * first * first
    )
    on_diagonal = math.fsum(
        one * one * (1 + 2 * squares - 4 * share)
        for one, share in zip(adjusted, shares, strict=True)
    )
    return trace * trace / (everywhere + on_diagonal)
