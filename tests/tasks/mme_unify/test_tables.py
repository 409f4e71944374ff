"""The averages that MME-Unify's paper prints follow from its scores by the layout."""

import json
from pathlib import Path
from typing import Any

from mmeval.task.layout_file import layout_file
from tests.support.layouts import model, tables_of

PRINTED = {
    name: {
        model: dict(zip(table["columns"], cells, strict=True))
        for model, cells in table["rows"].items()
    }
    for name, table in json.loads(
        Path(__file__).with_name("published.json").read_text()
    ).items()
}
PARTS = {
    "Und_Avg": ("SIPU", "MITIU", "VPU"),
    "Gen_Avg": ("CIVG", "FIR", "TIE", "TIG", "TVG", "VP"),
    "Unify_Avg": ("IEE", "CSQ", "AL", "SD", "VCoT"),
}
COLUMNS = {
    "Understanding Avg": "Und_Avg",
    "Generation Avg": "Gen_Avg",
    "Unify Avg": "Unify_Avg",
    "MME-U": "MME_U",
}
MISPRINTED = {
    ("Unify_Avg", "Gemini2.0-flash-exp"),
    ("MME_U", "Gemini2.0-flash-exp"),
    # table 2 swaps the scores of TIE and TIG, which table 4 has right
    ("Gen_Avg", "Show-o"),
    ("MME_U", "Show-o"),
    ("Gen_Avg", "Anole"),
    ("MME_U", "Anole"),
}
SLIP = 0.0002
"""Cells are printed with two digits, in percent."""


def test_all_averages_but_those_of_misprinted_scores_follow_from_the_scores() -> None:
    layout = layout_file("mme_unify")
    assert layout is not None
    off = set()
    for name, cells in PRINTED["table2"].items():
        numbers: dict[str, Any] = {}
        for task in (task for part in PARTS.values() for task in part):
            value = cells[task]
            key = f"mme_unify_{task.lower()}|mme_unify_score"
            numbers[key] = "cannot" if value is None else value / 100
        table = tables_of(layout, [model(name, numbers)])[0]
        found = table.blocks[0].rows[0].cells
        for column, cell in zip(table.columns, found, strict=True):
            printed = cells.get(COLUMNS.get(column.text, ""))
            if printed is None or cell.value is None:
                continue
            if abs(cell.value - printed / 100) > SLIP:
                off.add((COLUMNS[column.text], name))
    assert off <= MISPRINTED


def test_the_cells_of_mazes_are_shares_of_720_steps() -> None:
    cells = [
        row[f"VCoT_{kind}"]
        for row in PRINTED["table3"].values()
        for kind in ("action", "coordinate", "image")
    ]
    assert len(cells) == 18
    assert all(abs(cell - 100 * round(cell * 7.2) / 720) < 0.0051 for cell in cells)
    assert not any(
        abs(cell - 100 * round(cell * 4.05) / 405) < 0.0051 for cell in cells if cell
    )
