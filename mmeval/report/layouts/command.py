"""Writes the tables of layouts for ``mmeval report --layout``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mmeval.errors import UsageError
from mmeval.report.layouts.formats import FORMATS
from mmeval.report.layouts.made import made
from mmeval.report.layouts.rows import OpenRun, Source, sources_of
from mmeval.report.layouts.tables import FilledLayout
from mmeval.report.terminal import print_text
from mmeval.results.board import BoardPublished, BoardRow, BoardRun, read_board
from mmeval.results.provenance import skipped_metrics_note
from mmeval.system.folders import write_atomic
from mmeval.system.wording import file_name

log = logging.getLogger(__name__)


class LayoutCommand(NamedTuple):
    """Which layouts to write, in which formats, in which order of rows, and the folder
    of the files (None: print them)."""

    layouts: Sequence[str]
    formats: Sequence[str]
    into: Path | None
    sort: str


def rows_of(
    runs: Sequence[str], published: Sequence[str], board: str
) -> list[BoardRow]:
    """Returns the rows of a command: those of its board, its runs (``[NAME=]RUN``) and
    its published files. Raises UsageError if there are none."""
    rows: list[BoardRow] = []
    if board:
        rows += read_board(Path(board).expanduser()).rows
    for text in runs:
        rows.append(_named_run(text))
    for file in published:
        rows.append(BoardPublished(Path(file).expanduser()))
    if not rows:
        raise UsageError("name the folder of a run, or use --published or --board")
    return rows


def _named_run(text: str) -> BoardRun:
    path = Path(text).expanduser()
    name, equals, rest = text.partition("=")
    # the path of a run may contain an equals sign
    if not equals or path.exists():
        return BoardRun(path)
    return BoardRun(Path(rest), name)


def write_layouts(command: LayoutCommand, rows: Sequence[BoardRow]) -> bool:
    """Prints or writes the tables of layouts. Returns True if every run has numbers in
    the tables.

    Raises UnknownNameError for an unknown layout, and UsageError if no table has a row.
    """
    from mmeval.report.page.writer import check_replaceable

    sources = sources_of(rows)
    for source in sources:
        if isinstance(source, OpenRun):
            for note in skipped_metrics_note(source.run):
                log.warning("%s", note)
    if command.into is not None:
        check_replaceable(command.into)
    is_whole = True
    for position, name in enumerate(command.layouts):
        layout = made(name, sources, sort=command.sort)
        if not layout.tables:
            raise UsageError(
                f"--layout {name}: the layout has no table for the numbers of "
                f"{_first_place(sources)}; use another layout"
            )
        for run in layout.incomplete:
            is_whole = False
            log.warning("%s: the layout %s has no number of this run", run, name)
        if position and command.into is None:
            print_text("\n")
        for form in command.formats:
            _write(layout, name, form, command.into)
    return is_whole


def _first_place(sources: Sequence[Source]) -> Path:
    first = sources[0]
    return first.run.folder if isinstance(first, OpenRun) else first.file


def _write(layout: FilledLayout, name: str, form: str, into: Path | None) -> None:
    from mmeval.report.page.writer import TABLES

    text = FORMATS[form].render(layout.tables)
    if into is None:
        print_text(text)
        return
    file = into / TABLES / f"{file_name(name)}.{FORMATS[form].extension}"
    write_atomic(file, text.encode("utf-8", "replace"))
    print_text(f"{file}\n")
