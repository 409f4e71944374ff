"""``mmeval report RUN --layout NAME``: the tables of a paper, printed or written."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mmeval.cli.streams import print_text
from mmeval.errors import UsageError
from mmeval.report.layout_text import ENDINGS, RENDERED
from mmeval.results.layout import Table, load_layout, tables_of
from mmeval.results.stored_run import StoredRun

log = logging.getLogger(__name__)


def write_layout(folders: Sequence[Path], name: str, formats: Sequence[str], into: Path | None) -> bool:
    """Print the tables of a layout, run by run, or write them into a folder. Whether every run has some.

    ``formats`` are among those of tables. Raises UnknownNameError for a layout that nobody has registered, UsageError
    where no run has a table.
    """
    load_layout(name)
    runs = [StoredRun(folder) for folder in folders]
    found = [(run, [_of(run, table, len(runs) > 1) for table in tables_of(run, name)]) for run in runs]
    for run, tables in found:
        if not tables:
            log.warning("%s: the layout %s has no table of this run, which has none of its tasks", run.folder, name)
    if not any(tables for _, tables in found):
        raise UsageError(f"--layout {name}: no table; the layout is for other tasks than those of {runs[0].folder}")
    for wanted in formats:
        _give([table for _, tables in found for table in tables], name, wanted, into)
    return all(tables for _, tables in found)


def _of(run: StoredRun, table: Table, several: bool) -> Table:
    """A table that says whose it is, where there are several runs."""
    return replace(table, title=f"{run.name}: {table.title}") if several else table


def _give(tables: Sequence[Table], name: str, wanted: str, into: Path | None) -> None:
    from mmeval.report.page.writer import TABLES, check_replaceable
    from mmeval.system.json_lines import write_atomic
    from mmeval.wording import file_name

    text = RENDERED[wanted](tables)
    if into is None:
        print_text(text)
        return
    check_replaceable(into)
    file = into / TABLES / f"{file_name(name)}.{ENDINGS[wanted]}"
    write_atomic(file, text.encode("utf-8", "replace"))
    print_text(f"{file}\n")
