"""The standard streams, whose reader may be gone (``mmeval ls tasks | head``), or which may not even be open."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

from mmeval.report.terminal import silence


def steady() -> None:
    """Make the streams usable whatever the process was started with.

    A stream that is closed becomes one to nowhere: else the next file that is opened takes its place, and whatever is
    printed ends up in that file. Characters that a stream cannot show are escaped.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    sys.stdout = _writable(sys.stdout, 1)
    sys.stderr = _writable(sys.stderr, 2)


def _writable(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        return open(number, "w", encoding="utf-8", closefd=False)  # lives as long as the process
    if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
        stream.reconfigure(errors="backslashreplace")
    return stream


def print_text(text: str) -> None:
    """Print results. A reader that has gone must not hide the exit code that follows."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
