"""Draws forest plots: differences with their intervals, around a line at zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mmeval.report.charts.bars import ChartAxis
from mmeval.report.charts.scale import scale_for, shown
from mmeval.report.charts.svg import Drawing, fitted

WIDTH, NARROW = 640.0, 320.0
TITLE, ROW, BOTTOM = 24.0, 22.0, 26.0
"""The heights of a title, of a row below it, and of the axis."""
WORDS, VALUES = 250.0, 70.0
"""The widths of the words at the left and of the differences at the right."""
WORDS_CHARS, NARROW_CHARS = 32, 40

Tone = Literal["better", "worse", "unsure"]


@dataclass(frozen=True)
class ForestRow:
    """A difference with its interval, and its verdict in words. Without a difference,
    only the words are drawn."""

    words: str
    tone: Tone
    difference: float | None = None
    interval: tuple[float, float] | None = None


def forest(
    title: str,
    groups: Sequence[tuple[str, Sequence[ForestRow]]],
    *,
    limits: Sequence[float] = (),
    narrow: bool = False,
) -> Drawing:
    """Draw the rows of each group below its title. ``limits`` are drawn as dashed
    lines: the margin of a gate. ``narrow`` draws for the width of a phone, with the
    words of a row above it."""
    ends = list(limits)
    for _, rows in groups:
        for row in rows:
            if row.difference is not None:
                ends.append(row.difference)
            ends += row.interval or ()
    row_height = 2 * ROW if narrow else ROW
    count = sum(len(rows) for _, rows in groups)
    bottom = TITLE * len(groups) + row_height * count + 6
    drawing = Drawing(NARROW if narrow else WIDTH, bottom + BOTTOM, title)
    left = 12.0 if narrow else WORDS
    axis = ChartAxis(scale_for(ends, None), left, drawing.width - VALUES)
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
            zero = axis.position(0.0)
            drawing.line("zero", zero, middle - ROW / 2, zero, middle + ROW / 2)
            if row.difference is not None:
                _difference(drawing, row, axis, row.difference, middle)
            y += row_height
    return drawing


def _difference(
    drawing: Drawing,
    row: ForestRow,
    axis: ChartAxis,
    difference: float,
    y: float,
) -> None:
    if row.interval is not None:
        low, high = map(axis.position, row.interval)
        drawing.line(f"reach {row.tone}", low, y, high, y)
        for x in (low, high):
            drawing.line(f"reach {row.tone}", x, y - 4, x, y + 4)
    x = axis.position(difference)
    drawing.add("circle", f"point {row.tone}", cx=x, cy=y, r=5)
    sign = "+" if difference >= 0 else ""
    drawing.text("value", f"{sign}{shown(difference)}", drawing.width - 4, y + 4, "end")
