"""The plain mean of values in clusters: Student's interval, and whether it is 0."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mmeval.aggregate.intervals import same_value_interval
from mmeval.aggregate.resampling import Values
from mmeval.comparison.paired.sign_flips import sign_flips
from mmeval.comparison.statistics import MANY_CLUSTERS
from mmeval.trust.correction.rated_trials import (
    NO_RANGE,
    ROUNDING,
    Places,
    Range,
    cluster_sums,
    interval,
    sandwich,
)


@dataclass(frozen=True)
class Mean:
    """A mean. Without two clusters, its error is None. ``ci95`` is also None if all
    clusters are alike and the values have no finite range."""

    value: float
    stderr: float | None
    ci95: Range | None

    def to_json(self) -> dict[str, Any]:
        """Returns all fields."""
        return asdict(self)


def clustered_mean(
    values: Values,
    clusters: Places,
    limits: Range = NO_RANGE,
) -> Mean:
    """Returns the mean of at least one value, with its error over clusters."""
    value = float(values.mean())
    of_clusters = cluster_sums((values - value) / len(values), clusters)
    count = len(set(clusters.tolist()))
    if count < 2:
        return Mean(value, None, None)
    stderr = math.sqrt(sandwich(of_clusters, count))
    if stderr > ROUNDING * max(1.0, abs(value)):
        return Mean(value, stderr, interval(value, stderr, count - 1, limits))
    ends = None
    if all(map(math.isfinite, limits)):
        ends = same_value_interval(value, count, limits)
    return Mean(value, 0.0, ends)


def p_of_zero(values: Values, clusters: Places) -> float | None:
    """Returns the two-sided p of a true mean of 0, for values in numbered clusters.

    It is that of sign flips over clusters, and from 30 clusters on Student's. If all
    values are equal, it is that of clusters which all differ in one direction. Returns
    None with fewer than two clusters.
    """
    mean = clustered_mean(values, clusters)
    if mean.stderr is None:
        return None
    count = int(clusters.max()) + 1
    if mean.stderr == 0:
        return 1.0 if mean.value == 0 else 2.0 ** (1 - count)
    if count < MANY_CLUSTERS:
        return _flipped_p(values, clusters)
    return 2 * students_p(abs(mean.value) / mean.stderr, count - 1)


def students_p(distance: float, freedom: int) -> float:
    """Returns the probability that Student's t is above a distance in errors."""
    from scipy import special

    return float(special.stdtr(freedom, -distance))


def _flipped_p(values: Values, clusters: Places) -> float:
    added = cluster_sums(values / len(values), clusters)
    shares = np.bincount(clusters) / len(values)
    flips = sign_flips(added, shares)
    one_sided = min(
        flips.one_sided_p(0.0, above=True), flips.one_sided_p(0.0, above=False)
    )
    return min(1.0, 2 * one_sided)
