"""The tables of layouts on the page: those of a paper, below the run's numbers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from mmeval.errors import Caught
from mmeval.report.layout_text import number_columns, shown
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.results.layout import Table, layouts_of, tables_of
from mmeval.results.stored_run import StoredRun
from mmeval.wording import printable

log = logging.getLogger(__name__)


class Papers(NamedTuple):
    """The tables of each layout for the template, and a note on each without any."""

    layouts: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


def papers(runs: Sequence[tuple[StoredRun, str]]) -> Papers:
    """The layouts that the runs name, each run with its label (empty for a sole one).
    A run without numbers has none. A layout that fails, or is not installed here, is a note; the page is still made."""
    found: list[dict[str, Any]] = []
    notes: list[str] = []
    for run, called in runs:
        for layout in layouts_of(run) if run.results else ():
            of = f" of {called}" if called else ""
            tables = []
            with Caught() as failure:  # the page is about the run, whatever a layout does
                tables = [_shown(table) for table in tables_of(run, layout)]
            if failure:
                log.debug("a layout failed", exc_info=failure.error)
                notes.append(f"The tables {layout}{of} are not shown: {printable(str(failure.error), limit=MAX_NOTE)}")
            if tables:
                found.append(
                    {"title": f"Tables of the layout {layout}{f': {called}' if called else ''}", "tables": tables}
                )
    return Papers(tuple(found), tuple(notes))


def _shown(table: Table) -> dict[str, Any]:
    headers = zip(table.headers, number_columns(table), strict=True)
    return {
        "title": _text(table.title),
        "headers": [{"text": _text(header), "is_number": is_number} for header, is_number in headers],
        "rows": [
            [{"text": _text(shown(value, table.digits)), "is_number": not isinstance(value, str)} for value in row]
            for row in table.rows
        ],
        "notes": [_text(note) for note in table.notes],
    }


def _text(text: str) -> str:
    return printable(text, limit=MAX_NOTE)
