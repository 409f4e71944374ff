"""Writes the tables of layouts as CSV, with one cell on each line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from mmeval.report.layouts.tables import PUBLISHED, PaperTable
from mmeval.report.table_formats.csv import csv_text

COLUMNS = ("table", "block", "row", "column", "value", "shown", "mark")


def csv_tables(tables: Iterable[PaperTable]) -> str:
    """Returns CSV with one cell on each line. ``value`` is not rounded, in the unit of
    the metric, and empty if unknown; ``shown`` is the cell as printed. ``mark`` is
    ``bold``, a dagger for a published row, or both. For a note, the column is
    ``note``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for table in tables:
        name = csv_text(table.name)
        for block in table.blocks:
            for row in block.rows:
                for column, cell in zip(block.columns, row.cells, strict=True):
                    marks = ["bold"] if cell.is_bold else []
                    if PUBLISHED in (block.title.mark, row.title.mark, column.mark):
                        marks.append(PUBLISHED)
                    value = "" if cell.value is None else repr(float(cell.value))
                    # a number may begin with a minus, but words may be foreign
                    shown = csv_text(cell.shown) if cell.is_text else cell.shown
                    writer.writerow(
                        (
                            name,
                            csv_text(block.title.text),
                            csv_text(row.title.text),
                            csv_text(column.text),
                            value,
                            shown,
                            " ".join(marks),
                        )
                    )
        for note in table.notes:
            writer.writerow((name, "", "", "note", "", csv_text(note), ""))
    return out.getvalue()
