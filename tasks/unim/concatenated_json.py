"""Files of JSON objects written one after the other, indented or not: what UniM calls JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from mmeval.errors import MissingDataError, UsageError

MAX_FILE_BYTES = 256 * 2**20
"""A file is decoded from memory; the published ones stay far below this."""

_BLANKS = re.compile(r"[ \t\r\n]*")


class Record(NamedTuple):
    """One object of a file. ``line`` counts from 1 and is where the object begins."""

    row: dict[str, Any]
    file: Path
    line: int

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def read_records(file: Path) -> Iterator[Record]:
    """The objects of a file in order, decoded one at a time.

    Raises UsageError with file, line and character offset at the first record that is no JSON object: what follows
    cannot be told apart from it, and a data set that silently lost its tail would give a wrong score. Raises
    MissingDataError when the file has gone.
    """
    text = _text(file)
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    position, line = 0, 1
    while (start := _after_blanks(text, position)) < len(text):
        line += text.count("\n", position, start)
        row, position = _decode(decoder, text, start, f"{file}:{line}")
        yield Record(row, file, line)
        line += text.count("\n", start, position)


def _text(file: Path) -> str:
    try:
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UsageError(f"{file}: {size} bytes are more than the {MAX_FILE_BYTES} that are read; split the file")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise MissingDataError(f"{file}: the records cannot be read ({error.strerror}); fetch the file again") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: byte {error.start} is not UTF-8; fetch the file again or repair it") from None


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _decode(decoder: json.JSONDecoder, text: str, start: int, where: str) -> tuple[dict[str, Any], int]:
    """The object that begins at ``start`` and the position after it."""
    try:
        row, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        _refuse(where, start, f"{error.msg.removesuffix(' at')} at line {error.lineno}, character {error.pos}")
    except RecursionError:
        _refuse(where, start, "it is nested too deeply")
    except ValueError as error:
        _refuse(where, start, str(error))
    if not isinstance(row, dict):
        _refuse(where, start, f"it is a {type(row).__name__}, not an object")
    return row, end


def _refuse(where: str, start: int, reason: str) -> NoReturn:
    raise UsageError(
        f"{where}: the record at character {start} cannot be read: {reason}. "
        "Repair or remove it; nothing behind it was read"
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")
