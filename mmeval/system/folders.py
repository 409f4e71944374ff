"""Replaces folders and files as a whole; finds free space and the cache of mmeval."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mmeval.errors import StorageError
from mmeval.system.signals import is_alive

_EXCHANGE = 2
_HERE = -100
"""AT_FDCWD: paths count from the working folder."""


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """A new folder that replaces ``folder`` when the block ends without an error. It is
    made beside it. Readers find the old folder or the new one, even if the process is
    killed. Left-overs of killed processes are removed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{folder.name}.{socket.gethostname()[:40]}-"
    for left in folder.parent.glob(f"{glob.escape(prefix)}*"):
        number = left.name.removeprefix(prefix)
        if number.isdigit() and not is_alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)
    new = folder.with_name(f"{prefix}{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        yield new
        if not folder.exists():
            new.rename(folder)
            return
        # in one step if the system can, else in two
        import ctypes

        with contextlib.suppress(AttributeError, OSError):
            rename = ctypes.CDLL(None, use_errno=True).renameat2
            names = (_HERE, os.fsencode(new), _HERE, os.fsencode(folder))
            if rename(*names, _EXCHANGE) == 0:
                return
        aside = new.with_name(f"{new.name}.old")
        folder.rename(aside)
        new.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second place: a hard link where one can be had, else a copy, whole
    or not at all. One that is there already, in its size, stays. Raises
    StorageError."""
    with contextlib.suppress(OSError):
        if target.stat().st_size == source.stat().st_size:
            return
    with replaced_file(target) as new:
        try:
            new.hardlink_to(source)
        except OSError:
            # another disk, a file system without links, or too many of them
            shutil.copyfile(source, new)


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A new file that takes the place of ``path`` when the block ends without an error;
    it is made beside it. Raises StorageError."""
    new = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield new
        new.replace(path)
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written ({error.strerror or error}); free space or "
            "choose another folder"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a small file as a whole. Raises StorageError."""
    with replaced_file(path) as new:
        new.write_bytes(data)


def free_bytes(path: Path) -> int:
    """Free bytes on the disk of a folder. Raises OSError where they are not known."""
    return shutil.disk_usage(existing(path)).free


def existing(path: Path) -> Path:
    """The folder itself, or the nearest existing one above it."""
    folder = path.absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def own_cache() -> Path:
    """mmeval's cache: ``MMEVAL_CACHE_DIR``, else ``mmeval`` in the user's cache.
    Raises StorageError for a user without home."""
    named = os.environ.get("MMEVAL_CACHE_DIR")
    try:
        if named:
            return Path(named).expanduser()
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return Path(home).expanduser() / "mmeval"
    except RuntimeError:  # the user has no home folder
        raise StorageError(
            "this user has no home folder; name one for caches with MMEVAL_CACHE_DIR"
        ) from None
