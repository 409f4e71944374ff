"""Finds the files of a metric's model on this machine, and computes their fingerprint.

mmeval first looks for a model of the hub in the folder ``MMEVAL_WEIGHTS_DIR``, as
``OWNER/NAME/FILE``. Then it looks in the cache of the hub, at the given revision or at
``main`` as of the last download.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import StorageError
from mmeval.records.digests import digest
from mmeval.system.folders import own_cache, write_atomic

WEIGHTS_DIR = "MMEVAL_WEIGHTS_DIR"
USUAL_REVISION = "main"
LARGE_BYTES = 64 * 2**20
"""The digest of a file outside of the hub's cache is cached from this size in bytes."""
_NAME = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FOLDER = (".", "/", "~")


class NamedModel(NamedTuple):
    """A model as a user names it.

    The model is on the hub, with a ``revision`` if the user gave one, or in a folder.
    An empty name means that the switch names no model.
    """

    name: str
    revision: str = ""
    folder: Path | None = None

    def __str__(self) -> str:
        if self.folder is not None:
            return str(self.folder)
        return f"{self.name} at {self.revision[:12]}" if self.revision else self.name


class ModelFolder(NamedTuple):
    """A folder that may contain a model, and the commit of its files if known."""

    folder: Path
    commit: str = ""


def naming_fault(written: str) -> str:
    """Returns the fault of a model's name, which states the valid forms of names.

    The string is empty if ``written`` is a valid name.
    """
    if not written or written.startswith(_FOLDER):
        return ""
    if _NAME.fullmatch(written) and ".." not in written:
        return ""
    return "a model: owner/name, owner/name@revision, or a folder such as ./model"


def named_model(written: str) -> NamedModel:
    """Returns the model that a valid name refers to (see ``naming_fault``)."""
    if written.startswith(_FOLDER):
        folder = Path(written)
        with contextlib.suppress(RuntimeError):  # The user in ~USER does not exist.
            folder = folder.expanduser()
        folder = Path(os.path.abspath(folder))  # noqa: PTH100  links keep the name under which the user knows it
        return NamedModel(folder.name, folder=folder)
    match = _NAME.fullmatch(written)
    if not match:
        return NamedModel("")
    return NamedModel(match["repo"], match["revision"] or "")


def candidate_folders(model: NamedModel) -> Iterator[ModelFolder]:
    """Yields the folders that may contain a model, in the order of the search."""
    if model.folder is not None:
        yield ModelFolder(model.folder)
        return
    if weights_dir := os.environ.get(WEIGHTS_DIR):
        yield ModelFolder(Path(weights_dir).expanduser() / model.name)
    from mmeval.dataset.hub_cache import cache_folder, cached_snapshot

    snapshot = cached_snapshot(model.name, model.revision or USUAL_REVISION, "model")
    if snapshot is None:
        yield ModelFolder(cache_folder() / model.name)
    else:
        yield ModelFolder(snapshot, snapshot.name)


def weights_dir_fault() -> str:
    """Returns why ``MMEVAL_WEIGHTS_DIR`` cannot be used.

    The string is empty if it can be used or is not set.
    """
    weights_dir = os.environ.get(WEIGHTS_DIR)
    if weights_dir and not Path(weights_dir).expanduser().is_dir():
        return f"{WEIGHTS_DIR} is {weights_dir}, which is not a folder"
    return ""


def missing(folder: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Returns the required files that a folder lacks, each with its alternatives."""
    absent = [item for item in files if _existing(folder, item) is None]
    return tuple(item.replace("|", " or ") for item in absent)


def first_of(item: str, is_there: Callable[[str], bool]) -> str | None:
    """Returns the first alternative that exists.

    If none exists, the result is empty for an optional file, and None for any other.
    """
    for name in item.split("|"):
        if not name or is_there(name):
            return name
    return None


def _existing(folder: Path, item: str) -> str | None:
    def is_there(name: str) -> bool:
        if "*" in name:
            return any(folder.glob(name))
        return (folder / name).is_file()

    return first_of(item, is_there)


def fingerprint(folder: Path, files: Sequence[str]) -> str:
    """Returns the digest of the names and SHA-256 of a model's files.

    The fingerprint does not depend on the path of the folder.

    A large file in the hub's cache is not read, because its name is its SHA-256. The
    digest of a large file elsewhere is cached by path, size and modification time. A
    name with ``*`` may match thousands of files, so only the names and sizes of these
    files are included.
    """
    marks: list[list[Any]] = []
    for name in sorted(filter(None, (_existing(folder, item) for item in files))):
        if "*" not in name:
            marks.append([name, file_mark(folder / name)])
            continue
        sizes = []
        for path in sorted(folder.glob(name)):
            inside = path.relative_to(folder).as_posix()
            sizes.append([inside, path.stat().st_size])
        marks.append([name, sizes])
    return digest(marks)


def file_mark(path: Path) -> str:
    """Returns the SHA-256 of a file, which is cached until the file changes."""
    if path.is_symlink():
        blob = path.readlink()
        if blob.parent.name == "blobs" and _SHA256.fullmatch(blob.name):
            return blob.name
    status = path.stat()
    return _digest_of_file(str(path.resolve()), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1024)
def _digest_of_file(
    path: str,
    size: int,
    changed_ns: int,
) -> str:
    """Returns the SHA-256 of a file with this size and modification time."""
    if size < LARGE_BYTES:
        return _read_digest(path)
    cached = None
    # Without a cache folder, the file is read each time.
    with contextlib.suppress(StorageError):
        cached = own_cache() / "digests" / digest([path, size, changed_ns])
    with contextlib.suppress(OSError, ValueError):
        if cached is not None and _SHA256.fullmatch(text := cached.read_text("ascii")):
            return text
    sha256 = _read_digest(path)
    if cached is not None:
        with contextlib.suppress(StorageError):  # It is computed again next time.
            write_atomic(cached, sha256.encode("ascii"))
    return sha256


def _read_digest(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123  a text, which can be a key
        return hashlib.file_digest(file, "sha256").hexdigest()
