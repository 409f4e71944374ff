"""The statistics of a result that is a weighted sum of means.

A group combines the evidence of its members. Evidence is not stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Term(NamedTuple):
    """One mean of the sum, with its ``share`` of the result.

    ``influences`` states how much each of the ``clusters`` changes the mean. The sum of
    the squares of these numbers is the ``variance`` of the mean. ``sizes`` contains the
    share of the trials, or of their weights, that belongs to each cluster. ``variance``
    is None if all trials are in one cluster. ``has_few`` is true if only a few clusters
    are above the lowest value of ``range``, or only a few are below the highest value.
    """

    value: float
    range: tuple[float, float]
    clusters: Sequence[str]
    influences: Sequence[float]
    variance: float | None
    sizes: Sequence[float]
    has_few: bool
    share: float = 1.0

    @property
    def stderr(self) -> float | None:
        """The standard error of the mean, or None if all trials are in one cluster."""
        return None if self.variance is None else math.sqrt(self.variance)

    @property
    def is_known(self) -> bool:
        """True if there are at least two clusters, so that the error is known."""
        return self.variance is not None


class Evidence(NamedTuple):
    """The terms of a result.

    ``low`` are the terms if all lost values were the lowest possible values, ``high``
    if they were the highest. Both are None if these values are unknown.
    """

    terms: tuple[Term, ...]
    low: tuple[Term, ...] | None
    high: tuple[Term, ...] | None
