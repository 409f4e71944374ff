import csv
import io
from pathlib import Path

from mmeval.report.layouts.formats.csv import COLUMNS, csv_tables
from mmeval.report.layouts.tables import (
    Block,
    PaperTable,
    ShownCell,
    TableColumn,
    TableRow,
    Title,
)
from tests.support.layouts import layout_of, model, tables_of

LAYOUT = """
layout: plain
axes: {rows: models, columns: tasks}
scale: 100
decimals: 0
number: m
best: {}
keys: {tasks: [{header: Both, columns: [{header: A, task: a}, {header: B, task: b}]}]}
tables: [{name: "1"}]
"""


def rows(folder: Path, *names: str) -> list[list[str]]:
    models = [
        model(name, {"a": 0.004 + place, "b": "lost"})
        for place, name in enumerate(names)
    ]
    text = csv_tables(tables_of(layout_of(folder, LAYOUT), models))
    return list(csv.reader(io.StringIO(text)))


def test_a_line_has_the_value_of_the_metric_and_the_printed_cell(
    tmp_path: Path,
) -> None:
    head, *cells = rows(tmp_path, "x", "y")
    assert head == list(COLUMNS)
    assert cells[:2] == [
        ["1", "", "x", "Both A", "0.004", "0", "†"],
        ["1", "", "x", "Both B", "", "N/A", "†"],
    ]
    assert cells[2][4:] == ["1.004", "100", "bold †"]


def test_notes_stand_below_the_cells(tmp_path: Path) -> None:
    note = rows(tmp_path, "x")[-1]
    assert note == ["1", "", "", "note", "", "† published: paper.csv", ""]


def test_a_formula_is_quoted(tmp_path: Path) -> None:
    assert rows(tmp_path, "=1+1")[1][2] == "'=1+1"


def test_a_formula_in_a_cell_of_words_is_quoted() -> None:
    row = TableRow(Title("x"), (ShownCell("=1+1", is_text=True),))
    block = Block(Title(""), (TableColumn(("Judge",)),), (row,))
    text = csv_tables([PaperTable("behind", "", "Model", (block,))])
    (_, cells) = csv.reader(io.StringIO(text))
    assert cells[5] == "'=1+1"


def test_what_turns_the_direction_of_text_is_left_out(tmp_path: Path) -> None:
    assert rows(tmp_path, "a\u202eb\nc")[1][2] == "a b c"
