"""Lines over ordered points, one for each series."""

import re
from xml.etree import ElementTree

import pytest

from mmeval.report.charts.bars import ChartBar
from mmeval.report.charts.lines import HEIGHT, lines
from mmeval.report.charts.series import ChartSeries

NAME = "{http://www.w3.org/2000/svg}"


def drawn(*values: float | None, dashed: bool = False) -> ElementTree.Element:
    """A drawing of one series over the points a, b, c, and so on."""
    groups = []
    for letter, value in zip("abcdef", values, strict=False):
        interval = None if value is None else (value - 0.1, value + 0.1)
        groups.append((letter, [ChartBar(value, interval)]))
    series = [ChartSeries("one", dashed)]
    drawing = lines("t", groups, series=series, spread=(0, 1))
    return ElementTree.fromstring(drawing.markup())


def corners(tree: ElementTree.Element) -> list[tuple[float, float]]:
    path = tree.find(f"{NAME}path")
    assert path is not None
    pairs = re.findall(r"([\d.]+) ([\d.]+)", path.attrib["d"])
    return [(float(x), float(y)) for x, y in pairs]


def test_a_point_is_as_high_as_its_value() -> None:
    (_, low), (_, half), (_, high) = corners(drawn(0.0, 0.5, 1.0))
    assert (low - high, half - high) == (HEIGHT, HEIGHT / 2)


def test_points_stand_at_the_same_distance() -> None:
    (first, _), (second, _), (third, _) = corners(drawn(0.0, 0.5, 1.0))
    assert second - first == pytest.approx(third - second, abs=0.02)


def test_a_missing_value_leaves_a_gap() -> None:
    tree = drawn(0.5, 0.5, None, 0.5)
    path = tree.find(f"{NAME}path")
    assert path is not None
    assert re.sub(r"[^ML]", "", path.attrib["d"]) == "MLM"


def test_an_interval_is_a_line_with_two_ends() -> None:
    classes = [line.attrib["class"] for line in drawn(0.5).iter(f"{NAME}line")]
    assert classes.count("line series-0 interval") == 3


def test_a_published_line_is_dashed() -> None:
    path = drawn(0.5, 0.6, dashed=True).find(f"{NAME}path")
    assert path is not None
    assert "dashed" in path.attrib["class"]


def test_a_series_without_values_is_not_in_the_legend() -> None:
    groups = [("a", [ChartBar(0.5, None, 0), ChartBar(None, None, 1)])]
    series = [ChartSeries("one"), ChartSeries("two")]
    assert "two" not in lines("t", groups, series=series).markup()
