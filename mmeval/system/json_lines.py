"""Reads and writes JSON in files that survive a crash and reveal damage.

The lines and documents of a run folder are *sealed*: their last field, ``crc``, is a
checksum of everything before it. A sealed line contains exactly what mmeval wrote, so
readers do not have to validate its structure.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar
from zlib import crc32

import orjson

from mmeval.errors import StorageError
from mmeval.system.folders import replaced_file

log = logging.getLogger(__name__)

Parsed = TypeVar("Parsed")
_TAIL = 1 << 16
_SEAL = b',"crc":"%08x"}\n'
_SEAL_BYTES = len(_SEAL % 0)
_UNSEALED = "its checksum is missing or wrong"
MOST_NAMED = 5
"""The number of damaged lines of a file that are logged individually."""


def to_line(value: Any) -> bytes:
    """Returns one line of JSON, without a line break.

    Lone surrogates of a broken tokenizer and integers beyond 64 bits are also written,
    as JSON allows them; these integers are read back as floats. NaN becomes null.
    Raises TypeError for a value that JSON cannot represent.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(
            _without_nan(value), separators=(",", ":"), allow_nan=False
        ).encode()


def from_line(line: bytes) -> Any:
    """Returns the value of a line. Raises ValueError if it is not JSON."""
    try:
        return orjson.loads(line)
    except ValueError:
        return json.loads(line)  # orjson rejects lone surrogates


def sealed(line: bytes) -> bytes:
    """Add a checksum and a line break to the line of a non-empty object."""
    head = line[:-1]
    return head + _SEAL % crc32(head)


def check_seal(line: bytes) -> None:
    """Raises ValueError if a sealed line is damaged."""
    if line[-_SEAL_BYTES:] != _SEAL % crc32(memoryview(line)[:-_SEAL_BYTES]):
        raise ValueError(_UNSEALED)


def unsealed(line: bytes) -> dict[str, Any]:
    """Returns the object of a sealed line. Raises ValueError if it is damaged."""
    check_seal(line)
    row: dict[str, Any] = from_line(line)
    del row["crc"]
    return row


def sealed_document(value: Mapping[str, Any], *, allow_nan: bool = True) -> bytes:
    """Returns a JSON file with a checksum that survives reformatting and sorting of
    keys."""
    plain = json.loads(json.dumps(value))  # keys become text, as after reading
    plain.pop("crc", None)
    text = json.dumps(
        {**plain, "crc": _document_crc(plain)},
        indent=2,
        ensure_ascii=False,
        allow_nan=allow_nan,
    )
    return text.encode("utf-8", "backslashreplace")  # a path may not be valid text


def unsealed_document(document: Any) -> dict[str, Any]:
    """Returns the content of a parsed sealed document. Raises ValueError if it is
    damaged."""
    if not isinstance(document, dict) or document.pop("crc", None) != _document_crc(
        document
    ):
        raise ValueError(_UNSEALED)
    return document


def _document_crc(value: Mapping[str, Any]) -> str:
    return f"{crc32(json.dumps(value, sort_keys=True).encode()):08x}"


def open_append(path: Path, *, buffering: int = -1) -> BinaryIO:
    """Open a file to append whole lines. Raises StorageError on failure."""
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
    """Appends whole lines to a file immediately; the first line creates the file."""

    def __init__(self, path: Path, advice: str) -> None:
        """Stores the path of the file.

        ``advice`` says what to do if the file cannot be written.
        """
        self.path, self._advice = path, advice
        self._file: BinaryIO | None = None

    def add(self, lines: bytes) -> None:
        """Appends lines. Raises StorageError."""
        if not lines:
            return
        if self._file is None:
            self._file = open_append(self.path, buffering=0)
        try:
            remaining = memoryview(lines)
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
        except OSError as error:
            raise StorageError(
                f"{self.path}: cannot be written ({error.strerror}). {self._advice}"
            ) from None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class writing:  # noqa: N801  a class because it runs for every line, and generators are slow
    """Raises StorageError if the block of this context manager fails to append to a
    file."""

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
    """Yields the offset and content of each valid line, as :func:`read_lines` does."""
    return ((offset, row) for offset, _, row in read_lines(path, damaged))


def read_lines(
    path: Path, damaged: list[int] | None = None
) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    """Yields the offset, bytes and content of each valid line, as :func:`parsed_lines`
    does."""
    return parsed_lines(path, unsealed, damaged)


def parsed_lines(
    path: Path,
    parse: Callable[[bytes], Parsed],
    damaged: list[int] | None = None,
) -> Iterator[tuple[int, bytes, Parsed]]:
    """Yields the offset and bytes of each valid line, and what ``parse`` returns for
    it; nothing if there is no file.

    ``parse`` raises ValueError for a damaged line. It is left out with a warning, and
    its number is added to ``damaged``. An incomplete last line is not damage: the
    process ended while writing it.
    """
    if not path.is_file():
        return
    damaged_lines = [] if damaged is None else damaged
    before, offset = len(damaged_lines), 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                parsed = parse(line)
            except ValueError as error:
                damaged_lines.append(number)
                if len(damaged_lines) - before <= MOST_NAMED:
                    log.warning(
                        "%s:%d: the line is damaged (%s) and was left out",
                        path,
                        number,
                        error,
                    )
            else:
                yield offset, line, parsed
            offset += len(line)
    if (more := len(damaged_lines) - before - MOST_NAMED) > 0:
        log.warning("%s: %d more lines are damaged and were left out", path, more)


class DamagedLine(NamedTuple):
    """The location of a line that was left out, and the reason.

    ``line`` is 0 if the whole file is damaged. ``digest`` covers the file's name and
    the line's number and bytes.
    """

    file: Path
    reason: str
    digest: str
    line: int = 0

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


def drop_damaged(path: Path) -> None:
    """Remove damaged lines from a file whose rows can be computed again; log each.

    Raises StorageError.
    """
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
        end = position = file.seek(0, os.SEEK_END)
        while position > 0:
            step = min(_TAIL, position)
            file.seek(position - step)
            newline = file.read(step).rfind(b"\n")
            if newline >= 0:
                position = position - step + newline + 1
                break
            position -= step
        if position < end:
            file.truncate(position)
