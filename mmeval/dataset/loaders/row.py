"""One row of a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple


class DataRow(NamedTuple):
    """One row as read. ``number`` is its place in the file, from 1: in JSONL the line."""

    file: Path
    number: int
    values: Any
