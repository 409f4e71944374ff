"""Finds or downloads the data of a task, and records their source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from mmeval.dataset.contract import FORMATS, Dataset, DataSource, Loader
from mmeval.dataset.hub_cache import COMMIT
from mmeval.errors import (
    MissingDataError,
    NotFetchedError,
    TaskFileError,
    UnknownNameError,
    UsageError,
)
from mmeval.media.media import path_inside
from mmeval.system.yaml_document import YamlPlace
from mmeval.task.file import TaskFile
from mmeval.task.task import TaskOverrides

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_NOWHERE = YamlPlace(Path(), 0)


@dataclass(frozen=True)
class TaskData:
    """The source of a task's samples. The first call finds or downloads them."""

    task: str
    loader: Loader
    path: str = ""
    """``dataset_path``: a local folder, a data set on the hub, or a file format."""
    revision: str = ""
    beside: Path = Path()
    """The folder for a relative ``path``."""
    place: YamlPlace = _NOWHERE
    """The place of ``dataset_path`` in the file, for error messages."""
    bundled: Path | None = None
    """The folder of the bundled samples if they are used."""
    data_dir: Path | None = None
    name: str = ""
    split: str = "test"
    options: Mapping[str, Any] = field(default_factory=dict)
    fetch: bool = True
    """False if a data set of the hub may only be read from the cache.

    Then the network is not used.
    """

    def __call__(self) -> Dataset:
        return self._opened

    @cached_property
    def _opened(self) -> Dataset:
        source = DataSource(
            self.task,
            folder=Path() if self.streamed else self.folder,
            name=self.name,
            split=self.split,
            options=self.options,
            repo=self.path if self.streamed else "",
            revision=self.streamed,
            format=self.path if self._is_format else "",
        )
        try:
            return self.loader(source)
        except UnknownNameError as error:
            raise TaskFileError(
                str(error),
                file=self.place.file,
                line=self.place.line,
                name=error.name,
            ) from error

    @cached_property
    def streamed(self) -> str:
        """The commit of a data set that the loader streams from the hub.

        It is an empty string if the loader does not stream the data.
        """
        is_given = self.bundled is not None or self.data_dir is not None
        may_stream = self.fetch and getattr(self.loader, "streams", False)
        if is_given or not may_stream or self.local() is not None:
            return ""
        from mmeval.dataset import hub

        try:
            listed = hub.listing(self.path, self.revision or "main")
        except hub.OutOfReachError:  # the data may be in the cache
            return ""
        return listed.commit if hub.not_here(self.path, listed) else ""

    @cached_property
    def folder(self) -> Path:
        """The folder of the data.

        Raises MissingDataError if it does not exist. Raises NotFetchedError if a data
        set of the hub is not on this machine and cannot, or must not, be downloaded.
        """
        if self.bundled is not None:
            return self.bundled
        data_dir = self.data_dir
        if data_dir is not None:
            if not data_dir.is_dir():
                raise MissingDataError(
                    f"--data_dir {data_dir}: this folder does not exist",
                    name="--data_dir",
                )
            inner = data_dir / self.path
            leads_out = ".." in PurePosixPath(self.path).parts or is_absolute(self.path)
            return inner if inner.is_dir() and not leads_out else data_dir
        local = self.local()
        if local is not None:
            return local
        revision = self.revision or "main"
        if not self.fetch:
            from mmeval.dataset.hub_cache import cached_snapshot

            cached = cached_snapshot(self.path, revision, "dataset")
            if cached is None:
                raise self.not_fetched()
            return cached
        from mmeval.dataset.hub import OutOfReachError, snapshot

        try:
            return snapshot(self.path, revision)
        except OutOfReachError as error:
            raise self.not_fetched(error.reason) from error

    def not_fetched(self, reason: str = "") -> NotFetchedError:
        """Returns the error for a data set that is not on this machine.

        ``reason`` states why the data set could not be downloaded.
        """
        why = f" ({reason})" if reason else ""
        return NotFetchedError(
            f"the data set {self.path} is not on this machine{why}",
            cause="the data set is not on this machine",
            command=f"mmeval prepare {self.task}",
            name=self.path,
        )

    def local(self) -> Path | None:
        """Returns the local folder of ``dataset_path``; None for a data set on the hub.

        Raises MissingDataError for a folder that does not exist, and for a path that is
        neither a folder nor the name of a data set.
        """
        if not self.path or self._is_format:
            return self.beside
        try:
            folder = self.beside / Path(self.path).expanduser()
        except RuntimeError:  # ``~name`` without such a user
            raise self._missing(
                f"the home folder of {self.path!r} is unknown; correct the path, or "
                "use --data_dir FOLDER"
            ) from None
        if folder.is_dir():
            return folder
        if is_absolute(self.path) or self.path.startswith((".", "~")):
            raise self._missing(
                f"the folder {folder} does not exist; correct the path, or use "
                "--data_dir FOLDER"
            )
        if self.path in FORMATS:
            raise self._missing(
                f"{self.path!r} is a file format; write loader: datasets and "
                "dataset_kwargs: {data_files: NAME}"
            )
        if not _HUB_NAME.fullmatch(self.path):
            raise self._missing(
                f"{self.path!r} is neither a folder next to the task file nor a data "
                "set of the hub (owner/name); correct it, or use --data_dir FOLDER"
            )
        return None

    @property
    def _is_format(self) -> bool:
        """True if ``dataset_path`` is a file format and not a folder of that name."""
        reads_formats = getattr(self.loader, "reads_formats", False)
        if not reads_formats or self.path not in FORMATS:
            return False
        return not (self.beside / self.path).is_dir()

    def _missing(self, reason: str) -> MissingDataError:
        cause = f"dataset_path: {reason}"
        return MissingDataError(
            f"{self.place.file}:{self.place.line}: {cause}",
            cause=cause,
            name="dataset_path",
            file=self.place.file,
            line=self.place.line,
        )

    def record(self) -> dict[str, Any]:
        """Returns the source of the data for the record, without paths of this machine.

        ``path`` and ``revision`` are as in the task file. ``commit`` is the commit of a
        data set of the hub, else an empty string. The folder is found or downloaded
        first. Raises MissingDataError.
        """
        commit = self.streamed
        if not commit:
            folder = self.folder.absolute()
            # a folder in the hub's cache is snapshots/<commit>
            if folder.parent.name == "snapshots" and COMMIT.fullmatch(folder.name):
                commit = folder.name
        return {
            "path": portable(self.path),
            "revision": self.revision,
            "commit": commit,
            "bundled": self.bundled is not None,
        }


def task_data(
    file: TaskFile,
    overrides: TaskOverrides,
    loader: Loader,
) -> TaskData:
    """Returns the data of a task.

    Raises MissingDataError if bundled samples do not exist.
    """
    if overrides.data not in ("", "bundled"):
        raise UsageError(
            f"--data {overrides.data}: the only allowed value is bundled", name="--data"
        )
    bundled = None
    if overrides.data == "bundled":
        bundled = bundled_folder(file)
        if bundled is None:
            message = (
                f"{file.name} has no bundled samples; leave out this task, or --data "
                "bundled"
            )
            raise MissingDataError(message, name="--data")
    keys = file.keys
    options = dict(keys.dataset_kwargs)
    columns = keys.columns.model_dump(exclude_unset=True)
    if columns:
        options["columns"] = columns
    return TaskData(
        task=file.name,
        loader=loader,
        path=keys.dataset_path,
        revision=keys.revision,
        beside=file.beside("dataset_path") if keys.dataset_path else file.folder,
        place=file.document.place(("dataset_path",)),
        bundled=bundled,
        data_dir=overrides.data_dir,
        name=keys.dataset_name,
        split=keys.test_split,
        options=options,
    )


def bundled_folder(file: TaskFile) -> Path | None:
    """Returns the folder of a task's bundled samples, or None if it has none.

    The key ``bundled`` is relative to the YAML file. Raises TaskFileError for a path
    outside of the task's folder.
    """
    home = file.beside("bundled") if "bundled" in file.document.data else file.folder
    try:
        folder = path_inside(home, file.keys.bundled)
    except UsageError as error:
        raise file.document.error(("bundled",), str(error)) from None
    return folder if folder.is_dir() else None


def portable(path: str) -> str:
    """Returns a path for records: an absolute path becomes its last component."""
    return PurePosixPath(path.replace("\\", "/")).name if is_absolute(path) else path


def is_hub_name(path: str) -> bool:
    """Returns True if a path may be the name of a data set on the hub."""
    is_path = ".." in path or path.startswith((".", "~"))
    return _HUB_NAME.fullmatch(path) is not None and not is_path


def is_absolute(path: str) -> bool:
    """Returns True if a path is absolute on any operating system."""
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()
