"""Small layouts, and models with a few numbers, for tests of the tables of papers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mmeval.report.layouts.cells import StatedNumbers
from mmeval.report.layouts.engine import filled
from mmeval.report.layouts.tables import ModelRow, PaperTable
from mmeval.results.published import NumberKey, NumberState, TableNumber
from mmeval.task.layout_file import LayoutFile, read_layout

Given = float | NumberState
"""A value, or the state of a number without one."""


def layout_of(folder: Path, text: str) -> LayoutFile:
    """The layout of a file with this text."""
    file = folder / "layout.yaml"
    file.write_text(text, encoding="utf-8")
    return read_layout(file)


def model(name: str, numbers: Mapping[str, Given], group: str = "") -> ModelRow:
    """A published model. Numbers are named ``task`` or ``task|metric``, or
    ``task|metric|kind``."""
    stated: dict[NumberKey, TableNumber] = {}
    for text, given in numbers.items():
        task, metric, kind = (*text.split("|"), "", "")[:3]
        key = NumberKey(task, metric or "m")
        if kind == "half_width":
            key = key._replace(kind="half_width")
        if isinstance(given, str):
            stated[key] = TableNumber(key, None, given, "gone")
        else:
            stated[key] = TableNumber(key, given)
    return ModelRow(name, StatedNumbers(stated), group, source="paper.csv")


def tables_of(
    layout: LayoutFile, models: Sequence[ModelRow], *, sort: str = "given"
) -> Sequence[PaperTable]:
    return filled(layout, models, sort=sort).tables


def shown(table: PaperTable) -> list[list[str]]:
    """The printed cells of each row, after its block (if it has a title) and name; a
    star is behind a bold cell."""
    rows = []
    for block in table.blocks:
        for row in block.rows:
            cells = [f"{cell.shown}{'*' * cell.is_bold}" for cell in row.cells]
            titles = [block.title.text] if block.title.text else []
            rows.append([*titles, row.title.text, *cells])
    return rows
