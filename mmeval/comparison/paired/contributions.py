"""What each cluster of pairs adds to a difference of means, and how sure that is."""

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
"""What a cluster adds is 0 below this share of the largest: the order of adding decides
the last digits."""


class PairedMean(NamedTuple):
    """Paired trials of one mean, with its ``share`` of the number.

    Clusters of the same name are one, also in several parts. The weights are how many
    things stand behind each score, 1 but for weighted means.
    """

    share: float
    clusters: Sequence[str]
    a: Values
    b: Values
    weights_a: Values
    weights_b: Values


class Contributions(NamedTuple):
    """The clusters of a difference.

    ``added`` sums to the difference. ``shares`` is what each adds of a true difference
    of 1; they sum to 1. ``influence`` has the distances from the mean of each part,
    adjusted so that the root of their sum of squares is the standard error; None where
    a part has a single cluster, whose distance nobody knows.
    """

    added: Values
    shares: Values
    influence: Values | None
    freedom: float

    @property
    def effective(self) -> float:
        """How many equal clusters would tell as much."""
        return effective_clusters(self.shares.tolist())

    @property
    def changed(self) -> int:
        return int(np.count_nonzero(self.added))

    @property
    def are_alike(self) -> bool:
        """Whether all clusters differ by the same."""
        means = self.added / self.shares
        return bool(np.ptp(means) <= _TIES * np.abs(means).max())

    @property
    def farthest(self) -> float:
        """How far the mean of a cluster lies from the whole at most."""
        means = self.added / self.shares
        return float(np.abs(means - self.added.sum()).max())

    @property
    def carriers(self) -> float:
        """How many clusters differ from the others: as many as there are, if the means
        of all lie equally far from the whole."""
        apart = self.added / self.shares - float(self.added.sum())
        squares = apart**2
        fourth = float(squares @ squares)
        return float(squares.sum()) ** 2 / fourth if fourth else float(len(apart))

    @property
    def growth(self) -> float:
        """What a unit of a true difference adds to the squared standard error, if it
        comes of clusters that differ like those which do, in place of equal ones."""
        changed = self.changed
        if not changed:
            return 0.0
        means = np.abs(self.added / self.shares)
        size = float(means @ means) / float(means.sum())
        return size * (1 - changed / len(means)) / self.effective


def contributions_of(parts: Sequence[PairedMean]) -> Contributions:
    """The residuals and their degrees of freedom are those of CR2 (see
    ``mmeval.aggregate.leverage``). Parts that share clusters are taken together, and
    groups of such parts are independent: Satterthwaite's degrees of freedom."""
    places: dict[str, int] = {}
    for part in parts:
        for name in part.clusters:
            places.setdefault(name, len(places))

    count = len(places)
    added, influence = np.zeros(count), np.zeros(count)
    shares = np.zeros(count)
    # the share of each part's trials that each cluster holds
    held: list[Values] = []
    has_single = False
    for part in parts:
        of_trials = np.array([places[name] for name in part.clusters])
        own = _within_part(part, of_trials, count)
        added += part.share * own.added
        shares += part.share * own.shares
        held.append(own.shares)
        if own.shares.max() > WHOLE:
            has_single = True
            continue
        distances = adjusted(own.residuals.tolist(), own.shares.tolist())
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
            combined += parts[member].share / whole * held[member]
        own_clusters = combined > 0
        apart = influence[own_clusters]
        variances.append(float(apart @ apart))
        freedoms.append(freedom(combined[own_clusters].tolist()))
    return Contributions(
        added[counts],
        shares[counts],
        influence[counts],
        satterthwaite(variances, freedoms),
    )


class _WithinPart(NamedTuple):
    """By cluster, of the difference of one part: what it adds, its share of the trials,
    and how far it lies from its share of the whole."""

    added: Values
    shares: Values
    residuals: Values


def _within_part(
    part: PairedMean,
    of_trials: Ints,
    count: int,
) -> _WithinPart:
    """``of_trials`` is the cluster of each trial, of which there are ``count``."""
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
        # of unlike weights only the distance from the mean is the cluster's own
        added = residuals + (mean_b - mean_a) * shares
    return _WithinPart(added, shares, residuals)


def _sums(
    places: Ints,
    values: Values,
    count: int,
) -> Values:
    sums: Values = np.bincount(places, values, count).astype(float, copy=False)
    return sums
