"""Finds the files of a metric's model on this machine, and their fingerprint.

A model of the hub is searched below the folder that ``MMEVAL_WEIGHTS_DIR`` names, as
``OWNER/NAME/FILE``, then in the cache of the hub: at the named revision, else at
``main`` as it was when it was fetched.
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
"""Bytes from which on the digest of a file outside of the hub's cache is kept, so that
the file is read once."""
_NAME = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FOLDER = (".", "/", "~")


class NamedModel(NamedTuple):
    """A model as a user names it: of the hub, at a ``revision`` if given; or a folder.
    An empty name means no model."""

    name: str
    revision: str = ""
    folder: Path | None = None

    def __str__(self) -> str:
        if self.folder is not None:
            return str(self.folder)
        return f"{self.name} at {self.revision[:12]}" if self.revision else self.name


class Placed(NamedTuple):
    """The folder of a model, and its commit if known."""

    folder: Path
    commit: str = ""


def naming_fault(written: str) -> str:
    """What a text must be to name a model; empty when it names one."""
    if not written or written.startswith(_FOLDER):
        return ""
    if _NAME.fullmatch(written) and ".." not in written:
        return ""
    return "a model: owner/name, owner/name@revision, or a folder such as ./model"


def named_model(written: str) -> NamedModel:
    """The model that a text names, which has no ``naming_fault``."""
    if written.startswith(_FOLDER):
        folder = Path(written)
        with contextlib.suppress(RuntimeError):  # there is no such user
            folder = folder.expanduser()
        folder = Path(os.path.abspath(folder))  # noqa: PTH100  links keep the name under which the user knows it
        return NamedModel(folder.name, folder=folder)
    found = _NAME.fullmatch(written)
    if not found:
        return NamedModel("")
    return NamedModel(found["repo"], found["revision"] or "")


def places(model: NamedModel) -> Iterator[Placed]:
    """Where a model may be."""
    if model.folder is not None:
        yield Placed(model.folder)
        return
    if own := os.environ.get(WEIGHTS_DIR):
        yield Placed(Path(own).expanduser() / model.name)
    from mmeval.dataset.hub_cache import cache_folder, cached_snapshot

    found = cached_snapshot(model.name, model.revision or USUAL_REVISION, "model")
    if found is None:
        yield Placed(cache_folder() / model.name)
    else:
        yield Placed(found, found.name)


def weights_dir_fault() -> str:
    """Why ``MMEVAL_WEIGHTS_DIR`` cannot be used; empty for a folder, or if not set."""
    own = os.environ.get(WEIGHTS_DIR)
    if own and not Path(own).expanduser().is_dir():
        return f"{WEIGHTS_DIR} names {own}, which is no folder"
    return ""


def missing(folder: Path, wanted: Sequence[str]) -> tuple[str, ...]:
    """The files that a folder lacks, with their alternatives."""
    lacking = [item for item in wanted if _here(folder, item) is None]
    return tuple(item.replace("|", " or ") for item in lacking)


def first_of(item: str, is_there: Callable[[str], bool]) -> str | None:
    """The first existing alternative; None if none exists, empty if none is needed."""
    for name in item.split("|"):
        if not name or is_there(name):
            return name
    return None


def _here(folder: Path, item: str) -> str | None:
    def is_there(name: str) -> bool:
        if "*" in name:
            return any(folder.glob(name))
        return (folder / name).is_file()

    return first_of(item, is_there)


def fingerprint(folder: Path, wanted: Sequence[str]) -> str:
    """The digest of a model: of names and SHA-256 of its opened files, wherever it is.

    A large file of the hub's cache is not read, as its name there is its SHA-256. The
    digest of a large file elsewhere is kept by path, size and time of change, and
    computed again when one of these differs. Files of a name with ``*`` may be
    thousands: their names and sizes count.
    """
    marks: list[list[Any]] = []
    for name in sorted(filter(None, (_here(folder, item) for item in wanted))):
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
    """The SHA-256 of a file, which is read once as long as it is not changed."""
    if path.is_symlink():
        blob = path.readlink()
        if blob.parent.name == "blobs" and _SHA256.fullmatch(blob.name):
            return blob.name
    found = path.stat()
    return _digest_of_file(str(path.resolve()), found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=1024)
def _digest_of_file(
    path: str,
    size: int,
    changed_ns: int,
) -> str:
    """The SHA-256 of a file with this size and time of change."""
    if size < LARGE_BYTES:
        return _read_digest(path)
    kept = None
    # without a cache the file is read each time
    with contextlib.suppress(StorageError):
        kept = own_cache() / "digests" / digest([path, size, changed_ns])
    with contextlib.suppress(OSError, ValueError):
        if kept is not None and _SHA256.fullmatch(text := kept.read_text("ascii")):
            return text
    made = _read_digest(path)
    if kept is not None:
        with contextlib.suppress(StorageError):  # it is made again next time
            write_atomic(kept, made.encode("ascii"))
    return made


def _read_digest(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123  a text, which can be a key
        return hashlib.file_digest(file, "sha256").hexdigest()
