import re
from typing import Any
from xml.etree import ElementTree

import pytest

from mmeval.report.charts import charts_of, png, standalone
from mmeval.report.charts.bars import ChartBar, bars
from mmeval.report.charts.chosen import MOST_BARS, Chart
from mmeval.report.charts.radar import radar
from mmeval.report.charts.series import ChartSeries
from mmeval.results.numbers import number_rows
from tests.support.stored_runs import document, result

HOSTILE = [
    "</svg><script>x</script>",
    "a & b",
    '" onload="x',
    "\x00\x1b\ud800\ufffe",
    "\u202egnp",
    "]]>",
    "x" * 500,
]
NAME = "{http://www.w3.org/2000/svg}"


def drawn(markup: str) -> ElementTree.Element:
    return ElementTree.fromstring(markup)


def breakdown(**values: float | None) -> dict[str, Any]:
    slices = [
        result("t", value=value, slice=f"kind={name}", ci95=[0.1, 0.9])
        for name, value in values.items()
    ]
    return document(result("t"), *slices)


def charts(
    *documents: dict[str, Any], ranges: dict[str, Any] | None = None
) -> list[Chart]:
    names = [f"run {at}" for at in range(len(documents))]
    rows = number_rows(documents, names, every_slice=True)
    return charts_of(rows, names, {"m": (0, 1)} if ranges is None else ranges)


def titles(*documents: dict[str, Any], **more: Any) -> list[str]:
    return [chart.title for chart in charts(*documents, **more)]


def test_tasks_of_one_range_share_a_chart_and_one_that_is_too_large_shows_a_part() -> (
    None
):
    found = document(
        result("a"), result("b"), result("b", "seconds"), result("a", "seconds")
    )
    assert titles(found, ranges={"m": (0, 1), "seconds": None}) == [
        "Tasks and groups",
        "Tasks and groups: seconds",
    ]
    (slices,) = titles(breakdown(**{f"s{at}": 0.5 for at in range(MOST_BARS + 15)}))
    (tasks,) = titles(document(*(result(f"t{at}") for at in range(MOST_BARS + 1))))
    assert slices.endswith("60 of 75 slices)")
    assert tasks.endswith("60 of 61 rows)")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": 0.5, "b": 0.25}, ["T: m by kind"]),
        ({"a": 0.5, "b": 0.25, "c": 1.0}, ["T: m by kind", "T: m by kind (radar)"]),
        ({"a": 0.5, "b": None, "c": None}, ["T: m by kind"]),
        ({"a": None, "b": None}, []),
        ({f"s{at}": 0.5 for at in range(MOST_BARS)}, ["T: m by kind"]),
    ],
    ids=["two slices", "three slices", "two unknown", "none known", "as many as fit"],
)
def test_a_breakdown_of_three_slices_has_a_radar(
    values: dict[str, float | None], expected: list[str]
) -> None:
    assert titles(breakdown(**values)) == expected


def test_the_words_of_a_chart_name_every_run() -> None:
    runs = [
        breakdown(a=0.5, b=0.25),
        breakdown(a=0.0, b=0.0),
        breakdown(a=None, b=None),
        breakdown(a=1.0, b=None),
    ]
    words = [one.partition(": ")[2] for one in charts(*runs)[-1].words.split("; ")]
    lowest, everywhere, none, alone = words
    assert re.findall(r"[\d.]{6} \(\w\)", lowest) == ["0.2500 (b)", "0.5000 (a)"]
    assert everywhere.startswith("0.0000 ")
    assert none == "no number"
    assert alone.startswith("only 1.0000 (a)")


def test_a_bar_is_as_long_as_its_value_bears_its_interval_and_is_not_drawn_of_an_unknown_number() -> (
    None
):
    tree = drawn(
        bars(
            "t",
            [("a", [ChartBar(0.5, (0.25, 0.75))]), ("b", [ChartBar(1.0)])],
            spread=(0, 1),
        ).markup()
    )
    half, whole = (float(bar.attrib["width"]) for bar in tree.iter(f"{NAME}rect"))
    whiskers = [
        line for line in tree.iter(f"{NAME}line") if line.attrib["class"] == "whisker"
    ]
    assert half == pytest.approx(whole / 2, abs=0.01)
    assert float(whiskers[0].attrib["x2"]) - float(
        whiskers[0].attrib["x1"]
    ) == pytest.approx(whole / 2, abs=0.02)
    unknown = drawn(bars("t", [("a", [ChartBar(None, absent="not asked")])]).markup())
    assert list(unknown.iter(f"{NAME}rect")) == []
    assert "not asked" in [item.text for item in unknown.iter(f"{NAME}text")]


@pytest.mark.parametrize("text", HOSTILE)
def test_labels_are_text_whatever_they_hold(text: str) -> None:
    for drawing in (
        bars(
            text,
            [(text, [ChartBar(0.5)])],
            series=(ChartSeries(text), ChartSeries("b")),
        ),
        radar(text, [text] * 3, [(ChartSeries(text), [1, 1, 1])]),
    ):
        tree = drawn(standalone(drawing))
        tags = {item.tag.removeprefix(NAME) for item in tree.iter()}
        assert tags <= {
            "svg",
            "title",
            "style",
            "rect",
            "line",
            "text",
            "path",
            "circle",
        }
        assert not any(
            name.startswith("on") for item in tree.iter() for name in item.attrib
        )


def test_a_chart_becomes_a_png() -> None:
    drawing = bars("t", [("a", [ChartBar(0.5)])])
    data = png(drawing)
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20], "big") == 2 * drawing.width


def test_a_png_has_the_labels_of_the_chart() -> None:
    with_label = png(bars("t", [("a long label", [ChartBar(0.5)])]))
    without = png(bars("t", [("a long l@bel", [ChartBar(0.5)])]))
    assert with_label != without


def test_a_series_that_draws_nothing_is_not_in_the_legend_of_a_radar() -> None:
    tree = drawn(
        radar(
            "t",
            ["a", "b", "c"],
            [
                (ChartSeries("x"), [None] * 3),
                (ChartSeries("y"), [1, 1, 1]),
                (ChartSeries("z"), [0, 0, 1]),
            ],
        ).markup()
    )
    legend = [item.attrib["class"] for item in tree.iter(f"{NAME}rect")]
    assert legend == ["bar series-1", "bar series-2"]
    assert not {"x"} & {item.text for item in tree.iter(f"{NAME}text")}


def test_a_caption_moves_the_drawing_down() -> None:
    drawing = bars("t", [("a", [ChartBar(0.5)])])
    captioned = drawing.captioned(["A heading"], ["A note", "<script>"])
    tree = drawn(captioned.markup())
    moved = tree.find(f"{NAME}g")
    assert moved is not None
    assert moved.attrib["transform"] == "translate(0 18)"
    assert captioned.height > drawing.height + 18
    assert "<script>" in [item.text for item in tree.iter(f"{NAME}text")]
