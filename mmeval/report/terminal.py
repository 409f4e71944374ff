"""Writing to a terminal: escaped text, and nothing once its reader has gone."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from mmeval.wording import escaped


def write_line(line: str) -> None:
    """Write an escaped line to stderr; a bar of tqdm (if imported) is cleared first."""
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
    """Discard a standard stream: the interpreter flushes it once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
