"""Makes the tables of a layout by its name: from its file, or by its function."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mmeval.errors import UsageError, did_you_mean
from mmeval.report.layouts.behind import table_behind
from mmeval.report.layouts.engine import GIVEN, filled, sort_names
from mmeval.report.layouts.figures import DrawnFigures, figures_of
from mmeval.report.layouts.rows import OpenRun, Source, model_rows
from mmeval.report.layouts.tables import (
    UNKNOWN,
    Block,
    FilledLayout,
    MissingRun,
    PaperTable,
    ShownCell,
    TableColumn,
    TableRow,
    Title,
)
from mmeval.report.layouts.writers import FORMATS
from mmeval.results.layout import Cell, Table, layouts_of, tables_of
from mmeval.results.stored_run import StoredRun
from mmeval.task.layout_file import LayoutFile, layout_file

log = logging.getLogger(__name__)


def made(name: str, sources: Sequence[Source], *, sort: str = GIVEN) -> FilledLayout:
    """Returns the tables of a layout for runs and published numbers.

    A layout file puts all models into the same tables. The function of a layout makes
    tables of one run, so each run has its own. Raises UnknownNameError for an unknown
    layout, UsageError for published numbers or an order that it cannot show, and
    PluginError if its code fails.
    """
    layout = layout_file(name)
    if layout is None:
        return _by_function(name, sources, sort)
    _check_sort(layout, sort)
    models = model_rows(layout, sources)
    tables = filled(layout, models, sort=sort)
    behind = None
    if tables.tables:
        behind = table_behind(layout, models, tables.keys)
    if behind is None:
        return tables
    return replace(tables, tables=(*tables.tables, behind))


def drawn_figures(name: str, sources: Sequence[Source], *, sort: str) -> DrawnFigures:
    """Returns the figures of a layout for runs and published numbers.

    Raises UnknownNameError for an unknown layout, UsageError for a layout without
    figures or an unknown order, and PluginError if its code fails.
    """
    layout = layout_file(name)
    if layout is None or not layout.figures:
        raise UsageError(f"the layout {name} has no figures; use another --format")
    _check_sort(layout, sort)
    return figures_of(layout, model_rows(layout, sources), sort=sort)


def _check_sort(layout: LayoutFile, sort: str) -> None:
    known = sort_names(layout)
    if sort != GIVEN and not any(
        sort in (column, column.rpartition(" ")[2]) for column in known
    ):
        raise UsageError(
            f"--sort: the layout {layout.name} has no column {sort!r}"
            f"{did_you_mean(sort, known)}"
        )


def layouts_at_end(folder: Path, results: Path) -> str:
    """Returns the tables of the layouts that a run names, or an empty string if it
    names none. If a layout fails, the run does not fail. The failure is logged as one
    warning with the command that prints the tables later."""
    texts = []
    names: Sequence[str] = ()
    try:
        run = StoredRun(folder, results)
        names = layouts_of(run)
        for name in names:
            tables = made(name, [OpenRun(run)]).tables
            texts.append(FORMATS["markdown"].render(tables))
    # a plugin's layout may raise anything; the results are written already
    except (Exception, SystemExit) as error:
        log.debug("a layout failed", exc_info=error)
        log.warning(
            "the tables of the paper are not printed (%s); mmeval report %s --layout "
            "%s prints them",
            error,
            shlex.quote(str(folder)),
            ",".join(names) or "NAME",
        )
    return "".join(f"\n{text}" for text in texts if text)


def _by_function(name: str, sources: Sequence[Source], sort: str) -> FilledLayout:
    if sort != GIVEN:
        raise UsageError(f"--sort: the layout {name} makes a table for each run")
    tables: list[PaperTable] = []
    incomplete = []
    for source in sources:
        if not isinstance(source, OpenRun):
            raise UsageError(f"the layout {name} cannot show published numbers")
        of_run = list(tables_of(source.run, name))
        if not of_run:
            incomplete.append(MissingRun(source.name or source.run.name))
        for table in of_run:
            title = table.title
            if len(sources) > 1:
                title = f"{source.name or source.run.name}: {title}"
            tables.append(_paper_table(table, title))
    return FilledLayout(tuple(tables), tuple(incomplete))


def _paper_table(table: Table, title: str) -> PaperTable:
    corner, *headers = table.headers
    rows = []
    for first, *cells in table.rows:
        shown = tuple(_shown(cell, table.digits) for cell in cells)
        rows.append(TableRow(Title(_shown(first, table.digits).shown), shown))
    columns = tuple(TableColumn((header,)) for header in headers)
    block = Block(Title(""), columns, tuple(rows))
    return PaperTable(title, title, corner, (block,), table.notes)


def _shown(cell: Cell, digits: int) -> ShownCell:
    if cell is None:
        return ShownCell(UNKNOWN)
    if isinstance(cell, str):
        return ShownCell(cell, is_text=True)
    return ShownCell(f"{cell:.{digits}f}", float(cell))
