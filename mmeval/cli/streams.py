"""Standard streams, which may be closed or lose their reader."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

from mmeval.report.terminal import silence


def steady() -> None:
    """Make the streams usable, also in a process that was started without them.

    A closed stream is opened on the null device: else the next opened file takes its number, and receives all printed
    text. Characters that a stream cannot show are escaped.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    sys.stdout = _writable(sys.stdout, 1)
    sys.stderr = _writable(sys.stderr, 2)


def _writable(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        return open(number, "w", encoding="utf-8", closefd=False)  # lives as long as the process
    if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
        stream.reconfigure(errors="backslashreplace")
    return stream


def print_text(text: str) -> None:
    """Print results. A closed reader is no error, so that the exit code stays."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
