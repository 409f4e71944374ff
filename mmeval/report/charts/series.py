"""Styles the series of a chart, one for each run or model, and draws their legend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mmeval.report.charts.svg import COLOURS, Drawing, fitted, text_width

MOST_SERIES = 2 * len(COLOURS)
"""The largest number of series that look different."""
ITEM_HEIGHT = 18.0
_SWATCH = 10.0
_LEFT = 8.0


@dataclass(frozen=True)
class ChartSeries:
    """A run or model of a chart. ``is_dashed`` is True for published numbers."""

    name: str
    is_dashed: bool = False


def style_of(number: int, series: ChartSeries) -> str:
    """Returns the classes of the shapes of a series. The series after the last colour
    use the same colours again, but their shapes are hollow."""
    classes = [f"series-{number % len(COLOURS)}"]
    if (number // len(COLOURS)) % 2 == 1:
        classes.append("hollow")
    if series.is_dashed:
        classes.append("dashed")
    return " ".join(classes)


class Legend:
    """The names of the series with their colours, wrapped into lines.

    ``items`` contains the number of each series and the series. ``chars`` is the
    largest number of characters of a name.
    """

    def __init__(
        self, items: Iterable[tuple[int, ChartSeries]], width: float, chars: int
    ) -> None:
        self.height = 0.0
        self._items: list[tuple[float, float, str, str]] = []
        x, y = _LEFT, 0.0
        for number, series in items:
            name = fitted(series.name, chars)
            item_width = 30 + text_width(name)
            if x + item_width > width and x > _LEFT:
                x, y = _LEFT, y + ITEM_HEIGHT
            self._items.append((x, y, style_of(number, series), name))
            self.height = y + ITEM_HEIGHT
            x += item_width

    def draw(self, drawing: Drawing, top: float) -> None:
        """Draws the legend below ``top``."""
        for x, y, style, name in self._items:
            drawing.add(
                "rect",
                f"bar {style}",
                x=x,
                y=top + y,
                width=_SWATCH,
                height=_SWATCH,
            )
            drawing.text("label", name, x + 15, top + y + 9)
