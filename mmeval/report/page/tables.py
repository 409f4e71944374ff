"""Builds the tables of papers for the template, and links to trials."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from mmeval.report.page.index import STATUSES
from mmeval.report.table_formats.layouts import UNKNOWN, number_columns, shown
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.results.layout import Table, layouts_of, tables_of
from mmeval.results.numbers import NumberRow
from mmeval.results.stored_run import StoredRun
from mmeval.system.wording import printable

log = logging.getLogger(__name__)


def link(row: NumberRow, *, uncounted: bool) -> str:
    """Returns the link to the list of the row's trials, or an empty string for a
    group. If there are ``uncounted`` trials, the link excludes them."""
    if row.is_group:
        return ""
    address = trials_link(row.task, row.slice)
    if uncounted:
        address += f"&status={','.join(STATUSES[:-1])}"
    return address


def trials_link(task: str, slice_: str = "") -> str:
    """Returns the link to the trials of a task, or of one of its slices."""
    address = f"#task={_quoted(task)}"
    if slice_:
        name, _, level = slice_.partition("=")
        address += f"&label.{_quoted(name)}={_quoted(level)}"
    return address


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


class LayoutTables(NamedTuple):
    """The tables of each layout for the template, and notes on layouts that failed."""

    layouts: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


def layout_tables(runs: Sequence[tuple[StoredRun, str]]) -> LayoutTables:
    """Returns the tables of the layouts that the runs name. Each run comes with its
    label (empty for a single run). A run without numbers has no tables. A layout that
    fails or is not installed becomes a note, and the page is still written."""
    layouts: list[dict[str, Any]] = []
    notes: list[str] = []
    for run, label in runs:
        for layout in layouts_of(run) if run.results else ():
            of_run = f" of {label}" if label else ""
            tables = []
            try:
                tables = [layout_table(table) for table in tables_of(run, layout)]
            # the cells of a plugin's layout may have any type
            except (Exception, SystemExit) as error:
                log.debug("a layout failed", exc_info=error)
                reason = _text(str(error))
                notes.append(f"The tables {layout}{of_run} are not shown: {reason}")
            if tables:
                title = f"Tables of the layout {layout}"
                if label:
                    title += f": {label}"
                layouts.append({"title": title, "tables": tables})
    return LayoutTables(tuple(layouts), tuple(notes))


def layout_table(table: Table) -> dict[str, Any]:
    headers = []
    for header, is_number in zip(table.headers, number_columns(table), strict=True):
        headers.append({"text": _text(header), "is_number": is_number})
    rows = []
    for row in table.rows:
        cells = []
        for value in row:
            # unknown cells are empty on the page
            text = "" if value is None else _text(shown(value, table.digits))
            cells.append({"text": text, "is_number": not isinstance(value, str)})
        rows.append(cells)
    return {
        "title": _text(table.title),
        "headers": headers,
        "rows": rows,
        "notes": [_text(note.replace(UNKNOWN, "Empty")) for note in table.notes],
    }


def _text(text: str) -> str:
    return printable(text, limit=MAX_NOTE)
