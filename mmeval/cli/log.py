"""Begin the log of a verb: its level, and warnings about the environment."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from mmeval.report import log
from mmeval.settings.resolve import unknown_variables

_logger = logging.getLogger(__name__)


def begin_log(level: str, environ: Mapping[str, str]) -> None:
    """Send the log from ``level`` up to stderr, and warn of unused variables."""
    log.configure(level)
    for warning in unknown_variables(environ):
        _logger.warning(warning)
