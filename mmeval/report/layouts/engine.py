"""Fills the tables of a layout file with the numbers of models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from mmeval.report.layouts.cells import CANNOT, CellValue
from mmeval.report.layouts.notes import LostCell, notes_of
from mmeval.report.layouts.tables import (
    NO_NUMBER,
    UNKNOWN,
    Block,
    FilledLayout,
    MissingRun,
    ModelRow,
    PaperTable,
    ShownCell,
    TableColumn,
    TableRow,
    Title,
)
from mmeval.results.published import NumberKey
from mmeval.task.layout_file import LayoutFile, LayoutTable, Line, lines_of, merged
from mmeval.task.layout_keys import MODELS, CellKeys

GIVEN = "given"
"""The value of ``--sort`` that keeps the order of the command."""


class Place(NamedTuple):
    """The positions of a cell on the three axes. On the axis of the models, and where
    there is no axis, the position is 0."""

    blocks: int = 0
    rows: int = 0
    columns: int = 0


Spot: TypeAlias = tuple[int, Place]
"""A cell: the position of its model, and its place."""


class _RowKey(NamedTuple):
    """A row of a block; several rows may have the same title."""

    position: int
    title: Title


@dataclass(frozen=True)
class _Cell:
    """A cell's content, its key, and its numbers as printed."""

    content: CellValue
    key: CellKeys
    is_mean: bool
    number: str = ""
    half_width: str = ""

    @property
    def shown(self) -> str:
        if self.content.state != "known":
            return NO_NUMBER if self.content.state == "cannot" else UNKNOWN
        return f"{self.number} ± {self.half_width}" if self.half_width else self.number


def filled(
    layout: LayoutFile, models: Sequence[ModelRow], *, sort: str = GIVEN
) -> FilledLayout:
    """Returns the tables of a layout that show a model, and the runs without numbers.

    ``sort`` is the name of a column by which models are ordered within their group, the
    best first.
    """
    tables: list[PaperTable] = []
    incomplete: list[MissingRun] = []
    not_shown: list[ModelRow] = []
    keys: dict[NumberKey, None] = {}
    shown_models: set[int] = set()
    for layout_table in layout.tables:
        filler = _TableFiller(layout_table, models, sort)
        for model in filler.without:
            missing = MissingRun(models[model].name, layout_table.name)
            incomplete.append(missing)
        shown_models |= filler.shown_models()
        table = filler.table(layout.title)
        keys |= dict.fromkeys(filler.keys())
        if table.blocks:
            tables.append(table)
    for position, row in enumerate(models):
        if position in shown_models:
            continue
        if row.run is None:
            not_shown.append(row)
        else:
            incomplete.append(MissingRun(row.name))
    if tables and layout.note:
        notes = (layout.note, *tables[0].notes)
        tables[0] = replace(tables[0], notes=notes)
    return FilledLayout(tuple(tables), tuple(incomplete), tuple(keys), tuple(not_shown))


def sort_names(layout: LayoutFile) -> list[str]:
    """Returns the names by which the models of a layout can be sorted."""
    names: dict[str, None] = {}
    for table in layout.tables:
        for axis in (table.rows, table.columns):
            for line in lines_of(axis):
                if line is not None:
                    names[" ".join(line.headers)] = None
    return list(names)


def printed(value: float, key: CellKeys) -> str:
    """Returns a value in the unit of the table, rounded. Zero has no sign."""
    decimals = 3 if key.decimals is None else key.decimals
    scale = 1.0 if key.scale is None else key.scale
    text = f"{scale * value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text


class _TableFiller:
    """Fills one table. Models are given by their position."""

    def __init__(
        self, table: LayoutTable, models: Sequence[ModelRow], sort: str
    ) -> None:
        self._table = table
        self._models = models
        self._cells: dict[Spot, _Cell] = {}
        self._axes = {
            "blocks": lines_of(table.blocks),
            "rows": lines_of(table.rows),
            "columns": lines_of(table.columns),
        }
        self._sort = sort
        self.without = self._runs_without_numbers()

    # --- cells ------------------------------------------------------------------------

    def _cell(self, model: int, place: Place) -> _Cell:
        if (model, place) not in self._cells:
            self._cells[model, place] = self._filled(model, place)
        return self._cells[model, place]

    def _filled(self, model: int, place: Place) -> _Cell:
        lines = self._lines(place)
        key = merged(self._table.key, *(line.key for line in lines.values()))
        numbers = self._models[model].numbers
        content = None
        half_width = ""
        for axis, line in lines.items():
            if line.mean is not None and content is None:
                parts = []
                for position in line.mean:
                    part = self._cell(model, place._replace(**{axis: position}))
                    parts.append(part.content)
                content = self._mean(parts)
            if line.half_width is not None:
                of_half = merged(key, line.half_width, CellKeys(kind="half_width"))
                half = numbers.of(_number_key(of_half)).value
                half_width = "" if half is None else printed(half, of_half)
        is_mean = content is not None
        if content is None:
            content = numbers.of(_number_key(key))
        number = "" if content.value is None else printed(content.value, key)
        return _Cell(content, key, is_mean, number, half_width)

    def _lines(self, place: Place) -> dict[str, Line]:
        """Returns the lines of a cell by axis, the innermost last."""
        lines = {}
        for axis, position in place._asdict().items():
            line = self._axes[axis][position]
            if line is not None:
                lines[axis] = line
        return lines

    def _mean(self, parts: Sequence[CellValue]) -> CellValue:
        """Returns the plain mean.

        With a lost part it is lost, and never the mean of the rest. A part that the
        model cannot have is left out, or counts as 0.
        """
        values = []
        higher_is_better = True
        for part in parts:
            if part.state in ("lost", "absent"):
                return CellValue("lost", reason=part.reason)
            if part.value is not None:
                values.append(part.value)
                higher_is_better = part.higher_is_better
        if not values:
            return CANNOT
        count = len(parts) if self._table.absent == "zero" else len(values)
        mean = math.fsum(values) / count
        return CellValue("known", mean, higher_is_better=higher_is_better)

    # --- the models of a block --------------------------------------------------------

    def _own_cells(self, model: int, block: int) -> Iterator[_Cell]:
        """Yields the cells of a model in a block that are not means."""
        for row in range(len(self._axes["rows"])):
            for column in range(len(self._axes["columns"])):
                cell = self._cell(model, Place(block, row, column))
                if not cell.is_mean:
                    yield cell

    def _states(self, model: int, block: int) -> set[str]:
        return {cell.content.state for cell in self._own_cells(model, block)}

    def _runs_without_numbers(self) -> list[int]:
        """Returns the runs without a number in a table in which another run has one.
        They are shown all the same, with N/A in every cell."""
        without = []
        some_run_has_numbers = False
        for position, model in enumerate(self._models):
            if model.run is None:
                continue
            states: set[str] = set()
            for block in range(len(self._axes["blocks"])):
                states |= self._states(position, block)
            if "known" in states:
                some_run_has_numbers = True
            elif states & {"lost", "absent"}:
                without.append(position)
        return without if some_run_has_numbers else []

    def _shown_in(self, block: int) -> list[int]:
        """Returns the models of a block: those with a number, or with a lost one."""
        shown = []
        for model in range(len(self._models)):
            needed = {"known", "lost"}
            if model in self.without:
                needed.add("absent")
            if needed & self._states(model, block):
                shown.append(model)
        return shown

    def shown_models(self) -> set[int]:
        """Returns the models that the table shows."""
        shown: set[int] = set()
        for block in range(len(self._axes["blocks"])):
            shown.update(self._shown_in(block))
        return shown

    def _blocks(self) -> Iterator[tuple[Title, int, list[int]]]:
        """Yields each block that shows a model: its title, its position on the axis,
        and its models."""
        blocks = self._table.blocks
        if isinstance(blocks, tuple):
            for position, line in enumerate(blocks):
                yield Title(" ".join(line.headers)), position, self._shown_in(position)
            return
        shown = self._shown_in(0)
        if blocks == MODELS:
            for model in shown:
                yield self._title(model), 0, [model]
        elif blocks == "groups":
            for group in dict.fromkeys(self._models[model].group for model in shown):
                of_group = [
                    model for model in shown if self._models[model].group == group
                ]
                yield Title(group), 0, of_group
        else:
            yield Title(""), 0, shown

    def _title(self, model: int) -> Title:
        row = self._models[model]
        # a table whose blocks are the groups needs no headings between its rows
        has_headings = self._table.blocks != "groups" and not self._table.is_ungrouped
        return Title(row.name, row.mark, row.group if has_headings else "")

    # --- the table --------------------------------------------------------------------

    def table(self, benchmark: str) -> PaperTable:
        """Returns the table, which has no blocks if no model is shown."""
        blocks = [block for block in self._blocks() if block[2]]
        shown_anywhere = sorted({model for _, _, shown in blocks for model in shown})
        filled_blocks = []
        lost: list[LostCell] = []
        for title, block, of_block in blocks:
            # columns are the same in each block
            has_columns = self._table.columns == MODELS
            chosen = shown_anywhere if has_columns else of_block
            shown = self._sorted(chosen, block)
            filled_blocks.append(self._block(title, block, shown))
            for model in shown:
                for cell in self._own_cells(model, block):
                    if cell.content.state in ("lost", "absent"):
                        lost.append(LostCell(self._models[model].name, cell.content))
        models = [self._models[model] for model in shown_anywhere]
        notes = [self._table.note] if self._table.note else []
        notes += notes_of(models, lost, self.keys())
        name = self._table.name
        kind = "figure" if self._table.is_figure else "table"
        title_words = f"{benchmark}, {kind} {name}" if name[:1].isdigit() else benchmark
        if self._table.title:
            title_words += f": {self._table.title}"
        if self._table.key.scale == 100:
            title_words += " (%)"
        return PaperTable(
            name=name,
            title=title_words,
            corner="" if self._table.rows != MODELS else "Model",
            blocks=tuple(filled_blocks),
            notes=tuple(notes),
            wrap=self._table.wrap,
        )

    def keys(self) -> list[NumberKey]:
        """Returns the keys of all cells that are not means."""
        keys: dict[NumberKey, None] = {}
        for cell in self._cells.values():
            if not cell.is_mean:
                keys[_number_key(cell.key)] = None
        return list(keys)

    def _block(self, title: Title, block: int, models: Sequence[int]) -> Block:
        grid = self._grid(block, models)
        best = self._best(list(grid.values()), title)
        rows: list[TableRow] = []
        first: Sequence[Spot] = ()
        for row_title, spots in grid.items():
            cells = []
            for column, spot in enumerate(spots):
                base = first[column] if first else None
                cells.append(self._shown(spot, base, is_bold=spot in best))
            rows.append(TableRow(row_title.title, tuple(cells)))
            if self._table.delta and not first:
                first = spots
        return Block(title, self._columns(models), tuple(rows))

    def _columns(self, models: Sequence[int]) -> tuple[TableColumn, ...]:
        if self._table.columns == MODELS:
            titles = [self._title(model) for model in models]
            return tuple(TableColumn((title.text,), title.mark) for title in titles)
        lines = [line for line in self._axes["columns"] if line is not None]
        return tuple(TableColumn(line.headers) for line in lines)

    def _grid(self, block: int, models: Sequence[int]) -> dict[_RowKey, list[Spot]]:
        """Returns the cells of each row of a block."""
        columns = range(len(self._axes["columns"]))
        grid: dict[_RowKey, list[Spot]] = {}
        if self._table.rows == MODELS:
            for model in models:
                row = [(model, Place(block, 0, column)) for column in columns]
                grid[_RowKey(model, self._title(model))] = row
            return grid
        for position, line in enumerate(self._axes["rows"]):
            key = _RowKey(position, Title(" ".join(line.headers) if line else ""))
            if self._table.columns == MODELS:
                place = Place(block, position, 0)
                grid[key] = [(model, place) for model in models]
            else:
                # a block of one model
                places = [Place(block, position, column) for column in columns]
                grid[key] = [(models[0], place) for place in places]
        return grid

    def _shown(self, spot: Spot, base: Spot | None, *, is_bold: bool) -> ShownCell:
        """Returns a cell; with ``base``, its difference to that cell in brackets."""
        own = self._cell(*spot)
        text = own.shown
        content = own.content
        before = None if base is None else self._cell(*base).content.value
        if before is not None and content.value is not None:
            text += f" ({_signed(printed(content.value - before, own.key))})"
        return ShownCell(
            text, content.value, is_bold, interval=content.interval, n=content.n
        )

    # --- the best cells ---------------------------------------------------------------

    def _best(self, grid: Sequence[Sequence[Spot]], title: Title) -> set[Spot]:
        """Returns the best cells of a block, compared as printed, so that cells that
        look alike are marked alike. Published rows are not ranked among runs, and
        a model or run alone is not the best."""
        marks = self._table.best
        runs = [model for model in self._models if model.run is not None]
        has_runs = bool(runs)
        is_alone = len(runs or self._models) == 1
        if marks is None or is_alone or title.text in marks.except_groups:
            return set()
        by_place: dict[Place, list[Spot]] = {}
        for row in grid:
            for model, place in row:
                own = self._models[model]
                is_excepted = own.name in marks.except_rows
                is_excepted |= own.group in marks.except_groups
                is_ranked = own.run is not None or not has_runs
                is_known = self._cell(model, place).content.state == "known"
                if is_known and is_ranked and not is_excepted:
                    by_place.setdefault(place, []).append((model, place))
        best: set[Spot] = set()
        for cells in by_place.values():
            values = [float(self._cell(*cell).number) for cell in cells]
            higher = self._cell(*cells[0]).content.higher_is_better
            target = max(values) if higher else min(values)
            for cell, value in zip(cells, values, strict=True):
                if value == target:
                    best.add(cell)
        return best

    # --- order ------------------------------------------------------------------------

    def _sorted(self, models: Sequence[int], block: int) -> list[int]:
        """Returns models in order: groups as given, then runs before published rows,
        then the best first. Models without a value come last."""
        place = self._sort_place(block)
        if place is None:
            return list(models)
        groups = list(dict.fromkeys(self._models[model].group for model in models))

        def order(model: int) -> tuple[int, bool, bool, float]:
            row = self._models[model]
            content = self._cell(model, place).content
            value = content.value or 0.0
            return (
                groups.index(row.group),
                row.run is None,
                content.value is None,
                -value if content.higher_is_better else value,
            )

        return sorted(models, key=order)

    def _sort_place(self, block: int) -> Place | None:
        if self._sort == GIVEN:
            return None
        for axis in ("rows", "columns"):
            for position, line in enumerate(self._axes[axis]):
                if line is None:
                    continue
                if self._sort in (" ".join(line.headers), line.headers[-1]):
                    return Place(block)._replace(**{axis: position})
        return None


def _number_key(key: CellKeys) -> NumberKey:
    return NumberKey(
        key.task or "", key.number or "", key.slice or "", key.kind or "absolute"
    )


def _signed(text: str) -> str:
    return text if text.startswith("-") else f"+{text}"
