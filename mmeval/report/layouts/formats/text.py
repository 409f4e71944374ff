"""Writes the tables of layouts for a terminal, in bands that fit its width."""

from __future__ import annotations

from collections.abc import Iterable

from mmeval.report.layouts.formats.lines import Heading, PrintedBand, bands_of
from mmeval.report.layouts.tables import PaperTable
from mmeval.report.markdown import text_width
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.system.wording import printable, wrapped

WIDTH = 80
MAX_TITLE = 30
"""Longest title of a row; the rest is cut."""
BEST = "*"
BEST_NOTE = f"{BEST} the best of its block"


def text_tables(tables: Iterable[PaperTable]) -> str:
    """Returns aligned tables of at most 80 columns.

    A star marks the best cells. Columns that do not fit are printed below the others.
    """
    texts = []
    for table in tables:
        lines = wrapped(printable(table.title, limit=MAX_NOTE), WIDTH)
        for band in bands_of(table, _columns_that_fit(table)):
            lines += ["", *_band_lines(band)]
        notes = [*table.notes, BEST_NOTE] if _has_best(table) else table.notes
        if notes:
            lines.append("")
        for note in notes:
            lines += wrapped(printable(note, limit=MAX_NOTE), WIDTH, "  ")
        texts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(texts)


def _has_best(table: PaperTable) -> bool:
    for block in table.blocks:
        for row in block.rows:
            if any(cell.is_bold for cell in row.cells):
                return True
    return False


def _columns_that_fit(table: PaperTable) -> int:
    """Returns how many columns of the largest width fit beside the titles."""
    grid = [_texts(band) for band in bands_of(table)]
    titles = max(text_width(row[0]) for texts in grid for row in texts)
    widest = max(
        (text_width(text) for texts in grid for row in texts for text in row[1:]),
        default=1,
    )
    return max(1, (WIDTH - titles) // (widest + 2))


def _texts(band: PrintedBand) -> list[list[str]]:
    """Returns the texts of all lines; those of a heading are its title alone."""
    headers = [f"{column.text}{column.mark}" for column in band.columns]
    rows = [[band.corner, *headers]]
    for line in band.lines:
        if isinstance(line, Heading):
            rows.append([line.title.marked])
            continue
        cells = []
        for cell in line.cells:
            cells.append(f"{cell.shown}{BEST}" if cell.is_bold else f"{cell.shown} ")
        rows.append([f"  {line.title.marked}", *cells])
    return [[printable(text, limit=MAX_TITLE) for text in row] for row in rows]


def _band_lines(band: PrintedBand) -> list[str]:
    rows = _texts(band)
    widths = [0] * (len(band.columns) + 1)
    for row in rows:
        for place, text in enumerate(row):
            if len(row) > 1:
                widths[place] = max(widths[place], text_width(text))
    lines = []
    for row in rows:
        title = row[0] + " " * (widths[0] - text_width(row[0]))
        cells = []
        for text, width in zip(row[1:], widths[1:], strict=False):
            cells.append(" " * (width - text_width(text)) + text)
        lines.append("  ".join([title, *cells]).rstrip())
    return lines
