"""Replaces folders and files atomically; finds free space and the cache folder."""

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
"""The flag RENAME_EXCHANGE of renameat2 on Linux."""
_WORKING_FOLDER = -100
"""AT_FDCWD: paths are relative to the working folder."""


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Yields a new folder that replaces ``folder`` when the block ends without an
    error.

    It is created next to ``folder``. Readers see the old folder or the new one, even if
    the process is killed. Folders left by killed processes are removed.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{folder.name}.{socket.gethostname()[:40]}-"
    for leftover in folder.parent.glob(f"{glob.escape(prefix)}*"):
        number = leftover.name.removeprefix(prefix)
        if number.isdigit() and not is_alive(int(number)):
            shutil.rmtree(leftover, ignore_errors=True)
    new = folder.with_name(f"{prefix}{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        yield new
        if not folder.exists():
            new.rename(folder)
            return
        # in one step if the system supports it, or else in two
        import ctypes

        with contextlib.suppress(AttributeError, OSError):
            rename = ctypes.CDLL(None, use_errno=True).renameat2
            names = (
                _WORKING_FOLDER,
                os.fsencode(new),
                _WORKING_FOLDER,
                os.fsencode(folder),
            )
            if rename(*names, _EXCHANGE) == 0:
                return
        aside = new.with_name(f"{new.name}.old")
        folder.rename(aside)
        new.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def link_or_copy(source: Path, target: Path) -> None:
    """Create ``target`` as a hard link to ``source`` if possible, or else as a copy.

    A target of the same size is kept. Raises StorageError.
    """
    with contextlib.suppress(OSError):
        if target.stat().st_size == source.stat().st_size:
            return
    with replaced_file(target) as new:
        try:
            new.hardlink_to(source)
        except OSError:
            # another disk, no support for hard links, or too many links
            shutil.copyfile(source, new)


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """Yields a new file that replaces ``path`` when the block ends without an error.

    It is created next to ``path``. Raises StorageError.
    """
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
    """Replace a small file atomically. Raises StorageError."""
    with replaced_file(path) as new:
        new.write_bytes(data)


def free_bytes(path: Path) -> int:
    """Returns the free bytes on the disk of a folder. Raises OSError if they are
    unknown."""
    return shutil.disk_usage(existing(path)).free


def existing(path: Path) -> Path:
    """Returns the folder, or its nearest parent that exists."""
    folder = path.absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def own_cache() -> Path:
    """Returns mmeval's cache: ``MMEVAL_CACHE_DIR``, or else ``mmeval`` in the user's
    cache folder.

    Raises StorageError if the user has no home folder.
    """
    configured = os.environ.get("MMEVAL_CACHE_DIR")
    try:
        if configured:
            return Path(configured).expanduser()
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return Path(home).expanduser() / "mmeval"
    except RuntimeError:  # the user has no home folder
        raise StorageError(
            "this user has no home folder; set MMEVAL_CACHE_DIR to a folder for caches"
        ) from None
