"""The averages that MMMG's paper prints follow from its rows by the layout."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.task.layout_file import layout_file, lines_of
from tests.support.layouts import model, tables_of

TABLES = json.loads(Path(__file__).with_name("published.json").read_text("utf-8"))[
    "tables"
]
"""Tables of the paper: for each column the printed average, then the rows (null where
there is none)."""
MISPRINTED = {("12", "Gemini 2.5 + VoiceLDM"): 0.4315}
"""An average that does not follow from its rows, and what they give."""


@pytest.mark.parametrize("name", ["9", "10", "11", "12"])
def test_the_printed_averages_follow_from_their_rows(name: str) -> None:
    layout = layout_file("mmmg")
    assert layout is not None
    (table,) = [table for table in layout.tables if table.name == name]
    tasks = [line.key.task for line in lines_of(table.rows) if line and not line.mean]
    for column, (printed, *values) in TABLES[f"table {name}"]["columns"].items():
        numbers: dict[str, Any] = {}
        for task, value in zip(tasks, values, strict=True):
            numbers[f"{task}|overall"] = "cannot" if value is None else value
        (shown,) = tables_of(layout, [model(column, numbers)])
        average = shown.blocks[0].rows[-1].cells[0].value
        expected = MISPRINTED.get((name, column), printed)
        assert average == pytest.approx(expected, abs=0.001), column
