"""The tables of the page as its template takes them: the numbers, and the tables of
papers below them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from mmeval.records.score import Key, Result
from mmeval.report.baseline import Column
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
    beside: Column | None = None,
) -> list[dict[str, Any]]:
    """One table of tasks and groups, runs side by side; none where there is no number.

    With ``uncounted`` trials among the samples, the links lead to the others alone.
    ``beside`` is a column of a baseline's numbers.
    """
    if not rows:
        return []
    below = (
        list(dict.fromkeys(row.notes for row in rows if row.notes))
        if len(names) > 1
        else []
    )
    found = [
        {
            **_row(
                row,
                below.index(row.notes) + 1 if row.notes in below else None,
                link(row, uncounted=uncounted),
            ),
            "beside": "" if beside is None else _beside(row, beside),
        }
        for row in rows
    ]
    baseline = "" if beside is None else beside.header
    return [
        {
            "title": "Numbers",
            "columns": list(names),
            "baseline": baseline,
            "rows": found,
            "remarks": below,
        }
    ]


def _beside(row: NumberRow, column: Column) -> str:
    other = column.values.get(Key(row.task, row.metric, row.slice))
    return "" if other is None else f"{other.value:.{DIGITS}f}"


def _row(row: NumberRow, remark: int | None, href: str) -> dict[str, Any]:
    return {
        "depth": row.depth,
        "name": row.label,
        "href": href,
        "version": row.version,
        "metric": row.metric,
        "better": "up" if row.higher_is_better else "down",
        "notes": row.notes if remark is None else "",
        "remark": remark,
        "numbers": [
            None if result is None else _number(result) for result in row.results
        ],
        "absent": list(row.absent),
    }


def link(row: NumberRow, *, uncounted: bool) -> str:
    """The row's trials in the gallery, without those ``uncounted`` if there are any;
    empty for a group."""
    if row.is_group:
        return ""
    name, _, level = row.slice.partition("=")
    label = f"&label.{_quoted(name)}={_quoted(level)}" if row.slice else ""
    return f"#task={_quoted(row.task)}{label}" + (
        f"&status={','.join(STATUSES[:-1])}" if uncounted else ""
    )


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _number(result: Result) -> dict[str, Any]:
    counts = {status: getattr(result, status) for status in _STATUSES}
    return {
        "value": "" if result.value is None else f"{result.value:.{DIGITS}f}",
        "stderr": "" if result.stderr is None else f"{result.stderr:.{DIGITS}f}",
        "interval": "" if result.interval is None else from_to(result.interval),
        "bounds": from_to(result.bounds)
        if result.bounds is not None and (result.failed or result.unscored)
        else "",
        "counts": {name: count for name, count in counts.items() if count},
        "total": result.n,
    }


class Papers(NamedTuple):
    """The tables of each layout for the template, and a note on each without any."""

    layouts: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


def papers(runs: Sequence[tuple[StoredRun, str]]) -> Papers:
    """The layouts that the runs name, each run with its label (empty for a sole one). A
    run without numbers has none. A layout that fails, or is not installed here, is a
    note; the page is still made."""
    found: list[dict[str, Any]] = []
    notes: list[str] = []
    for run, called in runs:
        for layout in layouts_of(run) if run.results else ():
            of = f" of {called}" if called else ""
            tables = []
            try:
                tables = [paper(table) for table in tables_of(run, layout)]
            except Exception as error:  # the cells of a plugin's layout may be anything
                log.debug("a layout failed", exc_info=error)
                notes.append(
                    f"The tables {layout}{of} are not shown: "
                    f"{printable(str(error), limit=MAX_NOTE)}"
                )
            if tables:
                found.append(
                    {
                        "title": "Tables of the layout "
                        f"{layout}{f': {called}' if called else ''}",
                        "tables": tables,
                    }
                )
    return Papers(tuple(found), tuple(notes))


def paper(table: Table) -> dict[str, Any]:
    headers = zip(table.headers, number_columns(table), strict=True)
    return {
        "title": _text(table.title),
        "headers": [
            {"text": _text(header), "is_number": is_number}
            for header, is_number in headers
        ],
        "rows": [
            [
                {
                    "text": _text("" if value is None else shown(value, table.digits)),
                    "is_number": not isinstance(value, str),
                }
                for value in row
            ]
            for row in table.rows
        ],
        # unknown cells are empty on the page
        "notes": [_text(note.replace(UNKNOWN, "Empty")) for note in table.notes],
    }


def _text(text: str) -> str:
    return printable(text, limit=MAX_NOTE)
