"""The tables of a layout, filled and ready to be written in any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mmeval.report.layouts.cells import Numbers
from mmeval.results.published import NumberKey
from mmeval.results.stored_run import StoredRun

PUBLISHED = "†"
"""The mark of a row of published numbers, which do not come from a run."""
LIMITED = "‡"
"""The mark of a run on bundled samples or on a part of the data."""
UNKNOWN = "N/A"
NO_NUMBER = "-"


@dataclass(frozen=True)
class ModelRow:
    """A model of the tables, with its numbers. ``group`` is a heading, or empty.

    ``run`` is None for published numbers, and ``source`` is then their file. ``tasks``
    are those of the run that the layout shows. ``limits`` state why the run is not a
    run of the whole benchmark.
    """

    name: str
    numbers: Numbers
    group: str = ""
    source: str = ""
    run: StoredRun | None = None
    tasks: frozenset[str] = frozenset()
    limits: str = ""

    @property
    def mark(self) -> str:
        if self.run is None:
            return PUBLISHED
        return LIMITED if self.limits else ""


@dataclass(frozen=True)
class ShownCell:
    """A cell as printed, and its value before rounding and scaling. ``is_text`` is True
    for words in place of a number.

    ``interval`` is the 95 % interval of the value, and ``n`` the number of its scored
    samples, where they are known.
    """

    shown: str
    value: float | None = None
    is_bold: bool = False
    is_text: bool = False
    interval: tuple[float, float] | None = None
    n: int | None = None


@dataclass(frozen=True)
class Title:
    """The name of a row, column or block, the mark behind it, and its group."""

    text: str
    mark: str = ""
    group: str = ""

    @property
    def marked(self) -> str:
        return f"{self.text}{self.mark}"


@dataclass(frozen=True)
class TableRow:
    title: Title
    cells: tuple[ShownCell, ...]


@dataclass(frozen=True)
class Block:
    """Rows below a title, which is empty in a table without blocks."""

    title: Title
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class TableColumn:
    """A column with its nested headers, the outermost first."""

    headers: tuple[str, ...]
    mark: str = ""

    @property
    def text(self) -> str:
        return " ".join(self.headers)


@dataclass(frozen=True)
class PaperTable:
    """A table with its blocks and the notes below. ``corner`` is the header of the
    titles of rows. ``wrap`` is the largest number of columns side by side, or None."""

    name: str
    title: str
    corner: str
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()
    wrap: int | None = None

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns, which are the same in each block."""
        return self.blocks[0].columns if self.blocks else ()

    def bands(self, most: int | None = None) -> Iterator[range]:
        """Yields the places of the columns that stand side by side: at most ``wrap``,
        and at most ``most``."""
        limits = [limit for limit in (self.wrap, most) if limit]
        count = len(self.columns)
        width = max(1, min([*limits, count]))
        for first in range(0, count, width):
            yield range(first, min(first + width, count))


class MissingRun(NamedTuple):
    """A run without a number in a table in which another run has one. ``table`` is
    empty if the run has no number in any table."""

    name: str
    table: str = ""


@dataclass(frozen=True)
class FilledLayout:
    """The tables of a layout, the runs without numbers in them, the keys of all cells
    that are not means, and the published models that no table shows."""

    tables: Sequence[PaperTable] = ()
    incomplete: Sequence[MissingRun] = ()
    keys: Sequence[NumberKey] = ()
    not_shown: Sequence[ModelRow] = ()
