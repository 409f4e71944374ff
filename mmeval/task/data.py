"""The data of a task: the folder of its samples, found or fetched, and its record."""

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
    """Where a task's samples come from; a call finds or downloads, and opens them
    once."""

    task: str
    loader: Loader
    path: str = ""
    """``dataset_path``: a local folder, the name of a data set on the hub, or a format
    of files."""
    revision: str = ""
    beside: Path = Path()
    """What a relative ``path`` is relative to."""
    place: YamlPlace = _NOWHERE
    """Where ``dataset_path`` is written, for messages."""
    bundled: Path | None = None
    """The folder of the bundled samples, when these are to be used."""
    data_dir: Path | None = None
    name: str = ""
    split: str = "test"
    options: Mapping[str, Any] = field(default_factory=dict)
    fetch: bool = True
    """False: a data set of the hub is read from the cache only, without the network."""

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
        """The commit of a data set that the loader reads from the hub; empty where it
        reads a folder."""
        is_given = self.bundled is not None or self.data_dir is not None
        may_stream = self.fetch and getattr(self.loader, "streams", False)
        if is_given or not may_stream or self.local() is not None:
            return ""
        from mmeval.dataset import hub

        try:
            listed = hub.listing(self.path, self.revision or "main")
        except hub.OutOfReachError:  # it may be in the cache
            return ""
        return listed.commit if hub.not_here(self.path, listed) else ""

    @cached_property
    def folder(self) -> Path:
        """The folder. Raises MissingDataError where there is none, NotFetchedError
        where a data set of the hub is not here and cannot, or should not, be
        fetched."""
        if self.bundled is not None:
            return self.bundled
        data_dir = self.data_dir
        if data_dir is not None:
            if not data_dir.is_dir():
                raise MissingDataError(
                    f"--data_dir {data_dir}: there is no such folder", name="--data_dir"
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

            found = cached_snapshot(self.path, revision, "dataset")
            if found is None:
                raise self.not_fetched()
            return found
        from mmeval.dataset.hub import OutOfReachError, snapshot

        try:
            return snapshot(self.path, revision)
        except OutOfReachError as error:
            raise self.not_fetched(error.reason) from error

    def not_fetched(self, reason: str = "") -> NotFetchedError:
        """The error that the data set of the hub is not on this machine; ``reason`` is
        why the hub did not give it."""
        why = f" ({reason})" if reason else ""
        return NotFetchedError(
            f"the data set {self.path} is not on this machine{why}",
            cause="the data set is not on this machine",
            command=f"mmeval prepare {self.task}",
            name=self.path,
        )

    def local(self) -> Path | None:
        """The local folder of ``dataset_path``; None for a data set on the hub. Raises
        MissingDataError for a folder that does not exist, and for a path that can be
        neither."""
        if not self.path or self._is_format:
            return self.beside
        try:
            folder = self.beside / Path(self.path).expanduser()
        except RuntimeError:  # ``~name`` without such a user
            raise self._missing(
                f"no user has the home {self.path!r}; correct it, or give --data_dir "
                "FOLDER"
            ) from None
        if folder.is_dir():
            return folder
        if is_absolute(self.path) or self.path.startswith((".", "~")):
            raise self._missing(
                f"there is no folder {folder}; correct it, or give --data_dir FOLDER"
            )
        if self.path in FORMATS:
            raise self._missing(
                f"{self.path!r} is a format of files; write loader: datasets, and the "
                "files in dataset_kwargs: {data_files: NAME}"
            )
        if not _HUB_NAME.fullmatch(self.path):
            raise self._missing(
                f"there is no folder {self.path!r} beside the file, and it is not a "
                "data set of the hub "
                "(owner/name); correct it, or give --data_dir FOLDER"
            )
        return None

    @property
    def _is_format(self) -> bool:
        """Whether ``dataset_path`` names a format, and no folder of that name."""
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
        """The data as a record names them, without paths of the machine. ``path`` and
        ``revision`` are as in the task file, ``commit`` where the folder is one commit
        of a data set of the hub (else empty), and ``bundled``. Finds or downloads the
        folder, as a call does. Raises MissingDataError."""
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
    """Make a task's data. Raises MissingDataError without the wanted bundled
    samples."""
    if overrides.data not in ("", "bundled"):
        raise UsageError(
            f"--data {overrides.data}: the only word it takes is bundled", name="--data"
        )
    bundled = None
    if overrides.data == "bundled":
        bundled = bundled_folder(file)
        if bundled is None:
            message = (
                f"no bundled samples: {file.name}; leave it out, or leave out --data "
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
    """The folder of a task's bundled samples, beside its YAML or as ``bundled`` names.
    None without one. Raises TaskFileError for a path that leads out of that folder."""
    home = file.beside("bundled") if "bundled" in file.document.data else file.folder
    try:
        folder = path_inside(home, file.keys.bundled)
    except UsageError as error:
        raise file.document.error(("bundled",), str(error)) from None
    return folder if folder.is_dir() else None


def portable(path: str) -> str:
    """A path without a machine's folders: an absolute one becomes its last name."""
    return PurePosixPath(path.replace("\\", "/")).name if is_absolute(path) else path


def is_hub_name(path: str) -> bool:
    """Whether a path that is not a folder may be the name of a data set on the hub."""
    is_path = ".." in path or path.startswith((".", "~"))
    return _HUB_NAME.fullmatch(path) is not None and not is_path


def is_absolute(path: str) -> bool:
    """Whether a path is absolute on any system."""
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()
