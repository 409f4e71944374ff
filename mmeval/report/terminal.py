"""Writes to standard output and error, even if the stream or its reader is closed."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TextIO

from mmeval.system.wording import escaped, wrapped

WIDEST, NARROWEST = 80, 40
WIDEST_LIST = 100
"""The width of lists and help texts on a terminal that is wide enough."""


def columns(*, widest: int = WIDEST) -> int:
    """Returns the width to which texts for people are wrapped: the width of the
    terminal, within limits. Without a terminal it is ``widest``."""
    import shutil  # a slow import that --help does not need

    width = shutil.get_terminal_size((widest, 24)).columns
    return max(NARROWEST, min(widest, width))


def steady() -> None:
    """Make the streams usable, even in a process that was started without them.

    A closed stream is opened on the null device. Otherwise the next opened file would
    get the stream's number, and printed text would be written into it. Characters that
    a stream cannot show are escaped.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # takes the lowest free number, which is this one
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _writable(sys.stdout, 1)
    sys.stderr = _writable(sys.stderr, 2)


def _writable(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        # open as long as the process runs
        return open(number, "w", encoding="utf-8", closefd=False)
    if isinstance(stream, io.TextIOWrapper) and stream.errors in (
        "strict",
        "surrogateescape",
    ):
        stream.reconfigure(errors="backslashreplace")
    return stream


def print_text(text: str) -> None:
    """Print results. If the reader of the output has closed, this is not an error, so
    that the exit code does not change."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _silence_if_gone(sys.stdout, error)


def write_line(line: str) -> None:
    """Write an escaped text to stderr, wrapped if stderr is a terminal. If tqdm is
    imported, its bar is cleared first."""
    safe = escaped(line)
    try:
        if sys.stderr.isatty():
            safe = _for_terminal(safe, columns())
        if "tqdm" in sys.modules:
            sys.modules["tqdm"].tqdm.write(safe, file=sys.stderr)
            return
        sys.stderr.write(f"{safe}\n")
        sys.stderr.flush()
    except OSError as error:
        _silence_if_gone(sys.stderr, error)


def _for_terminal(text: str, width: int) -> str:
    """Returns a text in which long lines are wrapped. An indented line is kept: it is
    a part of a list or of a command, which was wrapped already."""
    lines: list[str] = []
    for line in text.splitlines():
        if len(line) > width and not line[0].isspace():
            lines += wrapped(line, width, indent="  ")
        else:
            lines.append(line)
    return "\n".join(lines)


def _silence_if_gone(stream: TextIO, error: OSError) -> None:
    """Discard a standard stream after its reader or terminal has closed. Raises any
    other error. The interpreter flushes the stream once more when it ends."""
    if error.errno not in (errno.EPIPE, errno.EIO):
        raise error
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
