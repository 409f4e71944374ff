"""The contract of loaders: the source in a task file, and the data set from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from mmeval.errors import UnknownNameError
from mmeval.records.sample import Sample

FORMATS = (
    "json",
    "csv",
    "parquet",
    "arrow",
    "text",
    "xml",
    "imagefolder",
    "audiofolder",
    "videofolder",
    "pdffolder",
)
"""What ``dataset_path`` may be in place of a data set, as in the library ``datasets``:
the format of the files in ``dataset_kwargs: {data_files: ...}``. A loader reads them
that has a true attribute ``reads_formats``."""


@dataclass(frozen=True)
class DataSource:
    """The input of a loader. ``folder`` holds the data: a local folder, or a snapshot
    of a hub data set that was downloaded at its pinned revision before the loader ran.
    ``options`` are the task's ``dataset_kwargs``, and its ``columns`` if it has any.

    A loader with a true attribute ``streams`` reads a data set of the hub by itself,
    unless all of it is here already: ``repo`` is its name then and ``revision`` its
    commit, and ``folder`` means nothing.
    """

    task: str
    folder: Path
    name: str = ""
    split: str = "test"
    options: Mapping[str, Any] = field(default_factory=dict)
    repo: str = ""
    revision: str = ""
    format: str = ""
    """The format of the files that the options name, where ``dataset_path`` is one."""

    def check_options(self, known: Sequence[str], hint: str = "") -> None:
        """Raises UnknownNameError for an option that is none of these."""
        for option in self.options:
            if option not in known:
                raise UnknownNameError(
                    "key of dataset_kwargs",
                    option,
                    known,
                    hint or f"It takes: {', '.join(known)}.",
                )


class Dataset(Protocol):
    """Samples in fixed order, made one at a time, as all may be too large for
    memory."""

    @property
    def fingerprint(self) -> str:
        """Changes when the rows change (the media have digests in the samples)."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Sample | BadRow]:
        """A sample of each row; a BadRow where there is none. What it raises ends the
        data: the samples before it stay."""
        ...


@dataclass(frozen=True)
class BadRow:
    """A row of which no sample can be made: where it stands, such as ``test.jsonl: row
    3``, and the reason.

    ``id`` is that of the sample that it would be, ``labels`` are those that are known:
    a draw does not change when the row is corrected, and a filter can leave it out.
    """

    where: str
    reason: str
    id: str = ""
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fault(self) -> str:
        """Place and reason, in words."""
        reason = self.reason or "the row cannot be read"
        return f"{self.where}: {reason}" if self.where else reason


@runtime_checkable
class CountsLabels(Protocol):
    """What a data set may have besides: counts that it knows without making samples."""

    def label_counts(self) -> Iterator[tuple[Mapping[str, Any], int]]:
        """Groups of samples that share some labels, each with its number. Together they
        are all samples; a label that is not in a group may have any value there."""
        ...


Loader = Callable[[DataSource], Dataset]
"""The plugin contract of ``mmeval.loaders``. Raises MissingDataError when the folder
lacks what it needs."""
