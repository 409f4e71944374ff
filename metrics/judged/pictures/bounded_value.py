"""Values of questions about an answer, with bounds where a verdict is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.records import CAUSES, Cause, Score


@dataclass(frozen=True)
class BoundedValue:
    """A value between ``low`` and ``high``, which is known if the two are equal.

    All are from 0 to 1.

    ``reason`` says why the value is unknown. ``cause`` shows if another attempt can
    help.
    """

    low: float
    high: float
    reason: str = ""
    cause: Cause = "final"

    @property
    def is_known(self) -> bool:
        return self.low == self.high

    def scored(self, evidence: Mapping[str, Any]) -> Score:
        """Returns the value as a score.

        The score is unscored, with bounds, if the value is unknown.
        """
        if self.is_known:
            return Score(self.low, evidence=evidence)
        return Score(
            status="unscored",
            reason=self.reason,
            evidence=evidence,
            bounds=(self.low, self.high),
            cause=self.cause,
        )


def known_value(value: float) -> BoundedValue:
    return BoundedValue(float(value), float(value))


def unknown_value(reason: str, cause: Cause) -> BoundedValue:
    """Returns a value that can be anything from 0 to 1."""
    return BoundedValue(0.0, 1.0, reason, cause)


def product(factors: Sequence[BoundedValue]) -> BoundedValue:
    """Returns the product of the values, which is 1 if there are none.

    The product is known if a factor is known to be 0.
    """
    low = math.prod(factor.low for factor in factors)
    high = math.prod(factor.high for factor in factors)
    return _combined(low, high, factors)


def mean(parts: Sequence[BoundedValue]) -> BoundedValue:
    """Returns the mean of the parts, or 1 without parts, as nothing is missing then."""
    if not parts:
        return known_value(1.0)
    low = sum(part.low for part in parts) / len(parts)
    high = sum(part.high for part in parts) / len(parts)
    return _combined(low, high, parts)


def weighted_sum(
    parts: Sequence[BoundedValue], weights: Sequence[float]
) -> BoundedValue:
    """Returns the weighted sum of the parts.

    Weights are at least 0 and add up to 1. An unknown part of weight 0 has no effect.
    """
    pairs = list(zip(parts, weights, strict=True))
    low = sum(part.low * weight for part, weight in pairs)
    high = sum(part.high * weight for part, weight in pairs)
    return _combined(min(1.0, low), min(1.0, high), parts)


def _combined(
    low: float,
    high: float,
    parts: Sequence[BoundedValue],
) -> BoundedValue:
    unknowns = [part for part in parts if not part.is_known]
    if low == high or not unknowns:
        return BoundedValue(low, high)
    # CAUSES begins with the cause where another attempt can help most.
    cause = min((part.cause for part in unknowns), key=CAUSES.index)
    return BoundedValue(low, high, unknowns[0].reason, cause)
