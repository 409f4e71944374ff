"""Draws the figures of a layout, with a polygon, bar, line or mark for each model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mmeval.report.charts.bars import WIDTH, ChartBar, bars
from mmeval.report.charts.forest import ForestRow, forest
from mmeval.report.charts.lines import lines
from mmeval.report.charts.radar import radar
from mmeval.report.charts.scale import shown
from mmeval.report.charts.series import MOST_SERIES, ChartSeries
from mmeval.report.charts.svg import CHAR_WIDTH, Drawing
from mmeval.report.layouts.engine import filled
from mmeval.report.layouts.tables import (
    PUBLISHED,
    Block,
    MissingRun,
    ModelRow,
    PaperTable,
    ShownCell,
    TableRow,
    Title,
)
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.system.wording import printable, wrapped
from mmeval.task.layout_file import LayoutFigure, LayoutFile, LayoutTable, lines_of
from mmeval.task.layout_keys import MODELS


@dataclass(frozen=True)
class DrawnFigure:
    """A drawing with a name: the layout, the figure and the panel."""

    name: str
    panel: str
    drawing: Drawing


@dataclass(frozen=True)
class DrawnFigures:
    """The figures of a layout.

    ``incomplete`` names the runs that have no number for a figure in which another run
    has one, or for any figure. ``left_out`` names the figures and panels for which no
    model has a number.
    """

    figures: Sequence[DrawnFigure]
    incomplete: Sequence[MissingRun]
    left_out: Sequence[str]


def figures_of(
    layout: LayoutFile, models: Sequence[ModelRow], *, sort: str
) -> DrawnFigures:
    """Returns the figures of a layout, with a drawing for each panel."""
    drawn: list[DrawnFigure] = []
    left_out = []
    for figure in layout.figures:
        tables: list[PaperTable] = []
        # a table for each panel: the notes of a drawing are its own
        for table, of_panel in _by_panel(figure.table, models):
            own = replace(layout, tables=(table,), note="")
            tables += filled(own, of_panel, sort=sort).tables
        panels = _panels(layout.name, figure, tables)
        drawn += panels
        left_out += _left_out(figure.table, tables, panels)
    of_figures = tuple(figure.table for figure in layout.figures)
    whole = filled(replace(layout, tables=of_figures), models)
    return DrawnFigures(drawn, whole.incomplete, left_out)


def _left_out(
    table: LayoutTable, tables: Sequence[PaperTable], panels: Sequence[DrawnFigure]
) -> list[str]:
    """Returns the name of the figure if nothing is drawn, or else the names of its
    panels that are not drawn."""
    if not panels:
        return [table.name]
    names: dict[str, None] = {}
    for line in lines_of(table.blocks):
        if line is not None:
            names[" ".join(line.headers)] = None
    for paper_table in tables:
        names |= dict.fromkeys(block.title.text for block in paper_table.blocks)
    drawn = [panel.panel for panel in panels]
    return [f"{table.name} {name}" for name in names if name not in drawn]


def _by_panel(
    table: LayoutTable, models: Sequence[ModelRow]
) -> Iterator[tuple[LayoutTable, Sequence[ModelRow]]]:
    if isinstance(table.blocks, tuple):
        for line in table.blocks:
            yield replace(table, blocks=(line,)), models
    elif table.blocks == MODELS:
        for model in models:
            yield table, [model]
    else:
        yield table, models


def _with_unique_titles(block: Block) -> Block:
    """Returns a block in which rows of the same title are numbered."""
    counts: Counter[Title] = Counter()
    rows = []
    for row in block.rows:
        counts[row.title] += 1
        title = row.title
        if counts[title] > 1:
            title = replace(title, text=f"{title.text} ({counts[title]})")
        rows.append(replace(row, title=title))
    return replace(block, rows=tuple(rows))


def _panels(
    layout: str, figure: LayoutFigure, tables: Sequence[PaperTable]
) -> list[DrawnFigure]:
    blocks: list[tuple[PaperTable, Block]] = []
    # if all fit, a model has the same colour in all panels
    titles: dict[Title, None] = {}
    for table in tables:
        for block in map(_with_unique_titles, table.blocks):
            blocks.append((table, block))
            titles |= dict.fromkeys(row.title for row in block.rows)
    panels = []
    for table, block in blocks:
        of_block = [row.title for row in block.rows]
        chosen = list(titles)
        if len(titles) > MOST_SERIES:
            chosen = of_block[:MOST_SERIES]
        rows = [row for row in block.rows if row.title in chosen]
        if not any(cell.value is not None for row in rows for cell in row.cells):
            continue
        notes = list(table.notes)
        if len(of_block) > MOST_SERIES:
            notes.append(f"The first {MOST_SERIES} of {len(of_block)} models.")
        panel = _Panel(figure, block, rows, chosen)
        heading = ": ".join(filter(None, [table.title, block.title.marked]))
        drawing = panel.drawn(heading).captioned(_lines(heading), _all_lines(notes))
        name = "-".join(filter(None, [layout, table.name, block.title.text]))
        panels.append(DrawnFigure(name, block.title.text, drawing))
    return panels


def _all_lines(notes: Sequence[str]) -> list[str]:
    lines_of_notes: list[str] = []
    for note in notes:
        lines_of_notes += _lines(note)
    return lines_of_notes


def _lines(text: str) -> list[str]:
    return wrapped(printable(text, limit=MAX_NOTE), int(WIDTH / CHAR_WIDTH), "  ")


class _Panel:
    """The numbers of a block as the records of a chart, in the unit of the figure."""

    def __init__(
        self,
        figure: LayoutFigure,
        block: Block,
        rows: Sequence[TableRow],
        titles: Sequence[Title],
    ) -> None:
        self._figure = figure
        self._block_title = block.title
        self._rows = rows
        self._titles = titles
        scale = figure.table.key.scale
        self._scale = 1.0 if scale is None else scale
        self._points = [column.text for column in block.columns]

    def drawn(self, title: str) -> Drawing:
        spread = self._spread()
        series = []
        for own in self._titles:
            series.append(ChartSeries(own.marked, self._is_published(own)))
        if self._figure.chart == "radar":
            return radar(title, self._points, self._outlines(series), spread=spread)
        if self._figure.chart == "forest":
            return forest(title, self._marks(), spread=spread, has_zero=False)
        draw = bars if self._figure.chart == "bars" else lines
        return draw(title, self._bars(), series=series, spread=spread)

    def _spread(self) -> tuple[float, float] | None:
        """Returns the ends of the axis. They are unknown if a value is outside, since a
        value outside would be drawn at the end."""
        if self._figure.range is None:
            return None
        low, high = sorted(self._scale * end for end in self._figure.range)
        for row in self._rows:
            for cell in row.cells:
                value = self._value(cell)
                if value is not None and not low <= value <= high:
                    return None
        return low, high

    def _is_published(self, title: Title) -> bool:
        return PUBLISHED in (title.mark, self._block_title.mark)

    def _value(self, cell: ShownCell) -> float | None:
        return None if cell.value is None else self._scale * cell.value

    def _interval(self, cell: ShownCell) -> tuple[float, float] | None:
        if cell.interval is None:
            return None
        low, high = sorted(self._scale * end for end in cell.interval)
        return low, high

    def _outlines(
        self, series: Sequence[ChartSeries]
    ) -> list[tuple[ChartSeries, list[float | None]]]:
        by_title = {row.title: row for row in self._rows}
        outlines = []
        for title, own in zip(self._titles, series, strict=True):
            values: list[float | None] = [None] * len(self._points)
            if title in by_title:
                values = [self._value(cell) for cell in by_title[title].cells]
            outlines.append((own, values))
        return outlines

    def _bars(self) -> list[tuple[str, list[ChartBar]]]:
        groups = []
        for place, point in enumerate(self._points):
            group = []
            for row in self._rows:
                cell = row.cells[place]
                value, interval = self._value(cell), self._interval(cell)
                number = self._titles.index(row.title)
                group.append(ChartBar(value, interval, number, cell.shown))
            groups.append((point, group))
        return groups

    def _marks(self) -> list[tuple[str, list[ForestRow]]]:
        groups = []
        for place, point in enumerate(self._points):
            marks = []
            for row in self._rows:
                cell = row.cells[place]
                value = self._value(cell)
                text = cell.shown if value is None else shown(value)
                if cell.n is not None:
                    text += f", n {cell.n:,}"
                mark = ForestRow(
                    row.title.marked,
                    "unsure",
                    value,
                    self._interval(cell),
                    text,
                    is_dashed=self._is_published(row.title),
                )
                marks.append(mark)
            groups.append((point, marks))
        return groups
