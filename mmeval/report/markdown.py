"""Markdown tables that read well on a terminal and are safe to print."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from mmeval.system.wording import printable

MAX_CELL = 80


def cell(text: str, *, limit: int = MAX_CELL) -> str:
    """Text that is safe to print and does not break a table."""
    return printable(text, limit=limit).replace("|", "\\|")


def table_lines(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right_aligned: AbstractSet[str] = frozenset(),
    if_filled: str = "",
) -> list[str]:
    """The lines of a table, without the column ``if_filled`` where all its cells are
    empty. Cells are not escaped: pass foreign text to :func:`cell`."""
    kept = [
        at
        for at, header in enumerate(headers)
        if header != if_filled or any(row[at] for row in rows)
    ]
    headers = [headers[at] for at in kept]
    rows = [[row[at] for at in kept] for row in rows]
    widths = [
        max(_width(row[i]) for row in [headers, *rows]) for i in range(len(headers))
    ]
    right = [header in right_aligned for header in headers]
    rules = (
        "-" * (width - 1) + ":" if at_right else "-" * width
        for width, at_right in zip(widths, right, strict=True)
    )
    return [
        _line(headers, widths, right),
        f"|{'|'.join(rules)}|",
        *(_line(row, widths, right) for row in rows),
    ]


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        " " * (width - _width(cell)) + cell
        if at_right
        else cell + " " * (width - _width(cell))
        for cell, width, at_right in zip(cells, widths, right, strict=True)
    )
    return f"|{'|'.join(padded)}|"


def _width(text: str) -> int:
    """Terminal columns: two for wide East Asian characters, none for combining
    marks."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(char)
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )
