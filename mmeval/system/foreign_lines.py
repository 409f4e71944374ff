"""Reads JSON and JSON Lines that people and other programs wrote; a damaged line
refuses the file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from mmeval.errors import MissingDataError, UsageError

MAX_LINE_BYTES = 2**26
"""Bytes; a longer line is refused: lines hold text and paths, and media are files
beside them."""
MAX_DEPTH = 100
"""Lists and objects inside each other: what is written and read again has limits of its
own, not far above."""
MAX_DIGITS = 4300
"""Digits of an integer: Python's own limit, as the time to read more grows with their
square."""


class ForeignLine(NamedTuple):
    """One line: its ``number``, from 1, its first byte, and ``place``, for messages."""

    place: str
    number: int
    offset: int
    row: Any


class LineFault(UsageError):
    """A line that is not a row, after which the file goes on."""


def lines_of(
    file: Path,
    *,
    kind: type | None = dict,
    offset: int = 0,
    most: int = 0,
    faults: bool = False,
) -> Iterator[ForeignLine]:
    """The values of a file, of one ``kind`` if not None; blank lines are passed over.

    ``offset`` is the first byte that is read, ``most`` the largest number of bytes of a
    line (0: MAX_LINE_BYTES). Raises UsageError with file and line, and MissingDataError
    for a file that cannot be read. With ``faults`` a line that is too long, too deep or
    has too long a number has a LineFault as its value instead."""
    import jsonlines  # most commands read no such file

    _require_regular(file)
    try:
        with file.open("rb") as opened:
            # a file of the hub knows no limit of a line
            stream = BufferedReader(opened)
            stream.seek(offset)
            lines = _BoundedLines(file, stream, offset, most or MAX_LINE_BYTES)
            reader = jsonlines.Reader(lines, loads=lines.decoded)
            while True:
                row: Any
                try:
                    row = reader.read(allow_none=True, skip_empty=True)
                except EOFError:
                    return
                except LineFault as fault:
                    if not faults:
                        raise UsageError(f"{lines.place}: {fault}") from None
                    row = fault
                if kind is not None and not isinstance(row, (kind, LineFault)):
                    raise UsageError(
                        f"{lines.place}: the line is a {type(row).__name__}, not an "
                        "object"
                    )
                yield ForeignLine(lines.place, lines.number, lines.offset, row)
    except jsonlines.InvalidLineError as error:
        raise UsageError(
            f"{lines.place}: the line is no JSON{lines.cut}: {_reason(error.__cause__)}"
        ) from None
    except OSError as error:
        raise MissingDataError(f"{file}: cannot be read ({error.strerror})") from None


def line_at(file: Path, offset: int) -> dict[str, Any]:
    """An object of ``lines_of`` again. Raises MissingDataError for a changed file."""
    try:
        row: dict[str, Any] = next(lines_of(file, offset=offset)).row
    except (MissingDataError, UsageError, StopIteration):
        raise MissingDataError(
            f"{file}: has changed since it was opened; run the same command again"
        ) from None
    return row


def list_of(file: Path) -> list[Any]:
    """The items of a JSON file that holds one list; an item that is too deep, or has
    too long a number, is a LineFault. Raises what ``document_of`` raises, and
    UsageError for another value."""
    found = document_of(file)
    if not isinstance(found, list):
        raise UsageError(f"{file}: holds a {type(found).__name__}, not a list of rows")
    return [_fault_of(row) or row for row in found]


def document_of(file: Path) -> Any:
    """The value of a JSON file. Raises UsageError for a file that is none, or too long,
    MissingDataError for one that cannot be read."""
    _require_regular(file)
    try:
        if file.stat().st_size > MAX_LINE_BYTES:  # it is read at once
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
        raise UsageError(f"{file}: is not JSON: {_reason(error)}") from None


def _require_regular(file: Path) -> None:
    """Raises UsageError for a folder, a pipe or a device."""
    if file.exists() and not file.is_file():
        raise UsageError(f"{file}: is not a regular file")


class _BoundedLines:
    """The lines of a stream, with the place of the last one; one that is too long is
    passed over."""

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
            self._long, rest = len(line) > self._most, line
            while len(rest) > self._most and not rest.endswith(b"\n"):
                rest = self._piece()
                self._end += len(rest)
            self.cut = "" if line.endswith(b"\n") else " (the file may be cut off)"
            yield b"-" if self._long else line

    def _piece(self) -> bytes:
        return self._stream.readline(self._most + 1)

    def decoded(self, line: str | bytes) -> Any:
        """Raises LineFault for a line that is too long, too deep or has too long a
        number, ValueError for no JSON."""
        if self._long:
            raise LineFault(f"the line is longer than {self._most >> 20} MiB")
        try:  # orjson would make floats of large numbers
            row = json.loads(
                line.rstrip(), parse_constant=_refuse_constant, parse_int=_integer
            )
        except RecursionError:
            raise _too_deep() from None
        opened = (
            line.count("[") + line.count("{") if isinstance(line, str) else math.inf
        )
        if (opened > MAX_DEPTH or len(line) > MAX_DIGITS) and (fault := _fault_of(row)):
            raise fault
        return row


def _integer(text: str) -> int | LineFault:
    return (
        int(text)
        if len(text) <= MAX_DIGITS
        else LineFault(f"a number has more than {MAX_DIGITS:,} digits")
    )


def _fault_of(row: Any) -> LineFault | None:
    """What is wrong with a row: a number that is too long, or how deep it is nested."""
    level = [row]
    for _ in range(MAX_DEPTH + 1):
        holders = [item for item in level if isinstance(item, (dict, list))]
        fault = next((item for item in level if isinstance(item, LineFault)), None)
        if fault or not holders:
            return fault
        level = [
            inner
            for item in holders
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return _too_deep()


def _too_deep() -> LineFault:
    return LineFault(f"it is nested more than {MAX_DEPTH} deep")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number; write null")


def _reason(error: BaseException | None) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at column {error.colno}"
    return str(error)
