"""Writes the tables and figures of layouts for ``mmeval report --layout``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mmeval.errors import UsageError
from mmeval.report.charts import standalone, written
from mmeval.report.layouts.made import drawn_figures, made
from mmeval.report.layouts.rows import OpenRun, Source, sources_of
from mmeval.report.layouts.tables import MissingRun, ModelRow, PaperTable
from mmeval.report.layouts.writers import FORMATS
from mmeval.report.terminal import print_text
from mmeval.results.board import (
    Board,
    BoardPublished,
    BoardRow,
    BoardRun,
    is_board,
    read_board,
)
from mmeval.results.provenance import skipped_metrics_note
from mmeval.system.folders import write_atomic
from mmeval.system.wording import file_name, file_names, listed
from mmeval.task.layout_file import layout_file

MAX_NAMED = 10
FIGURE_FORMATS = ("svg", "png")
"""The formats of figures; those of tables are in FORMATS."""

log = logging.getLogger(__name__)


class LayoutCommand(NamedTuple):
    """Which layouts to write, in which formats, in which order of rows, and the folder
    of the files (None: print them)."""

    layouts: Sequence[str]
    formats: Sequence[str]
    into: Path | None
    sort: str


def board_of(runs: Sequence[str], published: Sequence[str], file: str) -> Board:
    """Returns the board of a command: the rows of its board files, its runs
    (``[NAME=]RUN``) and its published files. Raises UsageError if there are none."""
    rows: list[BoardRow] = []
    title = ""
    if file:
        board = read_board(Path(file).expanduser())
        title = board.title
        rows += board.rows
    for text in runs:
        path = Path(text).expanduser()
        if is_board(path):
            board = read_board(path)
            title = title or board.title
            rows += board.rows
        else:
            rows.append(_named_run(text))
    for paper in published:
        rows.append(BoardPublished(Path(paper).expanduser()))
    if not rows:
        raise UsageError("name the folder of a run, or use --published or --board")
    return Board(title, tuple(rows))


def _named_run(text: str) -> BoardRun:
    path = Path(text).expanduser()
    name, equals, rest = text.partition("=")
    # the path of a run may contain an equals sign
    if not equals or path.exists():
        return BoardRun(path)
    return BoardRun(Path(rest), name)


def write_layouts(command: LayoutCommand, board: Board) -> bool:
    """Prints or writes the tables and figures of layouts, below the title of the board.

    Returns True if every run has numbers in them. Raises UnknownNameError for an
    unknown layout, and UsageError if no table has a row, if no figure can be drawn, or
    if several figures have no folder.
    """
    from mmeval.report.page.writer import check_replaceable

    sources = sources_of(board.rows)
    for source in sources:
        if isinstance(source, OpenRun):
            for note in skipped_metrics_note(source.run):
                log.warning("%s", note)
    if command.into is not None:
        check_replaceable(command.into)
    tables = FORMATS.keys() & command.formats
    figures = set(FIGURE_FORMATS) & set(command.formats)
    is_whole = True
    for position, name in enumerate(command.layouts):
        if tables:
            if position and command.into is None:
                print_text("\n")
            is_whole &= _write_tables(command, name, sources, board.title)
        if figures:
            is_whole &= _write_figures(command, name, sources)
    return is_whole


def _write_tables(
    command: LayoutCommand, name: str, sources: Sequence[Source], title: str
) -> bool:
    """Returns True if every run has numbers in the tables."""
    layout = made(name, sources, sort=command.sort)
    if not layout.tables:
        raise UsageError(
            f"--layout {name}: the layout has no table for the numbers of "
            f"{_first_place(sources)}; use another layout"
        )
    _warn_of(layout.incomplete, name, "table")
    _warn_of_published(layout.not_shown, name)
    titled = _titled(layout.tables, title)
    written_file = layout_file(name)
    stem = written_file.name if written_file else name
    for form in command.formats:
        if form in FORMATS:
            _write(titled, stem, form, command.into)
    return not layout.incomplete


def _first_place(sources: Sequence[Source]) -> Path:
    first = sources[0]
    return first.run.folder if isinstance(first, OpenRun) else first.file


def _warn_of(incomplete: Sequence[MissingRun], layout: str, kind: str) -> None:
    for missing in incomplete:
        place = f"{kind} {missing.table}" if missing.table else f"{kind}s"
        log.warning(
            "%s: no number for the %s of the layout %s", missing.name, place, layout
        )


def _warn_of_published(rows: Sequence[ModelRow], layout: str) -> None:
    """Warns of published models that have no row, for example if the name of a task is
    misspelt in their file."""
    names_of_file: dict[str, list[str]] = {}
    for row in rows:
        names_of_file.setdefault(row.source, []).append(row.name)
    for file, names in names_of_file.items():
        log.warning(
            "%s: the layout %s has none of the numbers of %s; check their tasks and "
            "metrics",
            file,
            layout,
            listed(names, MAX_NAMED),
        )


def _titled(tables: Sequence[PaperTable], title: str) -> Sequence[PaperTable]:
    """Returns tables whose titles begin with the title of a board, if it has one."""
    if not title:
        return tables
    return [replace(table, title=f"{title}. {table.title}") for table in tables]


def _write(
    tables: Sequence[PaperTable], name: str, form: str, into: Path | None
) -> None:
    from mmeval.report.page.writer import TABLES

    text = FORMATS[form].render(tables)
    if into is None:
        print_text(text)
        return
    file = into / TABLES / f"{file_name(name)}.{FORMATS[form].extension}"
    write_atomic(file, text.encode("utf-8", "replace"))
    print_text(f"{file}\n")


def _write_figures(
    command: LayoutCommand, name: str, sources: Sequence[Source]
) -> bool:
    """Writes a file for each figure. Without a folder, prints the only figure. Returns
    True if every run has numbers in the figures."""
    from mmeval.report.page.writer import CHARTS

    drawn = drawn_figures(name, sources, sort=command.sort)
    figures = drawn.figures
    if not figures:
        raise UsageError(
            f"--layout {name}: no row has a number of the layout's figures; use "
            "another layout"
        )
    formats = [form for form in command.formats if form in FIGURE_FORMATS]
    if command.into is None and (formats != ["svg"] or len(figures) > 1):
        raise UsageError(
            f"the figures of the layout {name} need a folder; name it with -o",
            name="output_path",
        )
    _warn_of(drawn.incomplete, name, "figure")
    if drawn.left_out:
        left_out = listed(drawn.left_out, MAX_NAMED)
        log.warning("%s: no row has the numbers of figure %s", name, left_out)
    if command.into is None:
        print_text(standalone(figures[0].drawing))
        return not drawn.incomplete
    stems = file_names(figure.name for figure in figures)
    for figure, stem in zip(figures, stems, strict=True):
        for form in formats:
            file = command.into / CHARTS / f"{stem}.{form}"
            write_atomic(file, written(figure.drawing, form))
            print_text(f"{file}\n")
    return not drawn.incomplete
