"""Formats tables of words and numbers as text: for a terminal or page, a paper, or a
script."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping

from mmeval.report.markdown import cell, table_lines
from mmeval.report.table_formats.csv import csv_text
from mmeval.report.table_formats.latex import booktabs, latex_text
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.results.layout import Cell, Table
from mmeval.system.wording import printable

UNKNOWN = "N/A"


def markdown_tables(tables: Iterable[Table]) -> str:
    """Returns Markdown tables, each with its title above and its notes below."""
    texts = []
    for table in tables:
        headers = [cell(header) for header in table.headers]
        numbers = set()
        for header, is_number in zip(headers, number_columns(table), strict=True):
            if is_number:
                numbers.add(header)
        rows = []
        for row in table.rows:
            rows.append([cell(shown(value, table.digits)) for value in row])
        lines = [printable(table.title, limit=MAX_NOTE), ""]
        lines += table_lines(headers, rows, right_aligned=numbers)
        if table.notes:
            lines.append("")
        lines += [printable(note, limit=MAX_NOTE) for note in table.notes]
        texts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(texts)


def shown(value: Cell, digits: int) -> str:
    """Returns the text of a cell, not yet escaped."""
    if value is None:
        return UNKNOWN
    return value if isinstance(value, str) else f"{value:.{digits}f}"


def number_columns(table: Table) -> list[bool]:
    """Returns whether each column contains only numbers; False in a table without
    rows."""
    is_number = [bool(table.rows)] * len(table.headers)
    for row in table.rows:
        for column, value in enumerate(row):
            if isinstance(value, str):
                is_number[column] = False
    return is_number


def latex_tables(tables: Iterable[Table]) -> str:
    """Returns LaTeX tables with booktabs rules, one after the other."""
    texts = []
    for table in tables:
        columns = ""
        for is_number in number_columns(table):
            columns += "r" if is_number else "l"
        rows = []
        for row in table.rows:
            rows.append([latex_text(shown(value, table.digits)) for value in row])
        headers, notes = map(latex_text, table.headers), map(latex_text, table.notes)
        title = printable(table.title, limit=MAX_NOTE)
        texts.append(f"% {title}\n{booktabs(columns, headers, rows, notes)}")
    return "\n".join(texts)


def csv_tables(tables: Iterable[Table]) -> str:
    """Returns CSV with one cell on each line: table, row (its first cell), column,
    value. Numbers are not rounded, and unknown cells are empty. For a note, the column
    is ``note``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("table", "row", "column", "value"))
    for table in tables:
        title = _plain(table.title)
        headers = [_plain(header) for header in table.headers]
        for row in table.rows:
            cells = [_plain(value) for value in row]
            for header, value in zip(headers[1:], cells[1:], strict=True):
                writer.writerow((title, cells[0], header, value))
        writer.writerows((title, "", "note", _plain(note)) for note in table.notes)
    return out.getvalue()


def _plain(value: Cell) -> str:
    if value is None:
        return ""
    return csv_text(value) if isinstance(value, str) else repr(float(value))


RENDERED: Mapping[str, Callable[[Iterable[Table]], str]] = {
    "markdown": markdown_tables,
    "latex": latex_tables,
    "csv": csv_tables,
}
