"""The statistics of a result that is a weighted sum of means.

A group combines the evidence of its members. It is not stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Term(NamedTuple):
    """One mean of the sum, with its ``share`` of the result.

    ``influences`` are the influences of the ``clusters`` on the mean; their squares sum
    to its ``variance``. ``sizes`` are the clusters' shares of the trials or weights.
    ``variance`` is None if all trials are in one cluster. ``has_few`` is true if few
    clusters lie above the lowest value of ``range``, or few below the highest.
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
        """The standard error of the mean; None if all trials are in one cluster."""
        return None if self.variance is None else math.sqrt(self.variance)

    @property
    def is_known(self) -> bool:
        """True if two clusters or more show how far the mean may be off."""
        return self.variance is not None


class Evidence(NamedTuple):
    """The terms of a result.

    ``low`` and ``high`` are its terms if all lost values were lowest, or highest; None
    if these are not known.
    """

    terms: tuple[Term, ...]
    low: tuple[Term, ...] | None
    high: tuple[Term, ...] | None
