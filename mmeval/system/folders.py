"""A folder is replaced as a whole: whoever opens it finds the old one or the new one, whatever kills the process."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mmeval.errors import StorageError

_EXCHANGE = 2
_HERE = -100
"""AT_FDCWD: paths count from the working folder."""


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder``, which takes its place when the block ends without an error. Left-overs of
    processes that were killed are removed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    new = folder.with_name(f"{_prefix(folder)}{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        yield new
        if folder.exists():
            _exchange(new, folder)
        else:
            new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _prefix(folder: Path) -> str:
    return f".{folder.name}.{socket.gethostname()[:40]}-"


def _sweep(folder: Path) -> None:
    for left in folder.parent.glob(f"{_glob_escaped(_prefix(folder))}*"):
        number = left.name.removeprefix(_prefix(folder))
        if number.isdigit() and not _alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)


def _glob_escaped(text: str) -> str:
    import glob

    return glob.escape(text)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def _exchange(new: Path, old: Path) -> None:
    """Both folders take each other's name in one step, where the system can do that; else in two."""
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        if rename(_HERE, os.fsencode(new), _HERE, os.fsencode(old), _EXCHANGE) == 0:
            return
    aside = new.with_name(f"{new.name}.old")
    old.rename(aside)
    new.rename(old)
    shutil.rmtree(aside, ignore_errors=True)


def free_bytes(path: Path) -> int:
    """What the disk of a folder has free. Raises OSError where it cannot be asked."""
    return shutil.disk_usage(existing(path)).free


def existing(path: Path) -> Path:
    """The folder itself, or the nearest one around it that is there."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.is_dir())


def own_cache() -> Path:
    """``MMEVAL_CACHE_DIR``, else ``mmeval`` in the user's cache. Raises StorageError for a user without a home."""
    named = os.environ.get("MMEVAL_CACHE_DIR")
    try:
        if named:
            return Path(named).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mmeval"
    except RuntimeError:  # nobody's home
        raise StorageError("this user has no home folder; name one for caches with MMEVAL_CACHE_DIR") from None
