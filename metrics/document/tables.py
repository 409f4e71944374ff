"""Markdown of lines and tables, by UniM's rule for rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mmeval.media.decode import Block, OfficeTable

_COLUMNS = re.compile(r"\s{2,}|\t")
"""The separator of cells in a line: two blanks or more, or a tab."""
RULE = "---"


def cells_of(line: str) -> list[str]:
    """The cells of a line, cut at two white-space characters or more, and at tabs."""
    return _COLUMNS.split(line.strip())


def released_markdown(lines: Iterable[str]) -> str:
    """All lines that are not empty as one table, as the release writes them. The first
    is its header; each row has the cells of its line. Official oddity: a paragraph is a
    row, too."""
    rows = [cells_of(line) for line in lines if line.strip()]
    return "\n".join(_table(rows))


def markdown(blocks: Iterable[Block]) -> str:
    """Paragraphs and tables, an empty line between each two; rows are not padded."""
    written: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            written.append(block.strip())
        else:
            rows = [list(map(_cell, row)) for row in block.rows if any(row)]
            written.append("\n".join(_table(rows)))
    return "\n\n".join(filter(None, written))


def blocks_of(lines: Iterable[str]) -> list[Block]:
    """Lines as paragraphs and tables; other lines and rows that are Markdown stay. A
    table is a run of lines with two cells or more, with at most one line of a single
    cell between two of them."""
    blocks: list[Block] = []
    written = [line.strip() for line in lines if line.strip()]
    cells: list[list[str]] = []
    for line in written:
        cells.append([line] if line.startswith("|") else cells_of(line))
    at = 0
    while at < len(cells):
        end = _table_end(cells, at)
        if end > at + 1:
            blocks.append(OfficeTable(tuple(map(tuple, cells[at:end]))))
        else:
            end = at + 1
            line = COLUMN_IN_TEXT.join(cells[at])
            if blocks and isinstance(blocks[-1], str):
                line = f"{blocks.pop()}\n{line}"
            blocks.append(line)
        at = end
    return blocks


COLUMN_IN_TEXT = "  "


def _table_end(cells: Sequence[Sequence[str]], start: int) -> int:
    """The index after the table that begins at ``start``; ``start`` without one."""
    end = at = start
    while at < len(cells):
        if len(cells[at]) > 1:
            end = at = at + 1
        elif end > start and at == end:
            at += 1  # a row of one cell, if the next one goes on
        else:
            break
    return end


def _cell(text: str) -> str:
    """The text of a cell, escaped so that it cannot end the cell."""
    return " ".join(text.split()).replace("|", "\\|")


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    header, *others = rows
    lines = [header, [RULE] * len(header), *others]
    return [f"| {' | '.join(cells)} |" for cells in lines]
