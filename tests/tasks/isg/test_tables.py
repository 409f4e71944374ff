"""The averages that ISG-Bench's paper prints follow from its columns by the layout."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.task.layout_file import layout_file
from mmeval.tasks.isg.subtasks import CATEGORIES, LEVELS
from tests.support.layouts import model, tables_of

PUBLISHED: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("published.json").read_text("utf-8")
)
"""The printed cells of tables 3 to 7: a row of a level, its average and its columns."""
ROUNDING = 0.001
MISPRINTED = [
    ("table3", "holistic", "without golden"),
    ("table5", "structural", "Anole"),
]
"""The printed averages that do not follow from their columns: 0.537, whose columns give
0.5725, and 0.000 for 0.001."""


def recomputed(printed: dict[str, Any]) -> float | None:
    """The average of a printed row in the layout's table."""
    by_column = {names.column: name for name, names in CATEGORIES.items()}
    numbers: dict[str, Any] = {}
    for name in CATEGORIES:
        numbers[f"isg_{name}|isg_{printed['level']}"] = "cannot"
    for column, value in printed["values"].items():
        if value is not None:
            numbers[f"isg_{by_column[column]}|isg_{printed['level']}"] = value
    layout = layout_file("isg")
    assert layout is not None
    (table,) = tables_of(layout, [model("m", numbers)])
    return table.blocks[0].rows[0].cells[0].value


def test_58_of_the_60_printed_averages_follow_from_their_columns() -> None:
    off = []
    for printed in PUBLISHED:
        expected = pytest.approx(printed["average"], abs=ROUNDING + 1e-9)
        if recomputed(printed) != expected:
            off.append((printed["table"], printed["level"], printed["row"]))
    assert len(PUBLISHED) == 60
    assert off == MISPRINTED


def page_rows() -> list[str]:
    """The rows of the page's table: the printed averages of a row by level."""
    averages: dict[tuple[str, str], dict[str, float]] = {}
    for printed in PUBLISHED:
        table = printed["table"].removeprefix("table")
        tables = "5, 6" if table in "56" else table
        levels = averages.setdefault((tables, printed["row"]), {})
        levels[printed["level"]] = printed["average"]

    rows = []
    for (tables, name), levels in averages.items():
        cells = [f"{levels[level]:.3f}" if level in levels else "-" for level in LEVELS]
        rows.append(f"|{tables}|{name}|{'|'.join(cells)}|")
    return rows


def test_the_page_has_each_printed_average() -> None:
    """``python -m tests.tasks.isg.test_tables`` prints the rows."""
    page = Path(__file__).parents[3] / "docs" / "reproducing" / "isg.md"
    text = page.read_text("utf-8")
    assert [row for row in page_rows() if row not in text] == []


if __name__ == "__main__":
    print("\n".join(page_rows()))
