"""Reads the rows of a loader until it fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoaderFailure:
    """An exception that a loader raised. Later rows cannot be read."""

    error: Exception | SystemExit


def readable(rows: Iterable[T]) -> Iterator[T | LoaderFailure]:
    """Yields the rows of a loader. If it raises, the last item is a LoaderFailure."""
    try:
        yield from rows
    # a loader may be a plugin, which may raise anything or call sys.exit
    except (Exception, SystemExit) as error:
        yield LoaderFailure(error)
