"""Sign flips of clusters: how unusual a difference is among those that come of swapping
the two runs in some of the clusters.

They need nothing but symmetry: what a cluster adds is as likely to lie above its share
of the true difference as below. Unequal clusters and tasks with a single cluster are
no exception.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmeval.aggregate.resampling import Values

EXACT_UP_TO = 20
"""Clusters whose signs are flipped in all ways; of more there are ``DRAWS`` ways."""
DRAWS = 9_999
FEWEST_CLUSTERS = 6
"""With fewer, even the most extreme way has a p above 0.05."""
_SEED = 0
_SIGNS_AT_ONCE = 1 << 22
_TIES = 1e-12
"""Sums that differ by less than this share are equal: the order of adding decides their
last digits."""


@dataclass(frozen=True)
class AllFlips:
    """What each cluster ``added`` to the difference, and what it would add of any true
    difference: its ``shares`` sum to 1."""

    added: Values
    shares: Values

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        """The share of all ways in which the sum is as extreme.

        It is so exactly where the flipped clusters add nothing, or less, in the
        direction of the difference. The sums of both halves are made and matched.
        """
        apart = self.added - limit * self.shares
        if above:
            apart = -apart
        rounding = _TIES * float(np.abs(apart).sum())
        halves = np.array_split(apart, 2)
        first, second = _sums(halves[0]), _sums(halves[1])
        second.sort()
        counts = np.searchsorted(second, rounding - first, side="right")
        return float(counts.sum()) / (len(first) * len(second))


def _sums(values: Values) -> Values:
    """Those of all subsets."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums, sums + value))
    return sums


@dataclass(frozen=True)
class DrawnFlips:
    """As ``AllFlips``, of some ways that are drawn: always the same ones."""

    added: Values
    shares: Values

    @cached_property
    def _means(self) -> Values:
        """The mean difference in each drawn subset of clusters, in order.

        Flipping a subset is as extreme as what was seen for all true differences on
        one side of the subset's mean. Source: Hartigan, Using subsample values as
        typical values, 1969.
        """
        count = len(self.added)
        both = np.column_stack((self.added, self.shares))
        random = np.random.default_rng(_SEED)
        rows = max(1, _SIGNS_AT_ONCE // count)
        found = []
        for start in range(0, DRAWS, rows):
            number = min(rows, DRAWS - start)
            drawn = random.bytes(number * count // 8 + 1)
            bits = np.frombuffer(drawn, dtype=np.uint8)
            is_flipped = np.unpackbits(bits, count=number * count)
            sums = is_flipped.reshape(number, count).astype(float) @ both
            found.append(sums[sums[:, 1] > 0])
        added, shares = np.concatenate(found).T
        means: Values = np.sort(added / shares)
        return means

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        means = self._means
        largest = float(np.abs(means).max(initial=0.0))
        rounding = _TIES * max(abs(limit), largest)
        if above:
            apart = int(np.searchsorted(means, limit - rounding, side="left"))
        else:
            within = np.searchsorted(means, limit + rounding, side="right")
            apart = len(means) - int(within)
        # the way that was seen is one of all; so are those that flip nothing
        return (1 + DRAWS - apart) / (DRAWS + 1)


def sign_flips(added: Values, shares: Values) -> AllFlips | DrawnFlips:
    if len(added) <= EXACT_UP_TO:
        return AllFlips(added, shares)
    return DrawnFlips(added, shares)


def fewest_for(alpha: float) -> int:
    """The clusters that all have to differ in one direction for a p below
    ``alpha``."""
    return 1 + math.floor(1 + math.log2(1 / alpha))
