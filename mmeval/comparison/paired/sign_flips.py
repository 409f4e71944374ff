"""Sign flips test a difference by swapping the two runs in some of the clusters.

The test computes how unusual the observed difference is among the differences after
such swaps.

The only assumption is symmetry: a cluster's contribution is as likely to be above its
share of the true difference as below it. Clusters may be unequal, and a task may have a
single cluster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmeval.aggregate.resampling import Values

EXACT_UP_TO = 20
"""Up to this number of clusters, all possible flips are used. With more clusters,
``DRAWS`` flips are drawn."""
DRAWS = 9_999
FEWEST_CLUSTERS = 6
"""With fewer clusters, even the most extreme flip has a p above 0.05."""
_SEED = 0
_SIGNS_AT_ONCE = 1 << 22
_TIES = 1e-12
"""Sums that differ by less than this share are treated as equal, because their last
digits depend on the order of adding."""


@dataclass(frozen=True)
class AllFlips:
    """The sign-flip test over all possible flips.

    ``added`` is each cluster's contribution to the difference. ``shares`` is what each
    cluster would contribute if the true difference were 1; the shares sum to 1.
    """

    added: Values
    shares: Values

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        """Returns the share of all flips in which the sum is at least as extreme.

        A flip is at least as extreme exactly if the flipped clusters add nothing, or
        less, in the direction of the difference. To count these flips, the clusters are
        split into two halves, and the subset sums of both halves are matched.
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
    """Returns the sums of all subsets."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums, sums + value))
    return sums


@dataclass(frozen=True)
class DrawnFlips:
    """The sign-flip test over randomly drawn flips, with the fields of ``AllFlips``.
    The draws are always the same."""

    added: Values
    shares: Values

    @cached_property
    def _means(self) -> Values:
        """The sorted mean differences of the drawn subsets of clusters.

        For a limit above the observed difference, flipping a subset gives a sum at
        least as extreme as the observed one exactly if the subset's mean is not below
        the limit. For a limit below the observed difference, the mean must not be above
        it. Source: Hartigan, Using subsample values as typical values, 1969.
        """
        count = len(self.added)
        both = np.column_stack((self.added, self.shares))
        random = np.random.default_rng(_SEED)
        rows = max(1, _SIGNS_AT_ONCE // count)
        subset_sums = []
        for start in range(0, DRAWS, rows):
            number = min(rows, DRAWS - start)
            drawn = random.bytes(number * count // 8 + 1)
            bits = np.frombuffer(drawn, dtype=np.uint8)
            is_flipped = np.unpackbits(bits, count=number * count)
            sums = is_flipped.reshape(number, count).astype(float) @ both
            subset_sums.append(sums[sums[:, 1] > 0])
        added, shares = np.concatenate(subset_sums).T
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
        # the observed signs count as a flip; so do subsets that flip nothing
        return (1 + DRAWS - apart) / (DRAWS + 1)


def sign_flips(added: Values, shares: Values) -> AllFlips | DrawnFlips:
    if len(added) <= EXACT_UP_TO:
        return AllFlips(added, shares)
    return DrawnFlips(added, shares)


def fewest_for(alpha: float) -> int:
    """Returns the smallest number of clusters for which p is below ``alpha`` if all of
    them differ in one direction."""
    return 1 + math.floor(1 + math.log2(1 / alpha))
