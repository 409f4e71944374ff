"""Reads JSON Lines files that people and other programs wrote; a damaged line refuses the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from mmeval.errors import MissingDataError, UsageError

MAX_LINE_BYTES = 2**26
"""Bytes; a longer line is refused: lines hold text and paths, and media are files beside them."""


class ForeignLine(NamedTuple):
    """One line: its ``number``, from 1, its first byte, and ``place``, for messages."""

    place: str
    number: int
    offset: int
    row: Any


def lines_of(file: Path, *, kind: type | None = dict, offset: int = 0) -> Iterator[ForeignLine]:
    """The values of a file, of one ``kind`` if not None; blank lines are passed over.

    ``offset`` is the first byte that is read. Raises UsageError with file and line, and MissingDataError for a file
    that cannot be read."""
    import jsonlines  # most commands read no such file

    if file.exists() and not file.is_file():
        raise UsageError(f"{file}: is no plain file")
    try:
        with file.open("rb") as opened:
            stream = BufferedReader(opened)  # a file of the hub knows no limit of a line
            stream.seek(offset)
            lines = _BoundedLines(file, stream, offset)
            reader = jsonlines.Reader(lines, loads=_decoded)
            for row in reader.iter(allow_none=True, skip_empty=True):
                if kind is not None and not isinstance(row, kind):
                    raise UsageError(f"{lines.place}: the line is a {type(row).__name__}, not an object")
                yield ForeignLine(lines.place, lines.number, lines.offset, row)
    except jsonlines.InvalidLineError as error:
        raise UsageError(f"{lines.place}: the line is no JSON{lines.cut}: {_reason(error.__cause__)}") from None
    except RecursionError:
        raise UsageError(f"{lines.place}: the line is no JSON: it is nested too deeply") from None
    except OSError as error:
        raise MissingDataError(f"{file}: cannot be read ({error.strerror})") from None


def line_at(file: Path, offset: int) -> dict[str, Any]:
    """An object of ``lines_of`` again. Raises MissingDataError for a changed file."""
    try:
        row: dict[str, Any] = next(lines_of(file, offset=offset)).row
    except (MissingDataError, UsageError, StopIteration):
        raise MissingDataError(f"{file}: has changed since it was opened; run the same command again") from None
    return row


class _BoundedLines:
    """The lines of a stream, with the place of the last one. Raises UsageError for one that is too long."""

    def __init__(self, file: Path, stream: BinaryIO, offset: int) -> None:
        self._file, self._stream = file, stream
        self.number, self.offset, self.cut, self._end = 0, offset, "", offset

    @property
    def place(self) -> str:
        return f"{self._file}:{self.number}"

    def __iter__(self) -> Iterator[bytes]:
        for line in iter(partial(self._stream.readline, MAX_LINE_BYTES + 1), b""):
            self.number, self.offset, self._end = self.number + 1, self._end, self._end + len(line)
            if len(line) > MAX_LINE_BYTES:
                raise UsageError(f"{self.place}: the line is longer than {MAX_LINE_BYTES >> 20} MiB")
            self.cut = "" if line.endswith(b"\n") else " (the file may be cut off)"
            yield line


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number; write null")


def _decoded(line: str | bytes) -> Any:
    return json.loads(line.rstrip(), parse_constant=_refuse_constant)  # orjson would make floats of large numbers


def _reason(error: BaseException | None) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at column {error.colno}"
    return str(error)
