"""The arrays that the estimators take: scores of all trials, ratings of few."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.quantiles import normal_quantile, student_quantile
from mmeval.aggregate.resampling import Values

Flags = NDArray[np.bool_]
Places = NDArray[np.intp]
Range = tuple[float, float]

NO_RANGE: Range = (-math.inf, math.inf)
ROUNDING = 1e-12
"""A standard error below this is a rounding error."""
_MANY_DEGREES = 999
"""From here on, Student's quantile is replaced by that of the normal distribution."""


class Stratum(NamedTuple):
    """The trials of a stratum, by their places, and the clusters that they are in.

    ``cluster_of`` gives each trial of the stratum the number of its cluster, from 0 to
    ``clusters - 1``.
    """

    number: int
    places: Places
    cluster_of: Places
    clusters: int


@dataclass(frozen=True)
class RatedTrials:
    """Trials in rows. Each has the values of all proxies; few have a human value.

    ``proxies`` has a column for each automatic score. ``human`` is NaN for unrated
    trials. ``weights`` are the inverse probabilities of the draw, up to a
    factor. ``strata`` and ``clusters`` are numbers from 0. Numbers may be missing, so
    that two runs can share the numbers of their clusters.
    """

    proxies: Values
    human: Values
    weights: Values
    strata: Places
    clusters: Places

    @cached_property
    def is_rated(self) -> Flags:
        """True for the trials with a human value."""
        rated: Flags = ~np.isnan(self.human)
        return rated

    @property
    def count(self) -> int:
        """The number of trials."""
        return len(self.human)

    @cached_property
    def rated(self) -> int:
        """The number of rated trials."""
        return int(self.is_rated.sum())

    @cached_property
    def cluster_count(self) -> int:
        """The number of clusters."""
        return len(np.unique(self.clusters))

    @cached_property
    def rated_clusters(self) -> int:
        """The number of clusters with a rated trial."""
        return len(np.unique(self.clusters[self.is_rated]))

    @cached_property
    def are_clusters_whole(self) -> bool:
        """True if each cluster is rated as a whole or not at all."""
        sizes = np.bincount(self.clusters)
        rated = np.bincount(self.clusters[self.is_rated], minlength=len(sizes))
        return bool(np.all((rated == 0) | (rated == sizes)))

    def each_stratum(self) -> Iterator[Stratum]:
        """Yields the strata in the order of their numbers."""
        for number in np.unique(self.strata):
            places = np.flatnonzero(self.strata == number)
            clusters, cluster_of = np.unique(self.clusters[places], return_inverse=True)
            yield Stratum(int(number), places, cluster_of, len(clusters))

    def take(self, places: Places) -> RatedTrials:
        """Returns some of the trials."""
        return RatedTrials(
            self.proxies[places],
            self.human[places],
            self.weights[places],
            self.strata[places],
            self.clusters[places],
        )


def numbered(names: Sequence[str], known: Sequence[str]) -> Places:
    """Returns the place of each name in the list of known names."""
    place_of = {name: place for place, name in enumerate(known)}
    return np.array([place_of[name] for name in names], dtype=np.intp)


def in_order_of_appearance(names: Sequence[str]) -> Places:
    """Returns the number of each name, counted from 0 as the names first appear."""
    number_of: dict[str, int] = {}
    for name in names:
        number_of.setdefault(name, len(number_of))
    return np.array([number_of[name] for name in names], dtype=np.intp)


def cluster_sums(values: Values, clusters: Places, *, count: int = 0) -> Values:
    """Returns the sums of rows by cluster: of all numbers from 0 to the largest one, or
    to ``count - 1`` if that is more."""
    if values.ndim == 1:
        return np.bincount(clusters, values, minlength=count).astype(float)
    columns = []
    for column in values.T:
        columns.append(np.bincount(clusters, column, minlength=count))
    return np.column_stack(columns)


def sandwich(influences: Values, clusters: int) -> float:
    """Returns the variance of a value from the influences of its clusters on it.

    Clusters without influence may be left out of ``influences``, but are counted in
    ``clusters``. With fewer than two clusters the variance is unknown: NaN.
    """
    if clusters < 2:
        return math.nan
    return clusters / (clusters - 1) * float(influences @ influences)


def two_sided_quantile(freedom: float) -> float:
    """Returns Student's quantile of a 95 % interval with these degrees of freedom."""
    if freedom >= _MANY_DEGREES:
        return normal_quantile(0.975)
    return student_quantile(freedom, 0.975)


def interval(value: float, stderr: float, freedom: float, limits: Range) -> Range:
    """Returns Student's 95 % interval, cut to a range."""
    reach = two_sided_quantile(freedom) * stderr
    low, high = limits
    return max(low, value - reach), min(high, value + reach)
