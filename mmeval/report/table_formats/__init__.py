"""Formats tables of numbers as text: for a terminal or page, a paper, or a
spreadsheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mmeval.report.table_formats.csv import csv_table
from mmeval.report.table_formats.latex import latex_table
from mmeval.report.table_formats.markdown import markdown_table
from mmeval.results.numbers import NumberRow

__all__ = ["TABLES", "TableFormat"]


class TableFormat(NamedTuple):
    """A renderer of rows, the name of its file, and whether it shows ``every_slice`` or
    only the first breakdown."""

    render: Callable[[Sequence[NumberRow], Sequence[str]], str]
    file: str
    every_slice: bool = False


TABLES: Mapping[str, TableFormat] = {
    "markdown": TableFormat(markdown_table, "numbers.md"),
    "latex": TableFormat(latex_table, "numbers.tex"),
    "csv": TableFormat(csv_table, "numbers.csv", every_slice=True),
}
"""The formats by name. Each takes rows and the names of the runs."""
