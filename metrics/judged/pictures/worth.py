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
        bounds = (self.low, self.high)
        return Score(
            status="unscored",
            reason=self.reason,
            evidence=evidence,
            bounds=bounds,
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
    return _of_both(
        math.prod(one.low for one in factors),
        math.prod(one.high for one in factors),
        factors,
    )


def mean(parts: Sequence[Worth]) -> Worth:
    """The mean; 1 without parts, since then nothing is missing."""
    if not parts:
        return worth(1.0)
    count = len(parts)
    return _of_both(
        sum(one.low for one in parts) / count,
        sum(one.high for one in parts) / count,
        parts,
    )


def weighted(parts: Sequence[Worth], weights: Sequence[float]) -> Worth:
    """The sum by weights (at least 0, 1 in all); an unknown of weight 0 has no
    effect."""
    low = sum(one.low * weight for one, weight in zip(parts, weights, strict=True))
    high = sum(one.high * weight for one, weight in zip(parts, weights, strict=True))
    return _of_both(min(1.0, low), min(1.0, high), parts)


def _of_both(low: float, high: float, of: Sequence[Worth]) -> Worth:
    lacking = [one for one in of if not one.known]
    if low == high or not lacking:
        return Worth(low, high)
    return Worth(
        low,
        high,
        lacking[0].reason,
        min((one.cause for one in lacking), key=CAUSES.index),
    )
