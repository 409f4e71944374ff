"""Builds the tables of papers for the template."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from mmeval.report.layouts.formats.lines import Heading, PrintedBand, bands_of
from mmeval.report.layouts.made import made
from mmeval.report.layouts.rows import OpenRun
from mmeval.report.layouts.tables import PaperTable
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.results.layout import layouts_of
from mmeval.results.stored_run import StoredRun
from mmeval.system.wording import printable

log = logging.getLogger(__name__)


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
    runs_of: dict[str, list[OpenRun]] = {}
    for run, label in runs:
        for name in layouts_of(run) if run.results else ():
            runs_of.setdefault(name, []).append(OpenRun(run, label))
    for name, of_layout in runs_of.items():
        tables = []
        try:
            for table in made(name, of_layout).tables:
                tables += [_layout_table(table, band) for band in bands_of(table)]
        # a plugin's layout may raise anything
        except (Exception, SystemExit) as error:
            log.debug("a layout failed", exc_info=error)
            notes.append(f"The tables {name} are not shown: {_text(str(error))}")
        if tables:
            title = f"Tables of the layout {name}"
            layouts.append({"title": title, "tables": tables})
    return LayoutTables(tuple(layouts), tuple(notes))


def _layout_table(table: PaperTable, band: PrintedBand) -> dict[str, Any]:
    headers = [{"text": _text(band.corner), "is_number": False}]
    for column, is_number in zip(band.columns, band.are_numbers, strict=True):
        text = _text(f"{column.text}{column.mark}")
        headers.append({"text": text, "is_number": is_number})
    rows = []
    for line in band.lines:
        cells = [{"text": _text(line.title.marked), "is_number": False}]
        if isinstance(line, Heading):
            cells += [{"text": "", "is_number": False} for _ in band.columns]
        else:
            for cell in line.cells:
                is_number = not cell.is_text
                cells.append({"text": _text(cell.shown), "is_number": is_number})
        rows.append(cells)
    return {
        "title": _text(table.title),
        "headers": headers,
        "rows": rows,
        "notes": [_text(note) for note in table.notes],
    }


def _text(text: str) -> str:
    return printable(text, limit=MAX_NOTE)
