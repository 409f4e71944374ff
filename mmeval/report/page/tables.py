"""Builds the tables of the page for its template: the numbers, and the tables of
papers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from mmeval.records.score import Key, Result
from mmeval.report.baseline import BaselineColumn
from mmeval.report.page.index import STATUSES
from mmeval.report.table_formats.layouts import UNKNOWN, number_columns, shown
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.results.layout import Table, layouts_of, tables_of
from mmeval.results.notes import from_to
from mmeval.results.numbers import NumberRow
from mmeval.results.stored_run import StoredRun
from mmeval.system.wording import printable

log = logging.getLogger(__name__)

DIGITS = 4
_STATUSES = (
    "scored",
    "failed",
    "unscored",
    "unavailable",
    "inapplicable",
    "unsupported",
)


def tables(
    rows: Sequence[NumberRow],
    names: Sequence[str],
    *,
    uncounted: bool = False,
    baseline: BaselineColumn | None = None,
) -> list[dict[str, Any]]:
    """Returns one table of tasks and groups, with runs side by side, or an empty list
    if there are no numbers.

    If the samples include ``uncounted`` trials, the links exclude these trials.
    ``baseline`` is the column of another run's numbers.
    """
    if not rows:
        return []
    # with several runs, notes are numbered and placed below the table
    remarks: dict[str, int] = {}
    lines = []
    for row in rows:
        if row.notes and len(names) > 1:
            remarks.setdefault(row.notes, len(remarks) + 1)
        remark = remarks.get(row.notes)
        other = None
        if baseline is not None:
            other = baseline.values.get(Key(row.task, row.metric, row.slice))
        line = {
            "depth": row.depth,
            "name": row.label,
            "href": link(row, uncounted=uncounted),
            "version": row.version,
            "metric": row.metric,
            "better": "up" if row.higher_is_better else "down",
            "notes": row.notes if remark is None else "",
            "remark": remark,
            "numbers": list(map(_number, row.results)),
            "absent": list(row.absent),
            "beside": "" if other is None else f"{other.value:.{DIGITS}f}",
        }
        lines.append(line)
    table = {
        "title": "Numbers",
        "columns": list(names),
        "baseline": "" if baseline is None else baseline.header,
        "rows": lines,
        "remarks": list(remarks),
    }
    return [table]


def link(row: NumberRow, *, uncounted: bool) -> str:
    """Returns the link to the row's trials in the gallery, or an empty string for a
    group. If there are ``uncounted`` trials, the link excludes them."""
    if row.is_group:
        return ""
    address = f"#task={_quoted(row.task)}"
    if row.slice:
        name, _, level = row.slice.partition("=")
        address += f"&label.{_quoted(name)}={_quoted(level)}"
    if uncounted:
        address += f"&status={','.join(STATUSES[:-1])}"
    return address


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _number(result: Result | None) -> dict[str, Any] | None:
    if result is None:
        return None
    counts = {status: getattr(result, status) for status in _STATUSES}
    interval = bounds = ""
    if result.interval is not None:
        interval = from_to(result.interval)
    if result.bounds is not None and (result.failed or result.unscored):
        bounds = from_to(result.bounds)
    return {
        "value": "" if result.value is None else f"{result.value:.{DIGITS}f}",
        "stderr": "" if result.stderr is None else f"{result.stderr:.{DIGITS}f}",
        "interval": interval,
        "bounds": bounds,
        "counts": {name: count for name, count in counts.items() if count},
        "total": result.n,
    }


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
