"""Tests for differences that are so rare that few sampled clusters, or none, show
them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class UnseenClusters:
    """The probability that the samples miss all clusters that would move the difference
    to a limit. It is computed for the smallest share of clusters that can do so, if
    each of them differs by the full ``width`` of the range."""

    difference: float
    width: float
    clusters: float

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        distance = limit - self.difference if above else self.difference - limit
        if distance <= 0:
            return 1.0
        distance_to_end = (
            self.width - self.difference if above else self.width + self.difference
        )
        if math.isinf(distance_to_end) or distance_to_end <= 0:
            return 1.0
        return float((1 - min(1.0, distance / distance_to_end)) ** self.clusters)


@dataclass(frozen=True)
class AlikeClusters:
    """The test of clusters that all differ by the same amount. Such clusters can miss a
    true difference on one side only, so the two-sided p covers only that side."""

    unseen: UnseenClusters

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        return self.unseen.one_sided_p(limit, above=above) / 2
