"""One row of a data file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import UsageError


class DataRow(NamedTuple):
    """One row as read. ``number`` is its place in the file, from 1: in JSONL the line.
    ``values`` is the error of a row that cannot be read."""

    file: Path
    number: int
    values: Any


def row_id(values: Mapping[str, Any], position: str) -> str:
    """The id of a row, its ``position`` without one. Raises UsageError for what is no
    id."""
    written = values.get("id")
    if written is None:
        return position
    if isinstance(written, bool) or not isinstance(written, str | int) or written == "":
        raise UsageError(f'"id" is {written!r:.80}; write a text or a whole number')
    return str(written)
