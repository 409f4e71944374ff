"""Where samples come from: the source that a task file declares, and what a loader makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mmeval.records import Sample


@dataclass(frozen=True)
class DataSource:
    """What a loader is given. ``folder`` is where the data lie: a local folder, or a snapshot of a hub data set that
    was downloaded at its pinned revision before the loader ran. ``options`` are the task's ``dataset_kwargs``."""

    task: str
    folder: Path
    name: str = ""
    split: str = "test"
    options: Mapping[str, Any] = field(default_factory=dict)


class Dataset(Protocol):
    """Samples in their fixed order, made one at a time so that a large data set never stands in memory."""

    @property
    def fingerprint(self) -> str:
        """Changes when the rows change (the media are covered by the samples' own digests)."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Sample]:
        """Raises UsageError naming file and row for a row that cannot be read: RowError where the same iterator can go
        on with the next row, anything else where it is spent."""
        ...


Loader = Callable[[DataSource], Dataset]
"""The plugin contract of ``mmeval.loaders``. Raises MissingDataError when the folder lacks what it needs."""
