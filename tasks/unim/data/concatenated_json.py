"""Reads files of concatenated JSON objects, which UniM calls JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from mmeval.errors import MissingDataError, UsageError
from mmeval.tasks.unim.data.pointers import TOLD, is_pointer
from mmeval.tasks.unim.data.stretches import legible_keys, pieces, stretch_end

MAX_FILE_BYTES = 256 * 2**20
"""The largest file, since files are read into memory; the published ones are much
smaller."""

_BETWEEN = re.compile(r"[ \t\r\n,\[\]]*+")
"""The text between two objects: blanks, and the marks of a list."""
_HALF_ESCAPED = re.compile(r"\\u[dD]")
"""Possibly an escape of half a character."""
_BROKEN_TEXT = (
    "a text in it is no Unicode: bytes that are not UTF-8, or half a character"
)


class Record(NamedTuple):
    """One object of a file. ``line`` counts from 1 and is where the object begins.

    Where it cannot be read, ``fault`` says why, and ``row`` has those of its keys id,
    domain, subdomain and difficulty_level that are still readable.
    """

    row: dict[str, Any]
    file: Path
    line: int
    fault: str = ""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def read_records(file: Path) -> Iterator[Record]:
    """A file's objects in order, decoded one by one; also those in a list at the top.

    An unreadable object is given with its fault, and reading goes on with the next
    object, in linear time. Raises MissingDataError when the file cannot be opened or is
    only a pointer, UsageError when it is too large.
    """
    try:
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UsageError(
                f"{file}: {size} bytes are more than the {MAX_FILE_BYTES} that are "
                "read; split the file"
            )
        data = file.read_bytes()
    except OSError as error:
        raise MissingDataError(
            f"{file}: the records cannot be read ({error.strerror}); fetch the file "
            "again"
        ) from None
    if is_pointer(data):
        raise MissingDataError(f"{file} {TOLD}")
    text = data.decode("utf-8-sig", errors="surrogateescape")
    line, counted = 1, 0
    for row, start, fault in _objects(text):
        line += text.count("\n", counted, start)
        counted = start
        yield Record(row, file, line, fault)


class _Found(NamedTuple):
    row: dict[str, Any]
    start: int
    fault: str


class _Unreadable(Exception):
    """Why a stretch of text is not a JSON object."""


def _objects(text: str) -> Iterator[_Found]:
    """The objects; from the first bad one on, each stretch is bounded before decoding.
    Without errors the decoder finds where an object ends; after a bad one it would read
    repeatedly through the text."""
    is_careful = False
    position = 0
    while (start := _after(text, position)) < len(text):
        if not is_careful:
            try:
                row, position = _decoded(text, start)
            except _Unreadable:
                is_careful = True
            else:
                yield _found(row, text, start, position)
        if is_careful:
            position = stretch_end(text, start)
            yield from _in_stretch(text, start, position)


def _in_stretch(
    text: str,
    start: int,
    end: int,
) -> Iterator[_Found]:
    """The object in a stretch, or if it is not one, the objects and bad pieces in
    it."""
    try:
        row, length = _decoded(text[start:end], 0)
    except _Unreadable as error:
        fault = str(error)
    else:
        yield _found(row, text, start, start + length)
        return
    bad = start
    for begin, close in pieces(text, start, end):
        try:
            row, length = _decoded(text[begin:close], 0)
        except _Unreadable:
            continue
        if bad < begin:
            yield _unreadable(text, bad, begin, fault)
        yield _found(row, text, begin, begin + length)
        bad = _after(text, begin + length)
    if bad < end:
        yield _unreadable(text, bad, end, fault)


def _after(text: str, position: int) -> int:
    """The place after what stands between two objects."""
    match = _BETWEEN.match(text, position)
    return match.end() if match else position


def _found(
    row: dict[str, Any],
    text: str,
    start: int,
    end: int,
) -> _Found:
    piece = text[start:end]
    try:
        piece.encode()
        if _HALF_ESCAPED.search(piece):
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return _unreadable(text, start, end, _BROKEN_TEXT)
    return _Found(row, start, "")


def _unreadable(
    text: str,
    start: int,
    end: int,
    reason: str,
) -> _Found:
    fault = (
        f"the record cannot be read: {reason}. Repair or remove it; the records "
        "around it are read"
    )
    return _Found(legible_keys(text[start:end]), start, fault)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _decoded(text: str, start: int) -> tuple[dict[str, Any], int]:
    """The object that begins at ``start``, and its end. Raises _Unreadable."""
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
        raise _Unreadable("it is no JSON object")
    return row, end
