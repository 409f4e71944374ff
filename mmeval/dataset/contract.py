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

    def __iter__(self) -> Iterator[Sample]:
        """The samples; a row that cannot be put to a model is one with a ``fault``. The
        fault names file and row. A RowError is raised where no sample can be made of a
        row and the same iterator goes on with the next. Any other error ends the
        data."""
        ...


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
