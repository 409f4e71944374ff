"""Reads JSON and JSON Lines that people or other programs have written.

A damaged line is an error for the whole file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from mmeval.errors import MissingDataError, UsageError

MAX_LINE_BYTES = 2**26
"""The largest number of bytes of a line.

Lines contain text and paths; media are separate files.
"""
MAX_DEPTH = 100
"""The largest nesting of lists and objects. The limits of other programs are only a
little higher."""
MAX_DIGITS = 4300
"""The largest number of digits of an integer. This number is Python's limit, because
parsing time grows with the square of the digits."""
_INITIAL_MARKS = ("\ufeff", "\x1e")
"""A byte order mark, and the record separator of RFC 7464."""


class ForeignLine(NamedTuple):
    """One line: its ``place`` as text for messages, its ``number`` from 1, and its
    first byte."""

    place: str
    number: int
    offset: int
    row: Any


class LineFault(UsageError):
    """A line without a usable row; the lines after it can still be read."""


def lines_of(
    file: Path,
    *,
    kind: type | None = dict,
    offset: int = 0,
    most: int = 0,
    faults: bool = False,
) -> Iterator[ForeignLine]:
    """Yields the values of a file; blank lines are ignored.

    ``kind`` is the required type of the values, ``offset`` the first byte to read,
    ``most`` the maximum number of bytes of a line (0: MAX_LINE_BYTES).

    Raises UsageError with file and line for an invalid line, and MissingDataError for a
    file that cannot be read. With ``faults``, a line that is too long, is too
    deeply nested or contains too long a number yields a LineFault instead of a value.
    """
    _require_regular(file)
    try:
        with file.open("rb") as raw:
            # readline() of a file on the hub does not accept a limit
            stream = BufferedReader(raw)
            stream.seek(offset)
            lines = _BoundedLines(file, stream, offset, most or MAX_LINE_BYTES)
            for line in lines:
                if not line.rstrip():
                    continue
                row: Any
                try:
                    row = lines.decoded(line)
                except LineFault as fault:
                    if not faults:
                        raise UsageError(f"{lines.place}: {fault}") from None
                    row = fault
                except ValueError as error:
                    raise UsageError(
                        f"{lines.place}: the line is not JSON{lines.cut}: "
                        f"{_reason(error)}"
                    ) from None
                if kind is not None and not isinstance(row, (kind, LineFault)):
                    raise UsageError(
                        f"{lines.place}: the line is a {type(row).__name__}, not an "
                        "object"
                    )
                yield ForeignLine(lines.place, lines.number, lines.offset, row)
    except OSError as error:
        raise MissingDataError(f"{file}: cannot be read ({error.strerror})") from None


def line_at(file: Path, offset: int) -> dict[str, Any]:
    """Read an object of ``lines_of`` again. Raises MissingDataError if it changed."""
    try:
        row: dict[str, Any] = next(lines_of(file, offset=offset)).row
    except (MissingDataError, UsageError, StopIteration):
        raise MissingDataError(
            f"{file}: has changed since it was opened; run the same command again"
        ) from None
    return row


def list_of(file: Path) -> list[Any]:
    """Returns the items of a JSON file that contains one list.

    An item that is too deeply nested or contains too long a number becomes a
    LineFault. Raises the errors of ``document_of``, and UsageError for any other value.
    """
    document = document_of(file)
    if not isinstance(document, list):
        raise UsageError(
            f"{file}: contains a {type(document).__name__}, not a list of rows"
        )
    return [_fault_of(row) or row for row in document]


def document_of(file: Path) -> Any:
    """Returns the value of a JSON file.

    Raises UsageError if it is not JSON or too long, and MissingDataError if it cannot
    be read.
    """
    _require_regular(file)
    try:
        if file.stat().st_size > MAX_LINE_BYTES:  # the file is read into memory
            raise UsageError(
                f"{file}: is longer than {MAX_LINE_BYTES >> 20} MiB; write it as JSON "
                "Lines"
            )
        return json.loads(
            file.read_bytes(), parse_constant=_refuse_constant, parse_int=_integer
        )
    except OSError as error:
        raise MissingDataError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not JSON: {_reason(error)}") from None


def _require_regular(file: Path) -> None:
    """Raises UsageError for a folder, a pipe or a device."""
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is not a regular file")


class _BoundedLines:
    """The lines of a stream, cut at a maximum length, with the position of the last
    line."""

    def __init__(
        self,
        file: Path,
        stream: BinaryIO,
        offset: int,
        most: int,
    ) -> None:
        self._file, self._stream, self._most = file, stream, most
        self.number = 0
        self.offset = offset
        self.cut = ""
        self._end = offset
        self._long = False

    @property
    def place(self) -> str:
        return f"{self._file}:{self.number}"

    def __iter__(self) -> Iterator[bytes]:
        for line in iter(self._piece, b""):
            self.number += 1
            self.offset = self._end
            self._end += len(line)
            self._long = len(line) > self._most
            piece = line
            while len(piece) > self._most and not piece.endswith(b"\n"):
                piece = self._piece()
                self._end += len(piece)
            self.cut = "" if line.endswith(b"\n") else " (the file may be cut off)"
            yield b"-" if self._long else line

    def _piece(self) -> bytes:
        return self._stream.readline(self._most + 1)

    def decoded(self, line: bytes) -> Any:
        """Returns the value of a line.

        Raises LineFault if it is too long, is too deeply nested or contains too long a
        number, and ValueError if it is not JSON in UTF-8.
        """
        if self._long:
            raise LineFault(f"the line is longer than {self._most >> 20} MiB")
        text = line.decode("utf-8")
        if text.startswith(_INITIAL_MARKS):
            text = text[1:]
        try:  # orjson would convert large integers to floats
            row = _DECODER.decode(text.rstrip())
        except RecursionError:
            raise _too_deep() from None
        brackets = text.count("[") + text.count("{")
        if brackets > MAX_DEPTH or len(text) > MAX_DIGITS:
            fault = _fault_of(row)
            if fault:
                raise fault
        return row


def _integer(text: str) -> int | LineFault:
    return (
        int(text)
        if len(text) <= MAX_DIGITS
        else LineFault(f"a number has more than {MAX_DIGITS:,} digits")
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number; write null")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer)
"""The decoder of all lines. ``json.loads`` would make one for each line."""


def _fault_of(row: Any) -> LineFault | None:
    """Returns the fault of a row, or None.

    A row has a fault if it is too deeply nested or contains too long a number.
    """
    level = [row]
    for _ in range(MAX_DEPTH + 1):
        containers = [item for item in level if isinstance(item, (dict, list))]
        fault = next((item for item in level if isinstance(item, LineFault)), None)
        if fault or not containers:
            return fault
        level = [
            inner
            for item in containers
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return _too_deep()


def _too_deep() -> LineFault:
    return LineFault(f"it is nested more than {MAX_DEPTH} levels deep")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at column {error.colno}"
    return str(error)
