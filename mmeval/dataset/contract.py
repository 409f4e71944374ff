"""The contract of loaders: a loader receives a DataSource and returns a Dataset."""

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
"""Values of ``dataset_path`` that are formats, as in the library ``datasets``.

``dataset_kwargs: {data_files: ...}`` then names the files. A loader supports formats if
its attribute ``reads_formats`` is true.
"""


@dataclass(frozen=True)
class DataSource:
    """The data that a loader has to read, with its options.

    - ``task``: the name of the task, for messages.
    - ``folder``: the folder of the data. It is a local folder, or the snapshot of a hub
      data set, which is downloaded at its revision before the loader runs.
    - ``name``: the task's ``dataset_name``.
    - ``split``: the task's ``test_split``.
    - ``options``: the task's ``dataset_kwargs``, plus ``columns`` if the task has any.

    A loader with a true attribute ``streams`` reads a hub data set itself, unless all
    its files are on this machine. ``repo`` and ``revision`` (a commit) are then set,
    and ``folder`` is not used.
    """

    task: str
    folder: Path
    name: str = ""
    split: str = "test"
    options: Mapping[str, Any] = field(default_factory=dict)
    repo: str = ""
    revision: str = ""
    format: str = ""
    """The format of the files named in ``options``, if ``dataset_path`` is a format."""

    def check_options(self, known: Sequence[str], hint: str = "") -> None:
        """Raises UnknownNameError for an option that is not among ``known``."""
        for option in self.options:
            if option not in known:
                raise UnknownNameError(
                    "key of dataset_kwargs",
                    option,
                    known,
                    hint or f"The loader's options are: {', '.join(known)}.",
                )


class Dataset(Protocol):
    """Samples in a fixed order, created one at a time to save memory."""

    @property
    def fingerprint(self) -> str:
        """A string that changes if the rows change.

        The string need not depend on the media, because samples contain the digests of
        their media.
        """
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Sample | BadRow]:
        """Returns a Sample or a BadRow for each row.

        If the iterator raises an exception, no more rows are read. The samples before
        it are kept.
        """
        ...


@dataclass(frozen=True)
class BadRow:
    """A row that cannot become a sample.

    ``where`` locates the row, such as ``test.jsonl: row 3``. ``id`` is the id of the
    sample. ``labels`` are the labels that could be read. Filters and draws use these
    labels, so a draw does not change when the row is fixed.
    """

    where: str
    reason: str
    id: str = ""
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fault(self) -> str:
        """The location and the reason."""
        reason = self.reason or "the row cannot be read"
        return f"{self.where}: {reason}" if self.where else reason


@runtime_checkable
class CountsLabels(Protocol):
    """A data set that can count its labels without creating samples."""

    def label_counts(self) -> Iterator[tuple[Mapping[str, Any], int]]:
        """Returns groups of samples with equal values of some labels, and group sizes.

        The groups cover all samples. If a group lacks a label, its samples may have any
        value of that label.
        """
        ...


Loader = Callable[[DataSource], Dataset]
"""The type of a loader, which is a plugin in the entry points ``mmeval.loaders``.

Raises MissingDataError if a file is missing in the folder.
"""
