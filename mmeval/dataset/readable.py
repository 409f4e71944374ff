"""Reads the rows of a loader up to its failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoaderFailure:
    """What a loader raised; the rows after it cannot be read."""

    error: Exception | SystemExit


def readable(rows: Iterable[T]) -> Iterator[T | LoaderFailure]:
    """The rows of a loader; the last item is its failure where it raises."""
    try:
        yield from rows
    # a loader may be a plugin: it raises anything, and may call sys.exit
    except (Exception, SystemExit) as error:
        yield LoaderFailure(error)
