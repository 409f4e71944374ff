"""Arranges the rows of a table below headings, as most formats print them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmeval.report.layouts.tables import PaperTable, ShownCell, TableColumn, Title

NO_GROUP = "other"
"""The heading of models without a group that follow a group."""


@dataclass(frozen=True)
class Heading:
    """A line above rows: the title of a block, or of a group of models."""

    title: Title
    is_block: bool


@dataclass(frozen=True)
class PrintedRow:
    """A row with the cells of the columns that stand side by side."""

    title: Title
    cells: tuple[ShownCell, ...]


@dataclass(frozen=True)
class PrintedBand:
    """Columns that stand side by side, with the rows below them."""

    corner: str
    columns: tuple[TableColumn, ...]
    lines: tuple[Heading | PrintedRow, ...]

    @property
    def are_numbers(self) -> list[bool]:
        """Returns whether each column holds numbers, and no words."""
        are_numbers = [True] * len(self.columns)
        for line in self.lines:
            if isinstance(line, PrintedRow):
                for place, cell in enumerate(line.cells):
                    are_numbers[place] &= not cell.is_text
        return are_numbers


def bands_of(table: PaperTable, most: int | None = None) -> Iterator[PrintedBand]:
    """Yields the bands of a table, each with all its rows. ``most`` is the largest
    number of columns side by side."""
    for places in table.bands(most):
        columns = tuple(table.columns[place] for place in places)
        yield PrintedBand(table.corner, columns, tuple(_lines(table, places)))


def _lines(table: PaperTable, places: Sequence[int]) -> Iterator[Heading | PrintedRow]:
    for block in table.blocks:
        if block.title.text:
            yield Heading(block.title, is_block=True)
        group = ""
        for row in block.rows:
            if row.title.group != group:
                yield Heading(Title(row.title.group or NO_GROUP), is_block=False)
            group = row.title.group
            yield PrintedRow(row.title, tuple(row.cells[place] for place in places))


def header_rows(columns: Sequence[TableColumn]) -> list[list[tuple[str, int]]]:
    """Returns the rows of nested headers from the outside, each as texts with the
    number of columns that they span. A column with fewer headers has empty texts above
    its own."""
    depth = max((len(column.headers) for column in columns), default=1)
    rows: list[list[tuple[str, int]]] = []
    for level in range(depth):
        spans: list[tuple[str, int]] = []
        previous: tuple[str, ...] | None = None
        for column in columns:
            missing = depth - len(column.headers)
            path = ("",) * missing + column.headers
            text = path[level]
            if level == depth - 1:
                text += column.mark
            is_same = level < depth - 1 and path[: level + 1] == previous and text
            if is_same:
                spans[-1] = (text, spans[-1][1] + 1)
            else:
                spans.append((text, 1))
            previous = path[: level + 1]
        rows.append(spans)
    return rows
