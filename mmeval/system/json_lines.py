"""Reads and writes JSON, in files that survive a crash and show what is damaged.

What a run folder keeps is *sealed*: its last field, ``crc``, is a checksum of all
before it. A sealed line or document holds what mmeval has written there, or it is
damaged: readers need not check its form."""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import orjson

from mmeval.errors import StorageError
from mmeval.system.folders import replaced_file

log = logging.getLogger(__name__)

_TAIL = 1 << 16
_SEAL = b',"crc":"%08x"}\n'
_SEAL_BYTES = len(_SEAL % 0)
_UNSEALED = "its checksum is missing or wrong"
MOST_NAMED = 5
"""So many damaged lines of a file are named one by one."""


def to_line(value: Any) -> bytes:
    """One line of JSON, without its line break. The lone surrogates of a broken
    tokenizer and integers beyond 64 bits are written too, as JSON allows (such integers
    are read back as floats); NaN becomes null. Raises TypeError for what JSON cannot
    hold."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(
            _without_nan(value), separators=(",", ":"), allow_nan=False
        ).encode()


def from_line(line: bytes) -> Any:
    """The value of a line. Raises ValueError for what is not JSON."""
    try:
        return orjson.loads(line)
    except ValueError:
        return json.loads(line)  # reads the surrogates that orjson refuses


def sealed(line: bytes) -> bytes:
    """The line of an object, which has other fields, with its checksum and a line
    break."""
    head = line[:-1]
    return head + _SEAL % crc32(head)


def unsealed(line: bytes) -> dict[str, Any]:
    """The object of a sealed line. Raises ValueError for a damaged one."""
    if line[-_SEAL_BYTES:] != _SEAL % crc32(memoryview(line)[:-_SEAL_BYTES]):
        raise ValueError(_UNSEALED)
    found: dict[str, Any] = from_line(line)
    del found["crc"]
    return found


def sealed_document(value: Mapping[str, Any], *, allow_nan: bool = True) -> bytes:
    """A whole file of JSON that may be indented anew and sorted without losing its
    seal."""
    plain = json.loads(json.dumps(value))  # its keys as they are read
    plain.pop("crc", None)
    text = json.dumps(
        {**plain, "crc": _document_crc(plain)},
        indent=2,
        ensure_ascii=False,
        allow_nan=allow_nan,
    )
    return text.encode("utf-8", "backslashreplace")  # a path need not be text


def unsealed_document(document: Any) -> dict[str, Any]:
    """The content of a sealed document that was read. Raises ValueError for a damaged
    one."""
    if not isinstance(document, dict) or document.pop("crc", None) != _document_crc(
        document
    ):
        raise ValueError(_UNSEALED)
    return document


def _document_crc(value: Mapping[str, Any]) -> str:
    return f"{crc32(json.dumps(value, sort_keys=True).encode()):08x}"


def open_append(path: Path, *, buffering: int = -1) -> BinaryIO:
    """Open to append whole lines. Raises StorageError if the folder cannot be
    written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab", buffering=buffering)
        _cut_torn_tail(path)
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written ({error.strerror}); free space or choose "
            "another folder"
        ) from None
    return file


class LineFile:
    """Appends whole lines to a file, at once; the file is made with the first of
    them."""

    def __init__(self, path: Path, advice: str) -> None:
        """``advice`` is what to do where it cannot be written."""
        self.path, self._advice = path, advice
        self._file: BinaryIO | None = None

    def add(self, lines: bytes) -> None:
        """Raises StorageError."""
        if not lines:
            return
        if self._file is None:
            self._file = open_append(self.path, buffering=0)
        try:
            left = memoryview(lines)
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise StorageError(
                f"{self.path}: cannot be written ({error.strerror}). {self._advice}"
            ) from None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class writing:  # noqa: N801  reads as a word; a class because it is used for every line, and generators are slow
    """Raises StorageError where a block appends to a file on a full or broken disk."""

    __slots__ = ("_path",)

    def __init__(self, path: Path | str) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(
        self, _kind: object, error: BaseException | None, _trace: object
    ) -> None:
        if isinstance(error, OSError):
            raise StorageError(
                f"{self._path}: cannot be written ({error.strerror}). The answers are "
                "kept: free space, then run the "
                "same command"
            ) from None


def read_rows(
    path: Path, damaged: list[int] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Offset and content of every sealed line, as :func:`read_lines` finds them."""
    return ((offset, row) for offset, _, row in read_lines(path, damaged))


def read_lines(
    path: Path, damaged: list[int] | None = None
) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    """Offset, bytes and content of every sealed line; nothing when there is no file. A
    damaged line is left out, with a warning, and its number joins ``damaged``. A torn
    last one is not damage."""
    if not path.is_file():
        return
    found = [] if damaged is None else damaged
    before, offset = len(found), 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                row = unsealed(line)
            except ValueError as error:
                found.append(number)
                if len(found) - before <= MOST_NAMED:
                    log.warning(
                        "%s:%d: the line is damaged (%s) and was left out",
                        path,
                        number,
                        error,
                    )
            else:
                yield offset, line, row
            offset += len(line)
    if (more := len(found) - before - MOST_NAMED) > 0:
        log.warning("%s: %d more lines are damaged and were left out", path, more)


class DamagedLine(NamedTuple):
    """Where a line stands that was left out, and why. ``line`` is 0 for a file that is
    damaged as a whole. ``digest`` is of the file's name, and of the line's number and
    bytes."""

    file: Path
    reason: str
    digest: str
    line: int = 0

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


def drop_damaged(path: Path) -> None:
    """Take damaged lines out of a file whose rows can be made again, naming each.
    Raises StorageError."""
    damaged: list[int] = []
    for _ in read_rows(path, damaged):
        pass
    if not damaged:
        return
    lost = frozenset(damaged)
    with replaced_file(path) as new, path.open("rb") as file, new.open("wb") as out:
        out.writelines(
            line for number, line in enumerate(file, start=1) if number not in lost
        )


def line_at(file: BinaryIO, offset: int) -> bytes:
    file.seek(offset)
    return file.readline()


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return (
        [_without_nan(item) for item in value]
        if isinstance(value, (list, tuple))
        else value
    )


def _cut_torn_tail(path: Path) -> None:
    with path.open("rb+") as file:
        end = at = file.seek(0, os.SEEK_END)
        while at > 0:
            step = min(_TAIL, at)
            file.seek(at - step)
            newline = file.read(step).rfind(b"\n")
            if newline >= 0:
                at = at - step + newline + 1
                break
            at -= step
        if at < end:
            file.truncate(at)
