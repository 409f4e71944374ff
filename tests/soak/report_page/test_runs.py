"""Several runs on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from playwright.sync_api import expect

from mmeval.report.charts.bars import ChartBar, bars
from tests.support.chromium import Watched
from tests.support.report_folder import Row, text, write

RUNS = [{"name": "default", "model": f"model_{at}", "folder": f"runs/{at}"} for at in range(3)]
TASKS = [{"name": "toy", "alias": "Toy", "run": at, "comparable": True} for at in range(3)]
NAME = "a_long_name_of_a_task_that_is_hardly_to_be_shown_in_a_column"


def runs(folder: Path) -> Path:
    """Three runs that each answered the same sample twice."""
    rows = [
        Row("s", "Question", "scored" if run else "unscored", {"right": run / 4 if run else None},
            details={"output": [text(f"answer {run}.{repeat}")]}, task=run, repeat=repeat, index=1)
        for run in range(3)
        for repeat in range(2)
    ]  # fmt: skip
    return write(folder, rows, runs=RUNS, tasks=TASKS, tables=[table()])


def table() -> dict[str, Any]:
    number = {"value": "0.5000", "stderr": "0.1000", "interval": "0.4000 to 0.6000", "bounds": "", "counts": {}}
    row = {"depth": 0, "name": NAME, "href": "", "version": "1.0", "metric": NAME, "better": "up", "notes": "",
           "remark": None, "beside": "", "absent": ["", "", "not asked"],
           "numbers": [{**number, "total": 4}, {**number, "total": 4}, None]}  # fmt: skip
    return {"title": "Numbers", "columns": [run["model"] for run in RUNS], "baseline": "", "rows": [row], "remarks": []}


def test_answers_of_other_runs_to_the_same_sample_stand_beside_each_other(seen: Watched, tmp_path: Path) -> None:
    page = seen.open(runs(tmp_path / "report"), "#trial=toy/1/1")
    expect(page.locator(".block-output")).to_contain_text("answer 0.1")
    expect(page.locator(".block-other .words")).to_have_text(["answer 1.1", "answer 2.1"])
    expect(page.locator(".block-other h3")).to_contain_text(["Output of model_1", "Output of model_2"])
    expect(page.locator(".block-output h3")).to_contain_text("Output of model_0")
    expect(page.locator(".rated")).to_have_text(["right unscored", "right 0.25", "right 0.5"])
    tops = page.locator(".answers > .block").evaluate_all("all => all.map(box => box.getBoundingClientRect().top)")
    assert len(set(tops)) == 1
    expect(page.locator(".others")).to_have_text(
        "The same sample: repeat 1 · model_1 · model_1, repeat 2 · model_2 · model_2, repeat 2"
    )


@pytest.mark.parametrize("order", ["", "&order=failures"])
def test_the_trials_of_a_sample_stand_together_each_with_its_run_first(
    order: str, seen: Watched, tmp_path: Path
) -> None:
    page = seen.open(runs(tmp_path / "report"), f"#samples{order}")
    facts = page.locator(".row-facts").all_inner_texts()
    assert [text.split(" · ")[0] for text in facts] == ["model_0", "model_1", "model_2"] * 2
    assert ["repeat 2" in text for text in facts] == [False] * 3 + [True] * 3


@pytest.mark.parametrize("width", [360, 700, 1280])
def test_a_table_of_runs_keeps_names_in_sight_and_whole(width: int, seen: Watched, tmp_path: Path) -> None:
    seen.page.set_viewport_size({"width": width, "height": 900})
    page = seen.open(runs(tmp_path / "report"))
    page.locator(".scroll").evaluate("box => { box.scrollLeft = 10000; }")
    name = page.locator(".numbers tbody th")
    assert name.evaluate("cell => cell.getBoundingClientRect().left") >= 0
    assert name.evaluate("cell => cell.querySelectorAll('wbr').length") > 5
    assert name.evaluate("cell => cell.scrollWidth <= cell.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_on_a_phone_each_number_says_whose_it_is(seen: Watched, tmp_path: Path) -> None:
    seen.page.set_viewport_size({"width": 360, "height": 800})
    page = seen.open(runs(tmp_path / "report"))
    assert page.locator(".numbers").evaluate("box => box.scrollWidth <= box.parentNode.clientWidth")
    expect(page.locator(".whose:visible")).to_have_text(["model_0:", "model_1:", "model_2:"])
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator(".whose:visible")).to_have_count(0)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_words_of_a_chart_have_eleven_pixels_at_least(width: int, seen: Watched, tmp_path: Path) -> None:
    wide, narrow = (
        Markup(bars("t", [(NAME, [ChartBar(0.5, (0.25, 0.75))])], spread=(0, 1), narrow=narrow).markup())
        for narrow in (False, True)
    )
    charts = [{"title": "t", "text": "", "svg": wide, "narrow": narrow}] * 2
    seen.page.set_viewport_size({"width": width, "height": 900})
    page = seen.open(write(tmp_path / "report", [Row("a")], charts=charts))
    size = "svg => 13 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
    chart = page.locator("svg.chart:visible").first
    assert chart.evaluate(size) >= 11
    assert chart.evaluate("svg => svg.getBoundingClientRect().width <= svg.parentNode.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") == width
