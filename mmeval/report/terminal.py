"""What a terminal is given: text that cannot steer it, and nothing at all once its reader has gone."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from mmeval.wording import escaped


def write_line(line: str) -> None:
    """A line on stderr, escaped. tqdm takes its bar away first; it is in use only if somebody has imported it."""
    safe = escaped(line)
    try:
        if "tqdm" in sys.modules:
            sys.modules["tqdm"].tqdm.write(safe, file=sys.stderr)
            return
        sys.stderr.write(f"{safe}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Send a standard stream nowhere from now on: the interpreter flushes it once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
