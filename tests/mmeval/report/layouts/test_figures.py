"""Figures of several models: polygons, bars, lines and marks from layout files."""

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mmeval.report.charts import png, standalone
from mmeval.report.charts.radar import MIDDLE, RADIUS, WIDTH
from mmeval.report.charts.series import MOST_SERIES
from mmeval.report.layouts.cells import CellValue, RunNumbers
from mmeval.report.layouts.figures import DrawnFigures, figures_of
from mmeval.report.layouts.tables import MissingRun, ModelRow
from mmeval.results.published import NumberKey
from mmeval.results.stored_run import StoredRun
from mmeval.task.layout_file import layout_file
from tests.support.layouts import layout_of, model
from tests.support.stored_runs import document, result

UNIM = {
    *(
        f"{number}-{panel}"
        for number in "79"
        for panel in ("SQCS", "ICS", "StS", "LeS")
    ),
    *(f"{number}{field}-x" for number in range(47, 51) for field in "abc"),
}
NAME = "{http://www.w3.org/2000/svg}"
LAYOUT = """
layout: own
title: Own
axes: {rows: models, columns: tasks}
number: m
scale: 100
keys:
  tasks:
    - {header: A, task: a}
    - {header: B, task: b}
    - {header: C, task: c}
    - {header: D, task: d}
    - {header: Avg, mean: all}
  metrics: [{header: First, number: m}, {header: Second, number: n}]
tables: [{name: "1"}]
figures: [{name: "7", chart: CHART, points: tasks, range: [0, 1]}]
"""
WHOLE = {"a": 1.0, "b": 0.5, "c": 0.25, "d": 0.0}


class _Run(StoredRun):
    """A run that is only a results file."""

    def __init__(self, *results: dict[str, Any]) -> None:
        self.results = document(*results)


def run(name: str, **values: float) -> ModelRow:
    """A run with a number of each task, an interval of .2 around it, and 20 samples."""
    rows = []
    for task, value in values.items():
        ends = [value - 0.1, value + 0.1]
        rows.append(result(task, value=value, ci95=ends, n=20, scored=20))
    own = _Run(*rows)
    return ModelRow(name, RunNumbers(own), run=own)


def drawn(folder: Path, chart: str, *models: ModelRow, more: str = "") -> DrawnFigures:
    text = LAYOUT.replace("CHART", chart).replace("range:", f"{more}range:")
    return figures_of(layout_of(folder, text), models, sort="given")


def tree_of(
    folder: Path, chart: str, *models: ModelRow, more: str = ""
) -> ElementTree.Element:
    """The only figure of a layout, parsed as XML."""
    (figure,) = drawn(folder, chart, *models, more=more).figures
    return ElementTree.fromstring(standalone(figure.drawing))


def texts(tree: ElementTree.Element) -> list[str]:
    return [item.text or "" for item in tree.iter(f"{NAME}text")]


def outlines(tree: ElementTree.Element) -> list[ElementTree.Element]:
    paths = tree.iter(f"{NAME}path")
    return [path for path in paths if path.attrib["class"].startswith("line")]


def corners(path: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.attrib["d"])
    return [(float(x), float(y)) for x, y in pairs]


def commands(path: ElementTree.Element) -> str:
    return re.sub(r"[^MLZ]", "", path.attrib["d"])


def test_the_corners_of_a_polygon_are_at_their_values(tmp_path: Path) -> None:
    (path,) = outlines(tree_of(tmp_path, "radar", model("x", WHOLE)))
    distances = []
    for x, y in corners(path):
        distances.append(math.hypot(x - WIDTH / 2, y - MIDDLE) / RADIUS)
    assert distances == pytest.approx([1.0, 0.5, 0.25, 0.0], abs=0.001)


def test_the_first_corner_is_at_the_top_and_the_second_right(tmp_path: Path) -> None:
    (path,) = outlines(tree_of(tmp_path, "radar", model("x", WHOLE)))
    first, second, *_ = corners(path)
    assert first == (WIDTH / 2, MIDDLE - RADIUS)
    assert second == (WIDTH / 2 + RADIUS / 2, MIDDLE)


@pytest.mark.parametrize("state", ["lost", "cannot"])
def test_a_missing_value_is_a_gap_in_a_polygon(tmp_path: Path, state: str) -> None:
    numbers: dict[str, Any] = {**WHOLE, "b": state}
    (path,) = outlines(tree_of(tmp_path, "radar", model("x", numbers)))
    assert commands(path) == "MLL"


def test_a_mean_has_no_corner(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, "radar", model("x", WHOLE))
    assert "Avg" not in texts(tree)


def test_a_mean_has_a_bar(tmp_path: Path) -> None:
    assert "Avg" in texts(tree_of(tmp_path, "bars", model("x", WHOLE)))


def test_a_missing_value_is_a_gap_in_a_line(tmp_path: Path) -> None:
    numbers: dict[str, Any] = {**WHOLE, "b": "lost"}
    (path,) = outlines(tree_of(tmp_path, "lines", model("x", numbers)))
    assert commands(path) == "MML"


def test_a_missing_value_has_no_bar_but_its_state(tmp_path: Path) -> None:
    numbers: dict[str, Any] = {"a": 1.0, "b": "lost", "c": "cannot", "d": 1.0}
    tree = tree_of(tmp_path, "bars", model("x", numbers))
    bars = [rect for rect in tree.iter(f"{NAME}rect") if "height" in rect.attrib]
    assert len([rect for rect in bars if rect.attrib["height"] == "14"]) == 2
    # the mean of a lost value is lost
    assert (texts(tree).count("N/A"), texts(tree).count("-")) == (2, 1)


@pytest.mark.parametrize(
    ("chart", "style"),
    [("bars", "whisker"), ("lines", "interval"), ("forest", "reach")],
)
def test_the_interval_of_a_run_is_drawn(tmp_path: Path, chart: str, style: str) -> None:
    tree = tree_of(tmp_path, chart, run("x", a=0.5))
    lines = [line.attrib["class"].split() for line in tree.iter(f"{NAME}line")]
    assert len([classes for classes in lines if style in classes]) == 3


def test_a_forest_states_the_value_and_the_samples(tmp_path: Path) -> None:
    assert "50, n 20" in texts(tree_of(tmp_path, "forest", run("x", a=0.5)))


@pytest.mark.parametrize(
    ("chart", "shape"),
    [("radar", "path"), ("lines", "path"), ("bars", "rect"), ("forest", "circle")],
)
def test_published_numbers_are_dashed_with_a_dagger(
    tmp_path: Path, chart: str, shape: str
) -> None:
    ours, theirs = run("ours", **WHOLE), model("theirs", WHOLE)
    tree = tree_of(tmp_path, chart, ours, theirs)
    dashed = [item for item in tree.iter() if "dashed" in item.get("class", "").split()]
    assert f"{NAME}{shape}" in [item.tag for item in dashed]
    assert {"ours", "theirs†", "† published: paper.csv"} <= set(texts(tree))


@pytest.mark.parametrize("chart", ["radar", "bars", "lines", "forest"])
def test_twelve_of_thirteen_models_are_drawn_with_a_note(
    tmp_path: Path, chart: str
) -> None:
    models = [model(f"model {number}", WHOLE) for number in range(13)]
    tree = tree_of(tmp_path, chart, *models)
    names = {text for text in texts(tree) if text.startswith("model")}
    assert names == {f"model {number}†" for number in range(MOST_SERIES)}
    assert "The first 12 of 13 models." in texts(tree)


@pytest.mark.parametrize("chart", ["radar", "bars", "lines", "forest"])
def test_a_hostile_name_is_text(tmp_path: Path, chart: str) -> None:
    models = [model("<script>alert(1)</script>", WHOLE), model("b\x00\u202e&", WHOLE)]
    tree = tree_of(tmp_path, chart, *models)
    assert f"{NAME}script" not in {item.tag for item in tree.iter()}
    assert "<script>alert(1)</script>†" in texts(tree)


def test_models_of_the_same_name_have_lines_of_their_own(tmp_path: Path) -> None:
    models = [model("x", WHOLE), model("x", {**WHOLE, "a": 0.5})]
    tree = tree_of(tmp_path, "lines", *models)
    first, second = outlines(tree)
    assert corners(first)[0] != corners(second)[0]
    assert {"x†", "x (2)†"} <= set(texts(tree))


def test_a_value_beyond_the_range_widens_the_axis(tmp_path: Path) -> None:
    (path,) = outlines(tree_of(tmp_path, "lines", model("x", {**WHOLE, "a": 2.0})))
    first, second, *_ = corners(path)
    assert first[1] < second[1]


def test_each_panel_is_a_drawing(tmp_path: Path) -> None:
    both = {**WHOLE, **{f"{task}|n": 0.5 for task in WHOLE}}
    more = "panels: metrics, "
    panels = drawn(tmp_path, "radar", model("x", both), more=more).figures
    assert [panel.name for panel in panels] == ["own-7-First", "own-7-Second"]


def test_a_model_has_the_same_colour_in_each_panel(tmp_path: Path) -> None:
    first = model("first", WHOLE)
    second = model("second", {f"{task}|n": 0.5 for task in WHOLE})
    more = "panels: metrics, "
    panels = drawn(tmp_path, "radar", first, second, more=more).figures
    styles = []
    for panel in panels:
        (path,) = outlines(ElementTree.fromstring(standalone(panel.drawing)))
        styles.append(path.attrib["class"])
    assert styles == ["line series-0 dashed", "line series-1 dashed"]


SERIES = "series: metrics, panels: models, "


def test_the_series_may_be_a_list_with_models_as_panels(tmp_path: Path) -> None:
    models = [model("x", {**WHOLE, "a|n": 0.5}), model("y", WHOLE)]
    panels = drawn(tmp_path, "bars", *models, more=SERIES).figures
    assert [panel.name for panel in panels] == ["own-7-x", "own-7-y"]
    first = ElementTree.fromstring(standalone(panels[0].drawing))
    assert {"First", "Second"} <= set(texts(first))


def test_a_published_model_is_dashed_in_its_own_panel(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, "radar", model("x", WHOLE), more=SERIES)
    assert "dashed" in outlines(tree)[0].attrib["class"]
    assert texts(tree)[0] == "Own, figure 7 (%): x†"


def test_a_figure_without_numbers_is_left_out(tmp_path: Path) -> None:
    figures = drawn(tmp_path, "radar", model("x", {"e": 1.0}))
    assert (list(figures.figures), list(figures.left_out)) == ([], ["7"])


@pytest.mark.parametrize("state", ["lost", "cannot"])
def test_a_panel_without_numbers_is_left_out(tmp_path: Path, state: str) -> None:
    numbers: dict[str, Any] = {"a": 1.0, "a|n": state}
    figures = drawn(tmp_path, "bars", model("x", numbers), more="panels: metrics, ")
    assert list(figures.left_out) == ["7 Second"]


def test_a_model_without_numbers_is_left_out_of_the_panels(tmp_path: Path) -> None:
    models = [model("x", {**WHOLE, "a|n": 1.0}), model("y", {"a": "lost"})]
    assert list(drawn(tmp_path, "bars", *models, more=SERIES).left_out) == ["7 y"]


def test_a_run_without_a_number_of_the_figure_is_incomplete(tmp_path: Path) -> None:
    figures = drawn(tmp_path, "radar", run("x", **WHOLE), run("y", e=1.0))
    assert list(figures.incomplete) == [MissingRun("y", "7")]


def test_a_figure_has_its_title(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, "radar", model("x", WHOLE), more="title: tasks, ")
    assert texts(tree)[0] == "Own, figure 7: tasks (%)"


def test_a_figure_becomes_a_png(tmp_path: Path) -> None:
    (one,) = drawn(tmp_path, "lines", model("x", WHOLE)).figures
    (other,) = drawn(tmp_path, "lines", model("x", {**WHOLE, "a": 0.5})).figures
    assert png(one.drawing) != png(other.drawing)


class _Everything:
    """A model that has each number."""

    def of(self, key: NumberKey) -> CellValue:
        return CellValue("known", 0.5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("isg", {"7-Structural", "7-Block", "7-Image", "7-Holistic"}),
        ("mme_unify", {"scores", "4-Action", "4-Location", "4-Image"}),
        ("mmmg", {"2"}),
        ("ueval", {"6", "sides"}),
        ("unim", UNIM),
    ],
)
def test_the_layouts_of_the_papers_have_figures(name: str, expected: set[str]) -> None:
    layout = layout_file(name)
    assert layout is not None
    models = [ModelRow("x", _Everything(), source="paper.csv")]
    figures = figures_of(layout, models, sort="given").figures
    assert {figure.name for figure in figures} == {f"{name}-{own}" for own in expected}
