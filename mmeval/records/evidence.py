"""What the clusters of trials tell of a number that is a weighted sum of means; a group
needs it of its members. It is not stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Term(NamedTuple):
    """One of the means, with its ``share`` of the number.

    For each of its ``clusters`` there is its ``influence`` on the mean, and the share
    of the trials (or weights) that it holds, its ``size``. The squares of the
    influences sum to the ``variance`` of the mean, which is None where all trials are
    in one cluster. The mean ``has_few`` if few clusters lie above the low
    end of its ``range``, or few below the high end.
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
        """The standard error of this mean; None where all trials are in one cluster."""
        return None if self.variance is None else math.sqrt(self.variance)

    @property
    def is_known(self) -> bool:
        """Whether two clusters or more tell how far the mean may be off."""
        return self.variance is not None


class Evidence(NamedTuple):
    """The terms of a number, and those that it would have with the lowest and with the
    highest values of what was lost; None where these are not known."""

    terms: tuple[Term, ...]
    low: tuple[Term, ...] | None
    high: tuple[Term, ...] | None
