"""One row of a data file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import UsageError


class DataRow(NamedTuple):
    """The values of one row, and its number in the file.

    ``number`` is the number of the row in the file, from 1. In JSONL, it is the line
    number. If the row cannot be read, ``values`` is the error.
    """

    file: Path
    number: int
    values: Any


def row_id(values: Mapping[str, Any], position: str) -> str:
    """Returns the id of a row, or ``position`` if it has no id.

    Raises UsageError for an invalid id.
    """
    value = values.get("id")
    if value is None:
        return position
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise UsageError(f'"id" is {value!r:.80}; write a string or a whole number')
    return str(value)
