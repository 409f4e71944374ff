"""Reads files of concatenated JSON objects, which UniM calls JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from mmeval.errors import MissingDataError, UsageError
from mmeval.tasks.unim.data.pointers import POINTER_FAULT, is_pointer
from mmeval.tasks.unim.data.stretches import legible_keys, pieces, stretch_end

MAX_FILE_BYTES = 256 * 2**20
"""Maximum size of a file in bytes, since a file is read into memory.

The published files are much smaller.
"""

_BETWEEN = re.compile(r"[ \t\r\n,\[\]]*+")
"""The text between two objects: spaces, and the commas and brackets of a list."""
_HALF_ESCAPED = re.compile(r"\\u[dD]")
"""The beginning of an escape sequence that may be half a surrogate pair."""
_BROKEN_TEXT = (
    "a text in it is not Unicode: bytes that are not UTF-8, or half a surrogate pair"
)


class Record(NamedTuple):
    """An object in a file. ``line`` is its first line, counted from 1.

    If the object cannot be read, ``fault`` is the reason. ``row`` then contains only
    those of the keys id, domain, subdomain and difficulty_level that can be read.
    """

    row: dict[str, Any]
    file: Path
    line: int
    fault: str = ""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def read_records(file: Path) -> Iterator[Record]:
    """Reads the objects in a file one by one, even if the file is a JSON list of them.

    An unreadable object is returned with a fault, and reading continues with the next
    object. The time is linear in the size of the file. Raises MissingDataError if the
    file cannot be opened or is a pointer, and UsageError if it is too large.
    """
    try:
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UsageError(
                f"{file}: the file has {size} bytes, more than {MAX_FILE_BYTES}. Split "
                "it into smaller files"
            )
        data = file.read_bytes()
    except OSError as error:
        raise MissingDataError(
            f"{file}: the records cannot be read ({error.strerror}). Fetch the file "
            "again"
        ) from None
    if is_pointer(data):
        raise MissingDataError(f"{file} {POINTER_FAULT}")
    text = data.decode("utf-8-sig", errors="surrogateescape")
    line, counted = 1, 0
    for row, start, fault in _objects(text):
        line += text.count("\n", counted, start)
        counted = start
        yield Record(row, file, line, fault)


class _ObjectAt(NamedTuple):
    row: dict[str, Any]
    start: int
    fault: str


class _Unreadable(Exception):
    """Raised for a stretch of text that is not a JSON object."""


def _objects(text: str) -> Iterator[_ObjectAt]:
    """Yields the objects in a text.

    Until the first error, the decoder finds the end of each object. After a bad object
    the decoder would scan the remaining text repeatedly, so the end of each further
    stretch is found before the stretch is decoded.
    """
    is_careful = False
    position = 0
    while (start := _after(text, position)) < len(text):
        if not is_careful:
            try:
                row, position = _decoded(text, start)
            except _Unreadable:
                is_careful = True
            else:
                yield _checked(row, text, start, position)
        if is_careful:
            position = stretch_end(text, start)
            yield from _in_stretch(text, start, position)


def _in_stretch(
    text: str,
    start: int,
    end: int,
) -> Iterator[_ObjectAt]:
    """Yields the object in a stretch, or else all objects and bad sections in it."""
    try:
        row, length = _decoded(text[start:end], 0)
    except _Unreadable as error:
        fault = str(error)
    else:
        yield _checked(row, text, start, start + length)
        return
    bad = start
    for begin, close in pieces(text, start, end):
        try:
            row, length = _decoded(text[begin:close], 0)
        except _Unreadable:
            continue
        if bad < begin:
            yield _unreadable(text, bad, begin, fault)
        yield _checked(row, text, begin, begin + length)
        bad = _after(text, begin + length)
    if bad < end:
        yield _unreadable(text, bad, end, fault)


def _after(text: str, position: int) -> int:
    """Returns the position after the text between two objects."""
    match = _BETWEEN.match(text, position)
    return match.end() if match else position


def _checked(
    row: dict[str, Any],
    text: str,
    start: int,
    end: int,
) -> _ObjectAt:
    piece = text[start:end]
    try:
        piece.encode()
        if _HALF_ESCAPED.search(piece):
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return _unreadable(text, start, end, _BROKEN_TEXT)
    return _ObjectAt(row, start, "")


def _unreadable(
    text: str,
    start: int,
    end: int,
    reason: str,
) -> _ObjectAt:
    fault = (
        f"the record cannot be read: {reason}. Repair or remove it; the other records "
        "are read"
    )
    return _ObjectAt(legible_keys(text[start:end]), start, fault)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _decoded(text: str, start: int) -> tuple[dict[str, Any], int]:
    """Decodes the object that begins at ``start``. Returns the object and its end.

    Raises _Unreadable if it cannot be decoded.
    """
    try:
        row, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        before = text[start : error.pos]
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        fault = error.msg.removesuffix(" starting at").removesuffix(" at")
        raise _Unreadable(
            f"{fault} in its line {line}, at character {column}"
        ) from None
    except RecursionError:
        raise _Unreadable("it is nested too deeply") from None
    except ValueError as error:
        raise _Unreadable(str(error)) from None
    if not isinstance(row, dict):
        raise _Unreadable("it is not a JSON object")
    return row, end
