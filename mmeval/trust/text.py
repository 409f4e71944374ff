"""The pieces of text that several results share: lines, tables and numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from mmeval.comparison.text import p_text, signed
from mmeval.report.short_table import number_text
from mmeval.system.wording import printable
from mmeval.trust.correction.rated_trials import Range

__all__ = ["interval_text", "labelled", "note", "p_text", "signed", "table"]

_LABEL = 10


def labelled(label: str, text: str, width: int) -> list[str]:
    """Returns a text behind its label, wrapped below itself."""
    return textwrap.wrap(
        printable(text, limit=2_000),
        width,
        initial_indent=f"{label:{_LABEL}}",
        subsequent_indent=" " * _LABEL,
    )


def note(text: str, width: int) -> list[str]:
    """Returns an indented text."""
    return textwrap.wrap(
        printable(text, limit=2_000),
        width,
        initial_indent="   ",
        subsequent_indent="   ",
    )


def interval_text(ends: Range | None) -> str:
    """Returns an interval in words, or a dash."""
    if ends is None:
        return "-"
    return f"{number_text(ends[0])} to {number_text(ends[1])}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns a table, its first column to the left and the others to the right."""
    cells = [list(heads), *map(list, rows)]
    widths = []
    for column in zip(*cells, strict=True):
        widths.append(max(map(len, column)))
    lines = []
    for row in cells:
        padded = [row[0].ljust(widths[0])]
        for cell, cell_width in zip(row[1:], widths[1:], strict=True):
            padded.append(cell.rjust(cell_width))
        lines.append(f"   {'  '.join(padded)}".rstrip())
    return lines
