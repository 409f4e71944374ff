"""Read JSON Lines files of other programs; a damaged line refuses the file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, UsageError
from mmeval.system.json_lines import from_line

MAX_LINE_BYTES = 2**26
"""Bytes; a longer line is refused."""


class ForeignLine(NamedTuple):
    """One line: ``place`` is file and number, for messages; ``offset`` its first byte."""

    place: str
    offset: int
    row: dict[str, Any]


def lines_of(file: Path) -> Iterator[ForeignLine]:
    """Read a file's objects, no blank lines. Raises UsageError with file and line."""
    offset = 0
    if file.exists() and not file.is_file():
        raise UsageError(f"{file}: is no plain file")
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(iter(partial(stream.readline, MAX_LINE_BYTES + 1), b""), 1):
                if not line.isspace():
                    yield ForeignLine(f"{file}:{number}", offset, _read(line, f"{file}:{number}"))
                offset += len(line)
    except OSError as error:
        raise MissingDataError(f"{file}: cannot be read ({error.strerror})") from None


def line_at(file: Path, offset: int) -> dict[str, Any]:
    """Read a line of ``lines_of`` again. Raises MissingDataError for a changed file."""
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            return _read(stream.readline(MAX_LINE_BYTES + 1), f"{file}, byte {offset}")
    except (OSError, UsageError):
        raise MissingDataError(f"{file}: has changed since it was opened; run the same command again") from None


def _read(line: bytes, place: str) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise UsageError(f"{place}: the line is longer than {MAX_LINE_BYTES >> 20} MiB")
    try:
        row = from_line(line)
    except (ValueError, RecursionError) as error:
        cut = "" if line.endswith(b"\n") else "; the file was cut off"
        raise UsageError(f"{place}: the line is no JSON ({error}){cut}. Fetch the file again") from None
    if not isinstance(row, dict):
        raise UsageError(f"{place}: the line is a {type(row).__name__}, not an object")
    return row
