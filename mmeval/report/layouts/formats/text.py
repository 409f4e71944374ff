"""Writes the tables of layouts for a terminal, in bands that fit its width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mmeval.report.layouts.formats.lines import (
    Heading,
    PrintedBand,
    bands_of,
    header_rows,
)
from mmeval.report.layouts.tables import PaperTable
from mmeval.report.markdown import text_width
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.system.wording import printable, wrapped

WIDTH = 80
MAX_TEXT = 30
"""The longest text of a cell; the rest is cut."""
GAP = "  "
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
            lines += wrapped(printable(note, limit=MAX_NOTE), WIDTH, GAP)
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
    widths = [1]
    titles = 0
    for band in bands_of(table):
        title_width, *own = _widths(band)
        titles = max(titles, title_width)
        widths += own
    return max(1, (WIDTH - titles) // (max(widths) + len(GAP)))


def _body(band: PrintedBand) -> list[list[str]]:
    """Returns the texts of the lines below the headers.

    A heading has only the text of its title.
    """
    has_headings = any(isinstance(line, Heading) for line in band.lines)
    indent = GAP if has_headings else ""
    rows = []
    for line in band.lines:
        if isinstance(line, Heading):
            rows.append([_cut(line.title.marked)])
            continue
        cells = []
        for cell in line.cells:
            # numbers stay aligned whether they have a star or not
            cells.append(_cut(f"{cell.shown}{BEST if cell.is_bold else ' '}"))
        rows.append([f"{indent}{_cut(line.title.marked)}", *cells])
    return rows


def _cut(text: str) -> str:
    return printable(text, limit=MAX_TEXT)


def _widths(band: PrintedBand) -> list[int]:
    """Returns the width of the titles and of each column."""
    *outer, inner = header_rows(band.columns)
    rows = [[band.corner, *(_cut(text) for text, _ in inner)], *_body(band)]
    widths = [0] * (len(band.columns) + 1)
    for row in rows:
        for place, text in enumerate(row):
            widths[place] = max(widths[place], text_width(text))
    # an outer header that is wider than its columns makes the last of them wider
    for spans in outer:
        last = 0
        for text, count in spans:
            last += count
            own = widths[last - count + 1 : last + 1]
            missing = text_width(_cut(text)) - sum(own) - len(GAP) * (count - 1)
            widths[last] += max(0, missing)
    return widths


def _band_lines(band: PrintedBand) -> list[str]:
    widths = _widths(band)
    *outer, inner = header_rows(band.columns)
    lines = []
    for spans in outer:
        texts = [" " * widths[0]]
        last = 0
        for text, count in spans:
            last += count
            width = sum(widths[last - count + 1 : last + 1]) + len(GAP) * (count - 1)
            texts.append(_centred(_cut(text), width))
        lines.append(GAP.join(texts).rstrip())
    header = [band.corner, *(_cut(text) for text, _ in inner)]
    for row in [header, *_body(band)]:
        lines.append(_aligned(row, widths))
    return lines


def _centred(text: str, width: int) -> str:
    space = width - text_width(text)
    return f"{' ' * (space // 2)}{text}{' ' * (space - space // 2)}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    title, *cells = row
    texts = [title + " " * (widths[0] - text_width(title))]
    for text, width in zip(cells, widths[1:], strict=False):
        texts.append(" " * (width - text_width(text)) + text)
    return GAP.join(texts).rstrip()
