"""The colours of series, and their legend."""

import pytest

from mmeval.report.charts.series import (
    ITEM_HEIGHT,
    MOST_SERIES,
    ChartSeries,
    Legend,
    style_of,
)
from mmeval.report.charts.svg import COLOURS


def test_twelve_series_look_different() -> None:
    assert MOST_SERIES == 12
    styles = {style_of(number, ChartSeries("a")) for number in range(MOST_SERIES)}
    assert len(styles) == MOST_SERIES


def test_a_published_series_is_dashed() -> None:
    assert "dashed" in style_of(0, ChartSeries("a", is_dashed=True)).split()


def test_the_series_after_the_last_colour_is_hollow() -> None:
    assert style_of(len(COLOURS), ChartSeries("a")) == "series-0 hollow"


@pytest.mark.parametrize(
    ("names", "lines"), [(0, 0), (2, 1), (12, 3)], ids=["none", "one line", "wrapped"]
)
def test_a_legend_is_wrapped_into_lines(names: int, lines: int) -> None:
    items = [(number, ChartSeries("a model" * 2)) for number in range(names)]
    assert Legend(items, 640, 32).height == lines * ITEM_HEIGHT
