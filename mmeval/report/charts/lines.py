"""Draws line charts: a line for each series over ordered points, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

from mmeval.report.charts.bars import ChartBar
from mmeval.report.charts.scale import AxisScale, scale_for, shown
from mmeval.report.charts.series import ChartSeries, Legend, style_of
from mmeval.report.charts.svg import CHAR_WIDTH, Drawing, fitted

WIDTH, HEIGHT = 640.0, 260.0
"""The width of the drawing, and the height between its ends of the scale."""
TOP, BOTTOM, LEFT, RIGHT = 14.0, 30.0, 56.0, 12.0
NAME_CHARS = 60
APART, MOST_APART = 8.0, 36.0
"""The distance between neighbouring series at a point, which keeps their intervals
apart, and the largest distance between the first and the last."""


def lines(
    title: str,
    groups: Sequence[tuple[str, Sequence[ChartBar]]],
    *,
    series: Sequence[ChartSeries],
    spread: Sequence[float] | None = None,
) -> Drawing:
    """Draw a line for each series over the labelled groups, from left to right. A
    missing value leaves a gap in the line. A series without any value is not in the
    legend. ``spread`` is the known range of the values."""
    values_by_series: list[list[ChartBar | None]] = [[] for _ in series]
    ends: list[float] = []
    for place, (_, group) in enumerate(groups):
        for of_series in values_by_series:
            of_series.append(None)
        for bar in group:
            if bar.value is not None:
                values_by_series[bar.series][place] = bar
                ends += [bar.value, *(bar.interval or ())]
    named = []
    for number, own in enumerate(series):
        if any(values_by_series[number]):
            named.append((number, own))
    legend = Legend(named, WIDTH, NAME_CHARS)
    top = TOP + legend.height

    drawing = Drawing(WIDTH, top + HEIGHT + BOTTOM, title)
    legend.draw(drawing, TOP / 2)
    plot = _Plot(drawing, scale_for(ends, spread), top, len(groups))
    plot.draw_axes([label for label, _ in groups])
    apart = min(APART, MOST_APART / max(1, len(series) - 1))
    for number, own in named:
        shift = apart * (number - (len(series) - 1) / 2)
        plot.draw_line(values_by_series[number], style_of(number, own), shift)
    return drawing


class _Plot:
    """The area of the lines, with a place for each point."""

    def __init__(
        self,
        drawing: Drawing,
        scale: AxisScale,
        top: float,
        count: int,
    ) -> None:
        self._drawing = drawing
        self._scale = scale
        self._top = top
        self._step = (WIDTH - LEFT - RIGHT) / max(1, count)

    def draw_axes(self, labels: Sequence[str]) -> None:
        for tick in self._scale.ticks:
            y = self._y(tick)
            self._drawing.line("grid", LEFT, y, WIDTH - RIGHT, y)
            self._drawing.text("axis", shown(tick), LEFT - 6, y + 4, "end")
        chars = max(3, int(self._step / CHAR_WIDTH) - 1)
        below = self._top + HEIGHT + 20
        for place, label in enumerate(labels):
            text = fitted(label, chars)
            self._drawing.text("label", text, self._x(place), below, "middle")

    def draw_line(
        self, values: Sequence[ChartBar | None], style: str, shift: float
    ) -> None:
        """Draws the line, its points and their intervals, shifted to the right."""
        path = ""
        command = "M"
        points = []
        for place, bar in enumerate(values):
            if bar is None or bar.value is None:
                command = "M"
                continue
            x, y = self._x(place) + shift, self._y(bar.value)
            path += f"{command}{x:.2f} {y:.2f}"
            command = "L"
            points.append((x, y))
            if bar.interval is not None:
                self._draw_interval(bar.interval, style, x)
        self._drawing.add("path", f"line {style}", d=path, fill="none")
        for x, y in points:
            self._drawing.add("circle", f"bar {style}", cx=x, cy=y, r=3.5)

    def _draw_interval(
        self,
        interval: tuple[float, float],
        style: str,
        x: float,
    ) -> None:
        low, high = map(self._y, interval)
        self._drawing.line(f"line {style} interval", x, low, x, high)
        for y in (low, high):
            self._drawing.line(f"line {style} interval", x - 3, y, x + 3, y)

    def _x(self, place: int) -> float:
        return LEFT + self._step * (place + 0.5)

    def _y(self, value: float) -> float:
        return self._top + HEIGHT * (1 - self._scale.share(value))
