"""The beginning of every verb's log: its level, and what in the environment has no effect."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from mmeval.report import terminal
from mmeval.settings.resolve import unknown_variables

_logger = logging.getLogger(__name__)


def begin_log(level: str, environ: Mapping[str, str]) -> None:
    """Send the log of ``level`` and above to stderr, and warn of variables that nothing reads."""
    terminal.configure(level)
    for warning in unknown_variables(environ):
        _logger.warning(warning)
