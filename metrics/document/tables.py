"""Writes lines and tables as Markdown, with UniM's rule for the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mmeval.media.decode import Block, OfficeTable

_COLUMNS = re.compile(r"\s{2,}|\t")
"""The separator of cells in a line: two or more spaces, or a tab."""
RULE = "---"


def cells_of(line: str) -> list[str]:
    """Splits a line into cells at tabs and at two or more white-space characters."""
    return _COLUMNS.split(line.strip())


def released_markdown(lines: Iterable[str]) -> str:
    """Writes all lines that are not empty as one table, as in the release.

    The first line is the header, and each row contains the cells of its line. Official
    oddity: a paragraph also becomes a row.
    """
    rows = [cells_of(line) for line in lines if line.strip()]
    return "\n".join(_table(rows))


def markdown(blocks: Iterable[Block]) -> str:
    """Writes paragraphs and tables, separated by empty lines. Rows are not padded."""
    pieces: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            pieces.append(block.strip())
        else:
            rows = [list(map(_cell, row)) for row in block.rows if any(row)]
            pieces.append("\n".join(_table(rows)))
    return "\n\n".join(filter(None, pieces))


def blocks_of(lines: Iterable[str]) -> list[Block]:
    """Groups lines into paragraphs and tables. Markdown rows are kept as they are.

    A table is a run of lines with two or more cells. A single line with one cell may
    occur between two such lines.
    """
    blocks: list[Block] = []
    stripped = [line.strip() for line in lines if line.strip()]
    cells: list[list[str]] = []
    for line in stripped:
        cells.append([line] if line.startswith("|") else cells_of(line))
    position = 0
    while position < len(cells):
        end = _table_end(cells, position)
        if end > position + 1:
            blocks.append(OfficeTable(tuple(map(tuple, cells[position:end]))))
        else:
            end = position + 1
            line = COLUMN_IN_TEXT.join(cells[position])
            if blocks and isinstance(blocks[-1], str):
                line = f"{blocks.pop()}\n{line}"
            blocks.append(line)
        position = end
    return blocks


COLUMN_IN_TEXT = "  "


def _table_end(cells: Sequence[Sequence[str]], start: int) -> int:
    """Returns the index after the table that begins at ``start``.

    The index is ``start`` if no table begins there.
    """
    end = position = start
    while position < len(cells):
        if len(cells[position]) > 1:
            end = position = position + 1
        elif end > start and position == end:
            position += 1  # a row of one cell, if the table continues after it
        else:
            break
    return end


def _cell(text: str) -> str:
    """Returns the text of a cell, escaped so that nothing in it ends the cell."""
    return " ".join(text.split()).replace("|", "\\|")


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    header, *others = rows
    lines = [header, [RULE] * len(header), *others]
    return [f"| {' | '.join(cells)} |" for cells in lines]
