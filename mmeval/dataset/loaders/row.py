"""One row of a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple


class DataRow(NamedTuple):
    """One row as read. ``number`` is its place in the file, from 1: in JSONL the line.
    ``values`` is the error of a row that cannot be read."""

    file: Path
    number: int
    values: Any
