"""Draws forest plots: values with their intervals below each other. Differences stand
around a line at zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mmeval.report.charts.bars import ChartAxis
from mmeval.report.charts.scale import scale_for, shown
from mmeval.report.charts.svg import Drawing, fitted, text_width

WIDTH, NARROW = 640.0, 320.0
TITLE, ROW, BOTTOM = 24.0, 22.0, 26.0
"""The heights of a title, of a row below it, and of the axis."""
WORDS, VALUES = 250.0, 70.0
"""The width of the words at the left, and the smallest of the values at the right."""
WORDS_CHARS, NARROW_CHARS = 32, 40

Tone = Literal["better", "worse", "unsure"]


@dataclass(frozen=True)
class ForestRow:
    """A value with its interval, and its name or verdict in words.

    ``shown`` is the text of the value; without it, the value is a difference and has a
    sign. Without a value, only the words and the text are drawn. ``is_dashed`` is True
    for a published number.
    """

    words: str
    tone: Tone
    value: float | None = None
    interval: tuple[float, float] | None = None
    shown: str = ""
    is_dashed: bool = False

    @property
    def text(self) -> str:
        if self.shown or self.value is None:
            return self.shown
        sign = "+" if self.value >= 0 else ""
        return f"{sign}{shown(self.value)}"


def forest(
    title: str,
    groups: Sequence[tuple[str, Sequence[ForestRow]]],
    *,
    limits: Sequence[float] = (),
    spread: Sequence[float] | None = None,
    has_zero: bool = True,
    narrow: bool = False,
) -> Drawing:
    """Draw the rows of each group below its title. ``limits`` are drawn as dashed
    lines: the margin of a gate. ``spread`` is the known range of the values.
    ``has_zero`` draws the line at zero, for differences. ``narrow`` draws for the width
    of a phone, with the words of a row above it."""
    ends = list(limits)
    values_width = VALUES
    for _, rows in groups:
        for row in rows:
            if row.value is not None:
                ends.append(row.value)
            ends += row.interval or ()
            values_width = max(values_width, text_width(row.text) + 12)
    row_height = 2 * ROW if narrow else ROW
    count = sum(len(rows) for _, rows in groups)
    bottom = TITLE * len(groups) + row_height * count + 6
    drawing = Drawing(NARROW if narrow else WIDTH, bottom + BOTTOM, title)
    left = 12.0 if narrow else WORDS
    axis = ChartAxis(scale_for(ends, spread), left, drawing.width - values_width)
    axis.draw(drawing, bottom - 4, bottom)

    y = 0.0
    for name, rows in groups:
        drawing.text("label", fitted(name, NARROW_CHARS if narrow else 80), 4, y + 17)
        y += TITLE
        for row in rows:
            drawing.text("axis", fitted(row.words, WORDS_CHARS), 16, y + 15)
            middle = y + row_height - ROW / 2
            # the lines are interrupted, so that none crosses a title
            for limit in limits:
                x = axis.position(limit)
                drawing.line("limit", x, middle - ROW / 2, x, middle + ROW / 2)
            if has_zero:
                zero = axis.position(0.0)
                drawing.line("zero", zero, middle - ROW / 2, zero, middle + ROW / 2)
            if row.value is not None:
                _value(drawing, row, axis, row.value, middle)
            if row.text:
                right = drawing.width - 4
                drawing.text("value", row.text, right, middle + 4, "end")
            y += row_height
    return drawing


def _value(
    drawing: Drawing,
    row: ForestRow,
    axis: ChartAxis,
    value: float,
    y: float,
) -> None:
    if row.interval is not None:
        low, high = map(axis.position, row.interval)
        drawing.line(f"reach {row.tone}", low, y, high, y)
        for x in (low, high):
            drawing.line(f"reach {row.tone}", x, y - 4, x, y + 4)
    dashed = " dashed" if row.is_dashed else ""
    drawing.add(
        "circle", f"point {row.tone}{dashed}", cx=axis.position(value), cy=y, r=5
    )
