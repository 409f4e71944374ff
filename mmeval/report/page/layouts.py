"""The tables of layouts on the page: those of a paper, below the run's numbers."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mmeval.errors import Caught
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.results.layout import Cell, Table, layouts_of, tables_of
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
    texts = [any(isinstance(row[at], str) for row in table.rows) or not table.rows for at in range(len(table.headers))]
    return {
        "title": _text(table.title),
        "headers": [
            {"text": _text(header), "is_number": not text} for header, text in zip(table.headers, texts, strict=True)
        ],
        "rows": [list(_cells(row, table.digits)) for row in table.rows],
        "notes": [_text(note) for note in table.notes],
    }


def _cells(row: Sequence[Cell], digits: int) -> Iterator[dict[str, Any]]:
    for value in row:
        if isinstance(value, str):
            yield {"text": _text(value), "is_number": False}
        else:
            yield {"text": "N/A" if value is None else f"{value:.{digits}f}", "is_number": True}


def _text(text: str) -> str:
    return printable(text, limit=MAX_NOTE)
