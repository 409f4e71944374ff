"""A confidence sequence: an interval that holds however often one looks at it.

An ordinary interval is right in 95 % of cases if one looks once. At one of 38 looks it
misses the truth in more than a quarter of cases. This one is wider, and right at all
looks together.

Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Time-uniform central limit
theory and asymptotic confidence sequences, 2024.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.estimate import corrected
from mmeval.trust.correction.rated_trials import Places, Range, RatedTrials

FIRST = 20
"""The weight of the proxy is learnt from this number of ratings, which do not use it.
"""
FEWEST_CLUSTERS = 30
FEWEST_OFF = 5
"""At least this number of clusters must be off the most frequent value. Before that,
the spread is unknown."""
_LEVEL = 0.05
_NARROWEST_AT = 200
"""The number of clusters at which the sequence is narrowest."""


@dataclass(frozen=True)
class Sequence95:
    """The state of a confidence sequence for the mean over exactly these trials.

    ``ci95`` is None as long as there are too few clusters, or too few that differ.
    """

    clusters: int
    value: float
    ci95: Range | None
    weight: float

    def to_json(self) -> dict[str, Any]:
        """Returns all fields. The weight of the proxy is called lambda."""
        return {
            "clusters": self.clusters,
            "value": self.value,
            "ci95": self.ci95,
            "lambda": self.weight,
        }


def confidence_sequence(
    trials: RatedTrials,
    order: Sequence[int],
    limits: Range,
) -> Sequence95:
    """Returns the sequence after all ratings.

    ``order`` has the places of the rated trials in the order of their ratings. The
    trials form one stratum, were drawn with equal probability, and have a finite range.
    Only the first proxy is used.
    """
    rated = np.array(order, dtype=np.intp)
    proxy = trials.proxies[:, 0]
    weight = _weight_of_first(trials, rated[:FIRST])
    moved = (proxy[rated] - proxy.mean()) * weight
    moved[:FIRST] = 0.0
    values = trials.human[rated] - moved
    means = _means_in_order(values, trials.clusters[rated])
    mean = float(means.mean())

    low, high = limits
    ci95 = None
    human_means = _means_in_order(trials.human[rated], trials.clusters[rated])
    _, most = Counter(human_means.tolist()).most_common(1)[0]
    count = len(means)
    if count >= FEWEST_CLUSTERS and count - most >= FEWEST_OFF:
        reach = _reach(means - mean, high - low)
        ci95 = max(low, mean - reach), min(high, mean + reach)
    return Sequence95(count, mean, ci95, weight)


def _weight_of_first(trials: RatedTrials, first: Places) -> float:
    """Returns the weight of the first proxy as known after the first ratings."""
    human = np.full(trials.count, math.nan)
    human[first] = trials.human[first]
    at_first = RatedTrials(
        trials.proxies[:, :1], human, trials.weights, trials.strata, trials.clusters
    )
    if at_first.rated_clusters < 2:
        return 0.0
    return corrected(at_first).weights[0][0]


def _means_in_order(values: Values, clusters: Places) -> Values:
    """Returns the mean of each cluster, in the order of their first values."""
    by_cluster: dict[int, list[float]] = {}
    for value, cluster in zip(values.tolist(), clusters.tolist(), strict=True):
        by_cluster.setdefault(cluster, []).append(value)
    means = [math.fsum(group) / len(group) for group in by_cluster.values()]
    return np.array(means)


def _reach(apart: Values, width: float) -> float:
    """Returns the half width of the interval, from the clusters' distances from their
    mean."""
    count = len(apart)
    # One pseudo-observation at half the range keeps the spread above 0. Without it,
    # sequences of values that are nearly all equal miss the truth in 28 % of cases.
    variance = (float(apart @ apart) + width**2 / 4) / (count - 1)
    rate = _rate()
    growth = count * rate + 1
    squared = 2 * growth / (count**2 * rate) * math.log(math.sqrt(growth) / _LEVEL)
    return math.sqrt(variance * squared)


def _rate() -> float:
    """Returns the parameter that makes the sequence narrowest at its best place."""
    from scipy import special

    lower_branch = special.lambertw(-(_LEVEL**2) / math.e, k=-1).real
    return float(-lower_branch - 1) / _NARROWEST_AT
