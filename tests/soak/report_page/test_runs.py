"""Several runs on one page, the tables of layouts, and charts whose words are whole."""

from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from playwright.sync_api import Page, expect

from mmeval.report.charts.bars import ChartBar, bars
from mmeval.report.page.pivot import PivotCell, PivotRow, PivotTable
from tests.soak.support.chromium import Watched
from tests.soak.support.report_page import Row, text, write

pytestmark = pytest.mark.timeout(1800)

RUNS = [
    {"name": "default", "model": f"model_{at}", "folder": f"runs/{at}"}
    for at in range(3)
]
TASKS = [
    {"name": "toy", "alias": "Toy", "run": at, "comparable": True} for at in range(3)
]
NAME = "a_long_name_of_a_task_that_is_hardly_to_be_shown_in_a_column"
CELLS = tuple(
    PivotCell(
        f"{NAME}_{at}", "0.500", "up", "0.400 to 0.600", "4 of 8 scored: 4 failed"
    )
    for at in range(9)
)
TABLE = PivotTable(
    "Models and tasks",
    "A row is a model.",
    tuple(PivotRow(str(run["model"]), CELLS) for run in RUNS),
)
HOSTILE = "<img src=x onerror=alert(1)>"
INSIDE = """cells => cells.filter(cell => {{
    const box = cell.getBoundingClientRect();
    return box.left < 0 || box.right > {width} || cell.scrollWidth > cell.clientWidth;
}}).map(cell => cell.textContent)"""
"""The texts of cells that are cut off."""


def runs(folder: Path) -> Path:
    """Three runs that each answered the same sample twice."""
    rows = [
        Row(
            "s",
            "Question",
            "scored" if run else "unscored",
            {"right": run / 4 if run else None},
            details={"output": [text(f"answer {run}.{repeat}")]},
            task=run,
            repeat=repeat,
            index=1,
        )
        for run in range(3)
        for repeat in range(2)
    ]
    return write(folder / "report", rows, runs=RUNS, tasks=TASKS, pivots=[TABLE])


def opened(seen: Watched, index: Path, width: int, height: int = 900) -> Page:
    """A report in a window of this width, which it fills and does not exceed."""
    seen.page.set_viewport_size({"width": width, "height": height})
    page = seen.open(index)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    return page


def unfolded(page: Page) -> None:
    for fold in page.locator(".fold > summary").all():
        fold.click()


def test_answers_of_other_runs_to_the_same_sample_stand_beside_each_other(
    seen: Watched, tmp_path: Path
) -> None:
    page = seen.open(runs(tmp_path), "#trial=toy/1/1")
    expect(page.locator(".block-output")).to_contain_text("answer 0.1")
    expect(page.locator(".block-other .words")).to_have_text(
        ["answer 1.1", "answer 2.1"]
    )
    expect(page.locator(".block-other h3")).to_contain_text(["model_1", "model_2"])
    expect(page.locator(".block-output h3")).to_contain_text("model_0")
    expect(page.locator(".rated")).to_have_text(
        ["right unscored", "right 0.25", "right 0.5"]
    )
    boxes = page.locator(".block-output, .block-other")
    tops = boxes.evaluate_all("all => all.map(box => box.getBoundingClientRect().top)")
    assert len(set(tops)) == 1
    links = ["repeat 1", "model_1", "model_1, repeat 2", "model_2", "model_2, repeat 2"]
    assert page.locator(".others").inner_text().partition(": ")[2].split(" · ") == links


@pytest.mark.parametrize("width", [360, 390, 700, 1280])
def test_no_cell_of_a_table_of_numbers_is_cut_off(
    width: int, seen: Watched, tmp_path: Path
) -> None:
    page = opened(seen, runs(tmp_path), width)
    cells = page.locator(".pivot :is(th, td)")
    assert cells.count() == len(RUNS) * (1 + len(CELLS))
    assert cells.evaluate_all(INSIDE.format(width=width)) == []


def test_cells_stand_below_each_other_on_a_wide_screen(
    seen: Watched, tmp_path: Path
) -> None:
    page = opened(seen, runs(tmp_path), 1280)
    lefts = "rows => rows.map(row => row.cells[1].getBoundingClientRect().left)"
    found = page.locator(".pivot tr").evaluate_all(lefts)
    assert len(set(found)) == 1


def charts(folder: Path, label: str) -> Path:
    wide, narrow = (
        Markup(
            bars(
                "t",
                [(label, [ChartBar(0.5, (0.25, 0.75))])],
                spread=(0, 1),
                narrow=narrow,
            ).markup()
        )
        for narrow in (False, True)
    )
    charts = [{"title": "t", "text": "", "svg": wide, "narrow": narrow}] * 2
    return write(folder / "report", [Row("a")], charts=charts)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_words_of_a_chart_have_eleven_pixels_at_least(
    width: int, seen: Watched, tmp_path: Path
) -> None:
    page = opened(seen, charts(tmp_path, NAME), width)
    unfolded(page)
    chart = page.locator("svg.chart:visible").first
    assert (
        chart.evaluate(
            "svg => 13 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
        )
        >= 11
    )
    assert chart.evaluate(
        "svg => svg.getBoundingClientRect().width <= svg.parentNode.clientWidth"
    )


def layout(folder: Path) -> Path:
    headers = [{"text": f"a header {at}", "is_number": at > 0} for at in range(12)]
    row = [{"text": "0.5", "is_number": at > 0} for at in range(12)]
    table: dict[str, Any] = {
        "title": "By field",
        "headers": headers,
        "rows": [row],
        "notes": [HOSTILE],
    }
    return write(
        folder / "report", [Row("a")], layouts=[{"title": HOSTILE, "tables": [table]}]
    )


@pytest.mark.parametrize("width", [360, 1280])
def test_the_table_of_a_layout_scrolls_in_its_own_box(
    width: int, seen: Watched, tmp_path: Path
) -> None:
    page = opened(seen, layout(tmp_path), width)
    unfolded(page)
    box = page.get_by_role("region", name="By field")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") > 0
    expect(seen.page.get_by_text(HOSTILE)).to_have_count(2)
