"""Measures from 0 to 1 (variation, share of outliers), and the terms they form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmeval.metrics.three_d.surface import Numbers

FEWEST = 4
"""Minimum number of values for a variation. The variation of fewer values is 0."""
QUARTILES = (25, 50, 75)
SMALLEST_MEDIAN = 1e-12
FAR = 2.5
"""A number that is farther from the mean, in standard deviations, is an outlier."""


@dataclass(frozen=True)
class Terms:
    """Topology (T), geometry (G) and sampling (S), from 0 to 1, and their measures."""

    topology: float
    geometry: float
    sampling: float
    evidence: Mapping[str, Any] = field(default_factory=dict)


def variation(numbers: Numbers) -> float:
    """Returns the variation of numbers, from 0 (all are equal) to 1.

    The variation is ``1 - exp(-IQR / abs(median))``, where IQR is the interquartile
    range. If the median is zero, the mean absolute value replaces it. Numbers that are
    not finite are left out. The variation of fewer than four numbers is 0.
    """
    import numpy as np

    finite = numbers[np.isfinite(numbers)]
    if len(finite) < FEWEST:
        return 0.0
    lower, median, upper = np.percentile(finite, QUARTILES)
    size = abs(median)
    if size <= SMALLEST_MEDIAN:
        size = np.abs(finite).mean() + SMALLEST_MEDIAN
    return float(-np.expm1(-(upper - lower) / size))


def far_share(numbers: Numbers) -> float:
    """Returns the share of numbers more than 2.5 standard deviations from the mean.

    The share is 0 if all numbers are equal.
    """
    import numpy as np

    if not len(numbers):
        return 0.0
    deviations = np.abs(numbers - numbers.mean())
    limit = FAR * (numbers.std() + SMALLEST_MEDIAN)
    return float((deviations > limit).mean())


def weighted(weights: Sequence[float], *values: float) -> float:
    """Returns the weighted sum of values, limited to 0..1."""
    pairs = zip(weights, values, strict=True)
    return clamp(sum(weight * value for weight, value in pairs))


def clamp(value: float) -> float:
    """Limits a value to 0..1."""
    return min(1.0, max(0.0, float(value)))
