"""Reads the rows of a data set until its loader raises an exception."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoaderFailure:
    """An exception that a loader raised. The rows after it cannot be read."""

    error: Exception | SystemExit


def readable(rows: Iterable[T]) -> Iterator[T | LoaderFailure]:
    """Yields the rows of a loader, then a LoaderFailure if the loader raises.

    The traceback is logged for debugging.
    """
    try:
        yield from rows
    # a loader may be a plugin, which may raise anything or call sys.exit
    except (Exception, SystemExit) as error:
        log.debug("a loader failed", exc_info=error)
        yield LoaderFailure(error)
