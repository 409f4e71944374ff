"""The combined value of questions about an answer, some without a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.records import CAUSES, Cause, Score


@dataclass(frozen=True)
class Worth:
    """A value from 0 to 1, between ``low`` and ``high``, which are equal where known.
    ``reason`` says why it is unknown, ``cause`` whether asking again can help."""

    low: float
    high: float
    reason: str = ""
    cause: Cause = "final"

    @property
    def known(self) -> bool:
        return self.low == self.high

    def scored(self, evidence: Mapping[str, Any]) -> Score:
        """The value as a score; unscored with bounds where it is not known."""
        if self.known:
            return Score(self.low, evidence=evidence)
        return Score(
            status="unscored",
            reason=self.reason,
            evidence=evidence,
            bounds=(self.low, self.high),
            cause=self.cause,
        )


def worth(value: float) -> Worth:
    """A value that is known."""
    return Worth(float(value), float(value))


def unknown(reason: str, cause: Cause) -> Worth:
    """A value of which nothing is known."""
    return Worth(0.0, 1.0, reason, cause)


def product(factors: Sequence[Worth]) -> Worth:
    """The product: 0 if a factor is known to be 0, even with unknowns; 1 without
    any."""
    low = math.prod(factor.low for factor in factors)
    high = math.prod(factor.high for factor in factors)
    return _of_both(low, high, factors)


def mean(parts: Sequence[Worth]) -> Worth:
    """The mean; 1 without parts, since then nothing is missing."""
    if not parts:
        return worth(1.0)
    low = sum(part.low for part in parts) / len(parts)
    high = sum(part.high for part in parts) / len(parts)
    return _of_both(low, high, parts)


def weighted(parts: Sequence[Worth], weights: Sequence[float]) -> Worth:
    """The sum by weights (at least 0, 1 in all); an unknown of weight 0 has no
    effect."""
    pairs = list(zip(parts, weights, strict=True))
    low = sum(part.low * weight for part, weight in pairs)
    high = sum(part.high * weight for part, weight in pairs)
    return _of_both(min(1.0, low), min(1.0, high), parts)


def _of_both(
    low: float,
    high: float,
    of: Sequence[Worth],
) -> Worth:
    unknowns = [part for part in of if not part.known]
    if low == high or not unknowns:
        return Worth(low, high)
    cause = min((part.cause for part in unknowns), key=CAUSES.index)
    return Worth(low, high, unknowns[0].reason, cause)
