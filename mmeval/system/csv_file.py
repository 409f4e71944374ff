"""Reads CSV files with a header that people or other programs have written."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path

from mmeval.errors import TaskFileError, UsageError

MAX_FILE_BYTES = 50_000_000

CsvRow = Mapping[str, str | None]


def csv_reader(file: Path) -> csv.DictReader[str]:
    """Returns a reader of the rows of a CSV file in UTF-8.

    The reader raises ``csv.Error`` for a row that is not valid CSV. Raises UsageError
    for a file that cannot be read, and TaskFileError for one that is too large or not
    UTF-8.
    """
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from None
    if len(raw) > MAX_FILE_BYTES:
        raise TaskFileError(f"is larger than {MAX_FILE_BYTES:,} bytes", file=file)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TaskFileError(
            "is not UTF-8 text; save it as UTF-8", file=file, line=line
        ) from None
    return csv.DictReader(io.StringIO(text, newline=""), strict=True)


def field_of(row: CsvRow, column: str) -> str:
    """Returns the text of a column without spaces around it; empty if it is absent."""
    return (row.get(column) or "").strip()


def number_of(row: CsvRow, column: str, file: Path, line: int) -> float:
    """Returns the finite number of a column. Raises TaskFileError for anything else."""
    text = field_of(row, column)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TaskFileError(
            f"{column}: must be a number, not {text!r}", file=file, line=line
        )
    return value
