"""Errors and intervals of statistics that are not means: the jackknife over clusters.

The statistic is computed again without each cluster. Its spread is measured on a scale
on which it is nearly symmetric. There are no random draws, so equal input gives equal
digits. Simulations preferred this to the bootstrap for 20 to 100 clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from mmeval.trust.correction.mean import Mean
from mmeval.trust.correction.rated_trials import (
    ROUNDING,
    Places,
    Range,
    interval,
    two_sided_quantile,
)

Scale = Literal["correlation", "kappa", "plain"]
"""The scale of the spread: atanh(x) of a correlation, -log(1 - x) of a kappa, or x."""
NO_DISAGREEMENT = "no disagreement was seen"

_ALL_ALIKE = "it is the same without any one of the clusters"
_LIMITS: Range = (-1.0, 1.0)
_AT_THE_END = 1e-9
_FEWEST_GROUPS = 3
_MOST_CLUSTERS = 500
_GROUPS = 200
"""More clusters than the maximum are put into this number of groups."""


@dataclass(frozen=True)
class AgreementStatistic:
    """A statistic with its standard error and interval. None means unknown, and ``why``
    says why."""

    value: float | None
    stderr: float | None = None
    ci95: Range | None = None
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns the fields. ``why`` is left out if it is empty."""
        row = asdict(self)
        if not self.why:
            del row["why"]
        return row


def statistic_of_mean(mean: Mean) -> AgreementStatistic:
    """Returns the same numbers as a statistic."""
    why = ""
    if mean.stderr is None:
        why = "fewer than 2 clusters"
    elif mean.ci95 is None:
        why = "all clusters are alike"
    return AgreementStatistic(mean.value, mean.stderr, mean.ci95, why)


def groups_of(clusters: Places) -> list[Places]:
    """Returns the places of the trials that are left out together.

    ``clusters`` has numbers from 0 in the order in which the clusters appear. Up to 500
    clusters are left out one by one, and more of them in 200 groups.
    """
    number_of = clusters
    count = len(np.unique(clusters))
    if count > _MOST_CLUSTERS:
        number_of = clusters % _GROUPS
    order = np.argsort(number_of, kind="stable")
    starts = np.flatnonzero(np.diff(number_of[order])) + 1
    return np.split(order, starts)


def jackknifed(
    value: float, without: Sequence[float | None], scale: Scale
) -> AgreementStatistic:
    """Returns a statistic with the error from its values without each group."""
    count = len(without)
    if count < _FEWEST_GROUPS:
        return AgreementStatistic(value, why=f"fewer than {_FEWEST_GROUPS} clusters")
    known = [other for other in without if other is not None]
    if len(known) < count:
        return AgreementStatistic(value, why="undefined without one of the clusters")

    stderr = _spread(known)
    if stderr < ROUNDING:
        why = NO_DISAGREEMENT if value >= 1 - _AT_THE_END else _ALL_ALIKE
        return AgreementStatistic(value, 0.0, why=why)
    freedom = count - 1
    if scale == "plain" or _is_at_an_end([value, *known], scale):
        ends = interval(value, stderr, freedom, _LIMITS)
        return AgreementStatistic(value, stderr, ends)
    middle = _to_scale(value, scale)
    spread = _spread([_to_scale(other, scale) for other in known])
    reach = two_sided_quantile(freedom) * spread
    low = _from_scale(middle - reach, scale)
    high = _from_scale(middle + reach, scale)
    return AgreementStatistic(value, stderr, (low, high))


def _spread(values: Sequence[float]) -> float:
    count = len(values)
    mean = math.fsum(values) / count
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt((count - 1) / count * squares)


def _is_at_an_end(values: Sequence[float], scale: Scale) -> bool:
    """Returns True if a value has no finite place on the scale."""
    if max(values) >= 1 - _AT_THE_END:
        return True
    return scale == "correlation" and min(values) <= -1 + _AT_THE_END


def _to_scale(value: float, scale: Scale) -> float:
    return math.atanh(value) if scale == "correlation" else -math.log1p(-value)


def _from_scale(value: float, scale: Scale) -> float:
    return math.tanh(value) if scale == "correlation" else -math.expm1(-value)
