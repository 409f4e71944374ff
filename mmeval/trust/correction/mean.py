"""The plain mean of values in clusters, with Student's interval."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from mmeval.aggregate.intervals import same_value_interval
from mmeval.aggregate.resampling import Values
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
