"""What may have been missed: differences so rare that no cluster, or few, has one."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class UnseenClusters:
    """The chance that clusters which would move the difference to a limit are not
    among those seen: it is that of the least share of clusters that can do so, each
    by the whole ``width`` of the range."""

    difference: float
    width: float
    clusters: float

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        distance = limit - self.difference if above else self.difference - limit
        if distance <= 0:
            return 1.0
        room = self.width - self.difference if above else self.width + self.difference
        if math.isinf(room) or room <= 0:
            return 1.0
        return float((1 - min(1.0, distance / room)) ** self.clusters)


@dataclass(frozen=True)
class AlikeClusters:
    """The evidence of clusters that all differ by the same. A true difference could
    have been missed on one side alone, so both sides of a p are that one."""

    unseen: UnseenClusters

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        return self.unseen.one_sided_p(limit, above=above) / 2
