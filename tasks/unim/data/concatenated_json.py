"""Reads files of concatenated JSON objects, which UniM calls JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from mmeval.errors import MissingDataError
from mmeval.tasks.unim.data.pointers import TOLD, is_pointer

_BETWEEN = re.compile(r"[ \t\r\n,\[\]]*+")
"""The text between two objects: blanks, and the marks of a list."""
_HALF_ESCAPED = re.compile(r"\\u[dD]")
"""Possibly an escape of half a character."""
_BROKEN_TEXT = (
    "a text in it is no Unicode: bytes that are not UTF-8, or half a character"
)


class Record(NamedTuple):
    """One object of a file. ``line`` counts from 1 and is where the object begins.

    Where it cannot be read, ``fault`` says why, and ``row`` is empty.
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

    An unreadable object is given with its fault, and reading goes on at the next line
    that begins with an object. Raises MissingDataError when the file cannot be opened
    or is only a pointer.
    """
    text = _text(file)
    line, counted = 1, 0
    for row, start, fault in _objects(text):
        line += text.count("\n", counted, start)
        counted = start
        yield Record(row, file, line, fault)


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise MissingDataError(
            f"{file}: the records cannot be read ({error.strerror}); fetch the file "
            "again"
        ) from None
    if is_pointer(data):
        raise MissingDataError(f"{file} {TOLD}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("utf-8-sig", errors="surrogateescape")


class _Found(NamedTuple):
    row: dict[str, Any]
    start: int
    fault: str


class _Unreadable(Exception):
    """Why a text is not a JSON object."""


def _objects(text: str) -> Iterator[_Found]:
    position = 0
    while (start := _after_blanks(text, position)) < len(text):
        try:
            row, position = _decoded(text, start)
        except _Unreadable as error:
            position = _next_beginning(text, start)
            yield _unreadable(start, str(error))
            continue
        if _is_unicode(row, text[start:position]):
            yield _Found(row, start, "")
        else:
            yield _unreadable(start, _BROKEN_TEXT)


def _unreadable(start: int, reason: str) -> _Found:
    fault = (
        f"the record cannot be read: {reason}. Repair or remove it; the records "
        "around it are read"
    )
    return _Found({}, start, fault)


def _after_blanks(text: str, position: int) -> int:
    blanks = _BETWEEN.match(text, position)
    return blanks.end() if blanks else position


def _next_beginning(text: str, start: int) -> int:
    """Where the next record begins after a bad one: the next line with a brace that is
    not indented further, as a brace within the bad record is."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    indent = 0 if before.strip() else len(before)
    found = re.compile(rf"\n[ \t]{{0,{indent}}}\{{").search(text, start)
    return found.end() - 1 if found else len(text)


def _is_unicode(row: dict[str, Any], written: str) -> bool:
    """Whether a file can hold the texts of a row."""
    try:
        written.encode()
        if _HALF_ESCAPED.search(written):
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _decoded(text: str, start: int) -> tuple[dict[str, Any], int]:
    """The object that begins at ``start``, and its end. Raises _Unreadable."""
    try:
        row, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        lines = text.count("\n", start, error.pos)
        column = (
            error.pos - (text.rfind("\n", start, error.pos) + 1 if lines else start) + 1
        )
        where = f"in its line {lines + 1}, at character {column}"
        raise _Unreadable(
            f"{error.msg.removesuffix(' starting at').removesuffix(' at')} {where}"
        ) from None
    except RecursionError:
        raise _Unreadable("it is nested too deeply") from None
    except ValueError as error:
        raise _Unreadable(str(error)) from None
    if not isinstance(row, dict):
        raise _Unreadable("it is no JSON object")
    return row, end
