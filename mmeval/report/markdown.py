"""Writes Markdown tables that are readable on a terminal and safe to print."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from mmeval.system.wording import printable

MAX_CELL = 80
_WITHOUT_WIDTH = frozenset({"Mn", "Mc", "Me", "Cf"})
"""The Unicode categories of characters that take no column."""


def cell(text: str, *, limit: int = MAX_CELL) -> str:
    """Returns text that is safe to print and does not break a table."""
    return printable(text, limit=limit).replace("|", "\\|")


def table_lines(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right_aligned: AbstractSet[str] = frozenset(),
    if_filled: str = "",
) -> list[str]:
    """Returns the lines of a table. The column ``if_filled`` is left out if all its
    cells are empty. Cells are not escaped; pass foreign text through :func:`cell`."""
    columns = []
    for header, *cells in zip(headers, *rows, strict=True):
        if header == if_filled and not any(cells):
            continue
        texts = [header, *cells]
        widths = [text_width(text) for text in texts]
        widest = max(widths)
        is_right = header in right_aligned
        column = []
        for text, width in zip(texts, widths, strict=True):
            space = " " * (widest - width)
            column.append(space + text if is_right else text + space)
        rule = "-" * (widest - 1) + ":" if is_right else "-" * widest
        column.insert(1, rule)
        columns.append(column)
    return [f"|{'|'.join(line)}|" for line in zip(*columns, strict=True)]


def text_width(text: str) -> int:
    """Returns the number of terminal columns: two for wide East Asian characters, none
    for combining marks and joiners."""
    if text.isascii():
        return len(text)
    width = 0
    for char in text:
        if unicodedata.category(char) in _WITHOUT_WIDTH:
            continue
        width += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return width
