"""Draws bar charts: a bar for each number, with its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mmeval.report.charts.scale import AxisScale, scale_for, shown
from mmeval.report.charts.series import ChartSeries, Legend, style_of
from mmeval.report.charts.svg import Drawing, fitted, text_width

LABEL_CHARS = 32
WIDTH, BAR, GAP, GROUP_GAP, TOP, BOTTOM = 640.0, 14.0, 3.0, 8.0, 8.0, 24.0
NARROW, NARROW_CHARS, LABEL = 320.0, 40, 18.0
"""The width of a drawing for a narrow screen, the number of characters of its labels,
and the height of the labels above the bars."""
VALUES = 64.0
"""The width of the column of values at the right. Bars and intervals end before this
column."""


@dataclass(frozen=True)
class ChartBar:
    """A value with its interval and the number of its series. If the value is None,
    ``absent`` states the reason."""

    value: float | None
    interval: tuple[float, float] | None = None
    series: int = 0
    absent: str = ""


def bars(
    title: str,
    groups: Sequence[tuple[str, Sequence[ChartBar]]],
    *,
    series: Sequence[ChartSeries] = (),
    spread: Sequence[float] | None = None,
    narrow: bool = False,
) -> Drawing:
    """Draw horizontal bars in labelled groups. ``series`` names the series of the
    bars; one alone has no legend. ``spread`` is the known range of the values.
    ``narrow`` draws them for the width of a phone, with the labels above the bars."""
    width = NARROW if narrow else WIDTH
    chars = NARROW_CHARS if narrow else LABEL_CHARS
    above = LABEL if narrow else 0.0
    labels = [fitted(label, chars) for label, _ in groups]
    longest = 0.0 if narrow else max(map(text_width, labels), default=0.0)
    ends: list[float] = []
    used: set[int] = set()
    heights = []
    for _, group in groups:
        heights.append(above + len(group) * (BAR + GAP) + GROUP_GAP)
        for bar in group:
            used.add(bar.series)
            if bar.value is not None:
                ends.append(bar.value)
            ends += bar.interval or ()

    # the names of the series above the bars
    named = []
    if len(series) > 1:
        named = [item for item in enumerate(series) if item[0] in used]
    legend = Legend(named, width, LABEL_CHARS)
    top = TOP + legend.height + 6 if named else TOP

    drawing = Drawing(width, top + sum(heights) + BOTTOM, title)
    axis = ChartAxis(scale_for(ends, spread), 12 + longest, width - VALUES)
    legend.draw(drawing, TOP)
    axis.draw(drawing, top, top + sum(heights))
    for label, (_, group), height in zip(labels, groups, heights, strict=True):
        first = top + GROUP_GAP / 2
        if narrow:
            drawing.text("label", label, 4, first + 13)
        else:
            middle = first + (height - GROUP_GAP) / 2
            drawing.text("label", label, axis.left - 6, middle + 4, "end")
        for number, bar in enumerate(group):
            own = series[bar.series] if series else ChartSeries("")
            style = style_of(bar.series, own)
            _bar(drawing, bar, style, axis, first + above + number * (BAR + GAP))
        top += height
    return drawing


@dataclass(frozen=True)
class ChartAxis:
    """A scale between two x positions of a drawing."""

    scale: AxisScale
    left: float
    right: float

    def position(self, value: float) -> float:
        """Returns the x position of a value."""
        return self.left + self.scale.share(value) * (self.right - self.left)

    def draw(
        self,
        drawing: Drawing,
        top: float,
        bottom: float,
    ) -> None:
        """Draws the marks from ``top`` to ``bottom``, with their values below them."""
        for tick in self.scale.ticks:
            x = self.position(tick)
            drawing.line("grid", x, top, x, bottom)
            drawing.text("axis", shown(tick), x, bottom + 15, "middle")


def _bar(
    drawing: Drawing,
    bar: ChartBar,
    style: str,
    axis: ChartAxis,
    top: float,
) -> None:
    middle = top + BAR / 2
    if bar.value is None:
        drawing.text("value", bar.absent, axis.left + 4, middle + 4)
        return
    zero, end = axis.position(0.0), axis.position(bar.value)
    left, length = min(zero, end), max(1.0, abs(end - zero))
    drawing.add("rect", f"bar {style}", x=left, y=top, width=length, height=BAR)
    if bar.interval is not None:
        low, high = map(axis.position, bar.interval)
        drawing.line("whisker", low, middle, high, middle)
        for x in (low, high):
            drawing.line("whisker", x, middle - 3, x, middle + 3)
    drawing.text("value", shown(bar.value), drawing.width - 4, middle + 4, "end")
