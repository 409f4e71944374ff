"""Scales: which values an axis shows, and where its marks stand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``, with marks at ``ticks``."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """The place of a value, from 0 at the low end to 1 at the high one, clipped."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def scale_for(values: Iterable[float], spread: Sequence[float] | None) -> Scale:
    """A metric's whole range if known, else zero to round numbers around the values."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (
        (min([0.0, *finite]), max([0.0, *finite]))
        if spread is None
        else (spread[0], spread[1])
    )
    if not high > low:
        high = low + 1.0
    step = _round_step((high - low) / 4)
    if spread is None:
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    first = math.ceil(low / step - 1e-9)
    ticks = tuple(
        step * number
        for number in range(first, first + 12)
        if step * number <= high + step * 1e-9
    )
    return Scale(low, high, ticks)


def _round_step(step: float) -> float:
    size = 10.0 ** math.floor(math.log10(step))
    return next(
        size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= step * 0.999
    )


def shown(value: float) -> str:
    """A value on an axis or beside a bar."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
