"""Writes the tables of layouts as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from mmeval.report.layouts.formats.lines import Heading, PrintedBand, bands_of
from mmeval.report.layouts.tables import PaperTable, ShownCell
from mmeval.report.markdown import cell, table_lines
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.system.wording import printable


def markdown_tables(tables: Iterable[PaperTable]) -> str:
    """Returns Markdown tables, each with its title above and its notes below. The best
    cells are bold."""
    texts = []
    for table in tables:
        lines = [printable(table.title, limit=MAX_NOTE)]
        for band in bands_of(table):
            lines += ["", *_band_lines(band)]
        if table.notes:
            lines.append("")
        lines += [printable(note, limit=MAX_NOTE) for note in table.notes]
        texts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(texts)


def _band_lines(band: PrintedBand) -> list[str]:
    headers = [cell(band.corner)]
    numbers = set()
    for column, is_number in zip(band.columns, band.are_numbers, strict=True):
        header = cell(f"{column.text}{column.mark}")
        headers.append(header)
        if is_number:
            numbers.add(header)
    rows = []
    for line in band.lines:
        if isinstance(line, Heading):
            rows.append([f"**{cell(line.title.marked)}**", *[""] * len(band.columns)])
        else:
            rows.append([cell(line.title.marked), *map(_cell, line.cells)])
    return table_lines(headers, rows, right_aligned=numbers)


def _cell(own: ShownCell) -> str:
    text = cell(own.shown)
    return f"**{text}**" if own.is_bold else text
