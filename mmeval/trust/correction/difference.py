"""The difference of two corrected values over the same samples."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mmeval.trust.correction.estimate import Estimate
from mmeval.trust.correction.rated_trials import (
    NO_RANGE,
    ROUNDING,
    Range,
    RatedTrials,
    cluster_sums,
    interval,
    sandwich,
)


@dataclass(frozen=True)
class Difference:
    """A difference ``b - a``, with the two-sided p of no difference.

    ``ci95`` is None if all clusters differ alike, which says little about others.
    """

    value: float
    stderr: float
    ci95: Range | None
    p: float

    def to_json(self) -> dict[str, Any]:
        """Returns all fields."""
        return asdict(self)


def difference(
    trials_a: RatedTrials,
    a: Estimate,
    trials_b: RatedTrials,
    b: Estimate,
) -> Difference:
    """Returns the difference of two estimates, paired by cluster.

    The clusters of both must be numbered alike.
    """
    from scipy import special

    both = np.union1d(trials_a.clusters, trials_b.clusters)
    numbers = int(both.max()) + 1
    influences = cluster_sums(b.influences, trials_b.clusters, count=numbers)
    influences = influences - cluster_sums(
        a.influences, trials_a.clusters, count=numbers
    )
    value = b.value - a.value
    stderr = math.sqrt(sandwich(influences, len(both)))
    freedom = min(a.freedom, b.freedom)
    if stderr < ROUNDING:
        return Difference(value, 0.0, None, 1.0 if abs(value) < ROUNDING else 0.0)
    p = 2 * float(special.stdtr(freedom, -abs(value) / stderr))
    return Difference(value, stderr, interval(value, stderr, freedom, NO_RANGE), p)
