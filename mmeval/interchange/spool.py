"""Keeps lines in a temporary file, which is deleted when the process ends."""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import StorageError
from mmeval.system.json_lines import from_line, to_line


class LineSpan(NamedTuple):
    """The offset and length of a line, in bytes."""

    offset: int
    length: int


class TemporaryLines:
    """JSON values in a temporary file, written once and read in any order."""

    def __init__(self) -> None:
        """Opens the file. Raises StorageError if a temporary file cannot be created."""
        try:
            # the file has no name, so it does not remain after a killed process
            self._file, path = tempfile.mkstemp(prefix="mmeval-")
            Path(path).unlink()
        except OSError as error:
            raise _no_space(error) from None
        self._end = 0
        self._closed = weakref.finalize(self, os.close, self._file)

    def put(self, value: Any) -> LineSpan:
        """Writes a value. Raises StorageError if the disk is full."""
        line = to_line(value)
        span = LineSpan(self._end, len(line))
        try:
            while line:
                # a nearly full disk may write only a part of the line
                line = line[os.pwrite(self._file, line, self._end) :]
                self._end = span.offset + span.length - len(line)
        except OSError as error:
            raise _no_space(error) from None
        return span

    def line(self, span: LineSpan) -> bytes:
        return os.pread(self._file, span.length, span.offset)

    def get(self, span: LineSpan) -> Any:
        return from_line(self.line(span))

    def close(self) -> None:
        self._closed()


def _no_space(error: OSError) -> StorageError:
    return StorageError(
        f"{tempfile.gettempdir()}: cannot be written ({error.strerror}); free space, "
        "or set TMPDIR to another folder"
    )
