"""Reads and writes a board file: the runs and published rows of one table.

    title: Our models
    rows:
      - {run: runs/bagel/default, name: BAGEL, group: Open-source models}
      - {published: paper.csv, models: [Emu3, Janus-Pro]}

Paths are relative to the folder of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.errors import UsageError, did_you_mean
from mmeval.system.folders import write_atomic

if TYPE_CHECKING:
    from mmeval.system.yaml_document import Document, KeyPath

_BOARD_KEYS = ("title", "rows")
_RUN_KEYS = ("run", "name", "group")
_PUBLISHED_KEYS = ("published", "models")


@dataclass(frozen=True)
class BoardRun:
    """A run of a board. ``name`` replaces the model's name, and ``group`` is a heading;
    either may be empty."""

    run: Path
    name: str = ""
    group: str = ""


@dataclass(frozen=True)
class BoardPublished:
    """Rows of a CSV file of published numbers: all its models, or the named ones."""

    published: Path
    models: tuple[str, ...] = ()


BoardRow: TypeAlias = BoardRun | BoardPublished


@dataclass(frozen=True)
class Board:
    """The title of a board, which may be empty, and its rows in order."""

    title: str
    rows: tuple[BoardRow, ...]


def read_board(file: Path) -> Board:
    """Returns the board of a file. Its relative paths start in the file's folder.

    Raises TaskFileError with the file and line of a fault.
    """
    # Imported late: most commands are given runs, and not a board file.
    from mmeval.system.yaml_document import read_document

    document = read_document(file)
    _check_keys(document, (), document.data, _BOARD_KEYS)
    title = _text(document, ("title",), document.data.get("title", ""))
    rows = document.data.get("rows")
    if not isinstance(rows, list) or not rows:
        raise document.error(("rows",), "must be a list of runs and published rows")
    return Board(
        title, tuple(_row(document, position) for position in range(len(rows)))
    )


def is_board(path: Path) -> bool:
    """Returns True if an argument is a board file, and not the folder of a run."""
    return path.suffix in (".yaml", ".yml") and path.is_file()


def folders_of(path: Path) -> list[Path]:
    """Returns the run folders of a board file; of any other path, the path itself.

    Raises TaskFileError for a wrong board file, and UsageError if it lists no runs.
    """
    if not is_board(path):
        return [path]
    folders = []
    for row in read_board(path).rows:
        if isinstance(row, BoardRun):
            folders.append(row.run)
    if not folders:
        raise UsageError(f"{path} lists no runs")
    return folders


def write_board(path: Path, board: Board) -> None:
    """Writes a board file. Paths below its folder are written relative to it."""
    import yaml

    rows: list[dict[str, Any]] = []
    for row in board.rows:
        if isinstance(row, BoardRun):
            entry: dict[str, Any] = {"run": _relative(row.run, path.parent)}
            if row.name:
                entry["name"] = row.name
            if row.group:
                entry["group"] = row.group
        else:
            entry = {"published": _relative(row.published, path.parent)}
            if row.models:
                entry["models"] = list(row.models)
        rows.append(entry)
    content: dict[str, Any] = {"title": board.title} if board.title else {}
    content["rows"] = rows
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    write_atomic(path, text.encode())


def _relative(path: Path, folder: Path) -> str:
    absolute = path.expanduser().resolve()
    if absolute.is_relative_to(folder.resolve()):
        return absolute.relative_to(folder.resolve()).as_posix()
    return str(absolute)


def _row(document: Document, position: int) -> BoardRow:
    path: KeyPath = ("rows", position)
    row = document.data["rows"][position]
    if isinstance(row, Mapping) and "run" in row:
        _check_keys(document, path, row, _RUN_KEYS)
        return BoardRun(
            _path(document, (*path, "run"), row["run"]),
            _text(document, (*path, "name"), row.get("name", "")),
            _text(document, (*path, "group"), row.get("group", "")),
        )
    if isinstance(row, Mapping) and "published" in row:
        _check_keys(document, path, row, _PUBLISHED_KEYS)
        models = row.get("models", [])
        if not isinstance(models, list):
            raise document.error((*path, "models"), "must be a list of names")
        names = []
        for number, model in enumerate(models):
            names.append(_text(document, (*path, "models", number), model))
        file = _path(document, (*path, "published"), row["published"])
        return BoardPublished(file, tuple(names))
    raise document.error(path, "must be {run: FOLDER} or {published: FILE}")


def _check_keys(
    document: Document, path: KeyPath, row: Mapping[str, Any], known: tuple[str, ...]
) -> None:
    for key in row:
        if key not in known:
            message = f"unknown key{did_you_mean(key, known)}"
            raise document.error((*path, key), message)


def _path(document: Document, path: KeyPath, value: Any) -> Path:
    """Returns a path, which is relative to the folder of the board file."""
    text = _text(document, path, value)
    if not text:
        raise document.error(path, "must not be empty")
    return document.file.parent / Path(text).expanduser()


def _text(document: Document, path: KeyPath, value: Any) -> str:
    if not isinstance(value, str):
        written = document.place(path).written or "nothing"
        raise document.error(path, f"must be text, not {written}; put it in quotes")
    return value
