"""Writes the log to stderr, in lines such as ``2026-01-31:12:00:00 INFO message``. On a
terminal, a line contains only the message, after ``warning:`` or ``error:``. At level
DEBUG, a line also contains the time and the module."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from copy import copy

from mmeval.report.terminal import write_line
from mmeval.settings.resolve import unknown_variables

FORMAT = "%(asctime)s %(levelname)-8s %(message)s"
DEBUG_FORMAT = "%(asctime)s %(levelname)-8s [%(module)s:%(lineno)d] %(message)s"
TIME_FORMAT = "%Y-%m-%d:%H:%M:%S"

MOST_REMEMBERED = 1000
"""Number of faults whose repetitions are left out."""

_logger = logging.getLogger(__name__)

named: ContextVar[str] = ContextVar("named", default="")
"""The model whose run writes to the log, if models run side by side."""


class _PlainFormatter(logging.Formatter):
    """Formats a record as its message, with the level if it is above INFO."""

    def format(self, record: logging.LogRecord) -> str:
        message = super().format(record)
        if record.levelno > logging.INFO:
            message = f"{record.levelname.lower()}: {message}"
        return message


class _StderrHandler(logging.Handler):
    """Writes to the current ``sys.stderr``, above a progress bar if one is shown.

    A warning or a traceback with the same text as an earlier one is not written.
    """

    def __init__(self) -> None:
        super().__init__()
        self._written: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if not self._is_repeated(record):
                write_line(self.format(_with_name(record)))
        except Exception:  # a failure to log must not end the run
            self.handleError(record)

    def _is_repeated(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if record.exc_info:
            text += f" {record.exc_info[1]!r}"
        elif record.levelno < logging.WARNING:
            return False
        if text in self._written:
            return True
        if len(self._written) < MOST_REMEMBERED:
            self._written.add(text)
        return False


def _with_name(record: logging.LogRecord) -> logging.LogRecord:
    """Returns a record whose message begins with the model, if there is one."""
    name = named.get()
    if not name:
        return record
    of_model = copy(record)
    of_model.msg, of_model.args = f"{name}: {record.getMessage()}", None
    return of_model


def begin_log(level: str, environ: Mapping[str, str]) -> None:
    """Log messages of mmeval from ``level`` up, and other packages' warnings, to
    stderr. Warns of unknown environment variables. This function may be called again.
    """
    root = logging.getLogger()
    for earlier in list(root.handlers):
        if isinstance(earlier, _StderrHandler):
            root.removeHandler(earlier)
    handler = _StderrHandler()
    if level == "DEBUG":
        handler.setFormatter(logging.Formatter(DEBUG_FORMAT, TIME_FORMAT))
    elif sys.stderr.isatty():
        handler.setFormatter(_PlainFormatter())
    else:
        handler.setFormatter(logging.Formatter(FORMAT, TIME_FORMAT))
    root.addHandler(handler)
    logging.getLogger("mmeval").setLevel(level)
    for warning in unknown_variables(environ):
        _logger.warning(warning)
