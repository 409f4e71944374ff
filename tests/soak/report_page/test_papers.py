"""The tables of layouts, and the labels of charts as wide as their words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from playwright.sync_api import expect

from mmeval.report.charts.bars import ChartBar, bars
from tests.support.chromium import Watched
from tests.support.report_folder import Row, write

HOSTILE = "<img src=x onerror=alert(1)>"


def layout(columns: int = 2) -> dict[str, Any]:
    headers = [{"text": f"a header {at} {HOSTILE}", "is_number": at > 0} for at in range(columns)]
    row = [{"text": HOSTILE, "is_number": False}, *[{"text": "0.5", "is_number": True}] * (columns - 1)]
    return {
        "title": "Tables of the layout paper",
        "tables": [{"title": "By field", "headers": headers, "rows": [row], "notes": [HOSTILE]}],
    }


@pytest.mark.parametrize("width", [360, 1280])
def test_the_table_of_a_layout_scrolls_in_its_own_box(width: int, seen: Watched, tmp_path: Path) -> None:
    seen.page.set_viewport_size({"width": width, "height": 900})
    page = seen.open(write(tmp_path / "report", [Row("a")], layouts=[layout(columns=12)]))
    box = page.get_by_role("region", name="By field")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_what_a_layout_says_is_text(seen: Watched, tmp_path: Path) -> None:
    page = seen.open(write(tmp_path / "report", [Row("a")], layouts=[layout()]))
    expect(page.locator(".paper tbody th")).to_have_text(HOSTILE)
    expect(page.get_by_text(HOSTILE)).to_have_count(4)
    assert page.locator(".paper td.number").evaluate("cell => getComputedStyle(cell).textAlign") == "right"


@pytest.mark.parametrize("label", ["V+A->V+A", "AVAVAV", "a b c", "日本語の題"])
def test_the_label_of_a_bar_is_whole(label: str, seen: Watched, tmp_path: Path) -> None:
    chart = Markup(bars("t", [(label, [ChartBar(0.5)])], spread=(0, 1)).markup())
    charts = [{"title": "t", "text": "", "svg": chart, "narrow": None}]
    seen.page.set_viewport_size({"width": 1280, "height": 900})
    page = seen.open(write(tmp_path / "report", [Row("a")], charts=charts))
    assert page.locator("svg.chart text.label").evaluate("text => text.getBBox().x") >= 0
