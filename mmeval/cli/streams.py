"""Standard output whose reader may be gone (``mmeval ls tasks | head``)."""

from __future__ import annotations

import os
import sys


def print_text(text: str) -> None:
    """Print results. A reader that has gone must not hide the exit code that follows."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Send standard output nowhere from now on: the interpreter flushes it once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)
