"""Writing to a terminal: text that cannot steer it, and nothing once its reader has gone."""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

from mmeval.wording import escaped

FORMAT = "%(asctime)s %(levelname)-8s [%(module)s:%(lineno)d] %(message)s"
TIME_FORMAT = "%Y-%m-%d:%H:%M:%S"


def write_line(line: str) -> None:
    """A line on stderr, escaped. A bar of tqdm is taken away first, if tqdm is imported."""
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


class _StderrHandler(logging.Handler):
    """Writes to the stderr of the moment, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            write_line(self.format(record))
        except Exception:  # logging must never end the run
            self.handleError(record)


def configure(level: str) -> None:
    """Send mmeval's log of ``level`` and above, and warnings of everything else, to stderr. May be called again."""
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h, _StderrHandler)]:
        root.removeHandler(handler)
    handler = _StderrHandler()
    handler.setFormatter(logging.Formatter(FORMAT, TIME_FORMAT))
    root.addHandler(handler)
    logging.getLogger("mmeval").setLevel(level)
