"""Computes how much each cluster of pairs contributes to a difference of means.

The error of the difference is computed from these contributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.leverage import (
    WHOLE,
    adjusted,
    connected,
    effective_clusters,
    freedom,
    satterthwaite,
)
from mmeval.aggregate.resampling import Values

Ints: TypeAlias = NDArray[np.intp]

_TIES = 1e-12
"""A contribution below this share of the largest one is treated as 0, because the last
digits depend on the order of adding."""


class PairedMean(NamedTuple):
    """Paired trials of one mean, with its ``share`` of the number.

    Clusters of the same name are one cluster, even if they are in several means. The
    weight of a trial is the number of units that its score covers. Weights are 1 except
    in weighted means.
    """

    share: float
    clusters: Sequence[str]
    a: Values
    b: Values
    weights_a: Values
    weights_b: Values


class Contributions(NamedTuple):
    """The clusters of a difference.

    ``added`` is the contribution of each cluster; it sums to the difference. ``shares``
    is what each cluster would contribute if the true difference were 1; the shares sum
    to 1. ``influence`` is the cluster's adjusted distance from the mean of each part.
    It is None if a part has a single cluster, because the error of such a part is
    unknown. The standard error is the root of the sum of the squared influences.
    """

    added: Values
    shares: Values
    influence: Values | None
    freedom: float

    @property
    def effective(self) -> float:
        """The number of equal clusters that would contain the same information."""
        return effective_clusters(self.shares.tolist())

    @property
    def changed(self) -> int:
        return int(np.count_nonzero(self.added))

    @property
    def are_alike(self) -> bool:
        """True if all clusters differ by the same amount."""
        means = self.added / self.shares
        return bool(np.ptp(means) <= _TIES * np.abs(means).max())

    @property
    def farthest(self) -> float:
        """The largest distance of a cluster's mean from the overall difference."""
        means = self.added / self.shares
        return float(np.abs(means - self.added.sum()).max())

    @property
    def carriers(self) -> float:
        """The number of clusters that cause the spread.

        If the means of all clusters are equally far from the overall difference, this
        is the number of all clusters.
        """
        apart = self.added / self.shares - float(self.added.sum())
        squares = apart**2
        fourth = float(squares @ squares)
        return float(squares.sum()) ** 2 / fourth if fourth else float(len(apart))

    @property
    def growth(self) -> float:
        """How much the squared standard error grows for a true difference of 1, if
        equal clusters become like those that differ."""
        changed = self.changed
        if not changed:
            return 0.0
        means = np.abs(self.added / self.shares)
        size = float(means @ means) / float(means.sum())
        return size * (1 - changed / len(means)) / self.effective


def contributions_of(parts: Sequence[PairedMean]) -> Contributions:
    """Returns the contributions of all clusters. Residuals and degrees of freedom are
    computed by CR2 (see ``mmeval.aggregate.leverage``). Parts that share clusters form
    a group. Groups are independent, so their degrees of freedom are combined with
    Satterthwaite's formula."""
    places: dict[str, int] = {}
    for part in parts:
        for name in part.clusters:
            places.setdefault(name, len(places))

    count = len(places)
    added, influence = np.zeros(count), np.zeros(count)
    shares = np.zeros(count)
    # each cluster's share of the trials of each part
    shares_by_part: list[Values] = []
    has_single = False
    for part in parts:
        of_trials = np.array([places[name] for name in part.clusters])
        within = _within_part(part, of_trials, count)
        added += part.share * within.added
        shares += part.share * within.shares
        shares_by_part.append(within.shares)
        if within.shares.max() > WHOLE:
            has_single = True
            continue
        distances = adjusted(within.residuals.tolist(), within.shares.tolist())
        influence += part.share * np.asarray(distances)

    largest = np.abs(added).max(initial=0.0)
    added[np.abs(added) <= _TIES * largest] = 0.0
    counts = shares > 0
    if has_single:
        return Contributions(added[counts], shares[counts], None, 0.0)

    variances, freedoms = [], []
    for members in connected([part.clusters for part in parts]):
        whole = math.fsum(parts[member].share for member in members)
        combined = np.zeros(count)
        for member in members:
            combined += parts[member].share / whole * shares_by_part[member]
        in_group = combined > 0
        distances_in_group = influence[in_group]
        variances.append(float(distances_in_group @ distances_in_group))
        freedoms.append(freedom(combined[in_group].tolist()))
    return Contributions(
        added[counts],
        shares[counts],
        influence[counts],
        satterthwaite(variances, freedoms),
    )


class _WithinPart(NamedTuple):
    """The clusters of one part, with their contributions to the part's difference,
    their shares of its trials, and their residuals."""

    added: Values
    shares: Values
    residuals: Values


def _within_part(
    part: PairedMean,
    of_trials: Ints,
    count: int,
) -> _WithinPart:
    """Returns the clusters of a part. ``of_trials`` contains the index of each trial's
    cluster. ``count`` is the number of clusters."""
    weights_a = part.weights_a / part.weights_a.sum()
    weights_b = part.weights_b / part.weights_b.sum()
    mean_a = float(part.a @ weights_a)
    mean_b = float(part.b @ weights_b)
    apart = (part.b - mean_b) * weights_b - (part.a - mean_a) * weights_a

    residuals = _sums(of_trials, apart, count)
    shares = _sums(of_trials, (weights_a + weights_b) / 2, count)
    if np.array_equal(part.weights_a, part.weights_b):
        added = _sums(of_trials, (part.b - part.a) * weights_a, count)
    else:
        # with unequal weights, only the residual belongs to the cluster itself
        added = residuals + (mean_b - mean_a) * shares
    return _WithinPart(added, shares, residuals)


def _sums(
    places: Ints,
    values: Values,
    count: int,
) -> Values:
    sums: Values = np.bincount(places, values, count).astype(float, copy=False)
    return sums
