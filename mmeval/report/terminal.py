"""Writing to a terminal: escaped text, and nothing once its reader has gone."""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

from mmeval.wording import escaped

FORMAT = "%(asctime)s %(levelname)-8s [%(module)s:%(lineno)d] %(message)s"
TIME_FORMAT = "%Y-%m-%d:%H:%M:%S"


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


class _StderrHandler(logging.Handler):
    """Writes to the stderr of the moment, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            write_line(self.format(record))
        except Exception:  # logging must never end the run
            self.handleError(record)


def configure(level: str) -> None:
    """Log mmeval from ``level`` up, others' warnings, to stderr. May be called again."""
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h, _StderrHandler)]:
        root.removeHandler(handler)
    handler = _StderrHandler()
    handler.setFormatter(logging.Formatter(FORMAT, TIME_FORMAT))
    root.addHandler(handler)
    logging.getLogger("mmeval").setLevel(level)
