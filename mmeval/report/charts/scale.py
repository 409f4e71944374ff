"""Chooses the range and the tick marks of an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class AxisScale:
    """An axis from ``low`` to ``high``, with marks at ``ticks``."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Returns the position of a value, from 0 (low end) to 1 (high end),
        clipped."""
        share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share))


def scale_for(values: Iterable[float], spread: Sequence[float] | None) -> AxisScale:
    """Returns a scale that covers the metric's range if the range is known, or else a
    scale that covers zero and the values and ends at round numbers."""
    if spread is None:
        finite = [0.0, *filter(math.isfinite, values)]
        low, high = min(finite), max(finite)
    else:
        low, high = spread
    if not high > low:
        high = low + 1.0

    quarter = (high - low) / 4
    size = 10.0 ** math.floor(math.log10(quarter))
    step = size * 10
    for factor in (5, 2.5, 2, 1):
        if size * factor >= quarter * 0.999:
            step = size * factor
    if spread is None:
        low = math.floor(low / step) * step
        high = math.ceil(high / step) * step
    ticks = []
    for number in range(12):
        tick = step * (math.ceil(low / step - 1e-9) + number)
        if tick <= high + step * 1e-9:
            ticks.append(tick)
    return AxisScale(low, high, tuple(ticks))


def shown(value: float) -> str:
    """Formats a value for an axis or for the end of a bar."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
