"""The file of ratings in a run folder, ``RUN/ratings/NAME/ratings.jsonl``.

Lines are only ever added. A rater who changes a rating adds a line, which replaces the
earlier one for readers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from mmeval.errors import MissingDataError, StorageError
from mmeval.system.json_lines import open_append, to_line
from mmeval.system.wording import file_name
from mmeval.trust.records import Rating

FOLDER = "ratings"
FILE = "ratings.jsonl"


def ratings_path(run: Path, name: str) -> Path:
    """Returns the path of the ratings called ``name`` in a run folder."""
    return run / FOLDER / file_name(name) / FILE


def files_of_run(run: Path) -> list[Path]:
    """Returns all files of ratings in a run folder, sorted by name.

    Raises MissingDataError if there are none.
    """
    files = sorted(run.glob(f"{FOLDER}/*/{FILE}"))
    if not files:
        raise MissingDataError(f"{run} has no ratings: {FOLDER}/NAME/{FILE}", file=run)
    return files


class RatingsFile:
    """Appends ratings to a file. The first rating creates the file."""

    def __init__(self, path: Path) -> None:
        """Opens the file. Raises StorageError if it cannot be written."""
        self.path = path
        self._file = open_append(path, buffering=0)

    def __enter__(self) -> RatingsFile:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, ratings: Iterable[Rating]) -> None:
        """Appends ratings. They are on disk when this returns. Raises StorageError."""
        lines = b""
        for rating in ratings:
            lines += to_line(rating.to_json()) + b"\n"
        try:
            remaining = memoryview(lines)
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StorageError(
                f"{self.path}: cannot be written ({error.strerror}). The ratings "
                "before this one are kept: free space, then rate again"
            ) from None
