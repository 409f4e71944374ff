"""Lists and unpacks zip and tar archives under one folder, within limits.

An archive of a data set is as hostile as its media. Only plain files and folders are unpacked. An archive with a link,
a device, an encrypted entry or a name that leads elsewhere is refused as a whole, because a data set with a part left
out would be scored as if it were whole. Archives within archives stay files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from mmeval.decode.archives.names import ArchiveNames, entry_path
from mmeval.decode.archives.tar import is_tar, tar_entries
from mmeval.decode.archives.zip import is_zip, zip_entries
from mmeval.decode.limits import ArchiveLimits
from mmeval.errors import ContentError, CorruptMediaError, MediaLimitError, MissingDataError, StorageError, UsageError

DEFAULT_ARCHIVE_LIMITS = ArchiveLimits()
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A file of an archive: its path below the target folder, and its unpacked bytes."""

    path: PurePosixPath
    size: int


def listing(archive: Path, *, limits: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS) -> tuple[ArchiveEntry, ...]:
    """The files of an archive in its order, checked as by :func:`extract`.

    A compressed tar is read to its end. Raises CorruptMediaError, MediaLimitError, MissingDataError.
    """
    found = []
    with _reading(archive):
        for path, source in _files(archive, limits):
            size = 0
            while block := source.read(_BLOCK):
                size += len(block)
            found.append(ArchiveEntry(path, size))
    return tuple(found)


def extract(archive: Path, into: Path, *, limits: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS) -> int:
    """Unpack an archive as ``into``, all or nothing; returns the number of files.

    ``into`` appears when everything is in it, so that it is whole, and after an interruption the same call starts over
    (what the interrupted one left is removed). Files are not executable and belong to the user. Raises UsageError where
    ``into`` exists and is not empty; CorruptMediaError, MediaLimitError or MissingDataError for the archive;
    StorageError where there is no room."""
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise UsageError(f"{into}: there is something already; remove it, or unpack {archive.name} elsewhere")
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        with _building(into) as folder, _reading(archive):
            count = 0
            for path, source in _files(archive, limits):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                with (folder / path).open("xb") as out:
                    shutil.copyfileobj(source, out, _BLOCK)
                count += 1
            folder.chmod(0o755)
            folder.replace(into)
    except OSError as error:
        raise StorageError(f"{into}: {archive.name} cannot be unpacked there ({error.strerror or error})") from None
    return count


def _files(archive: Path, limits: ArchiveLimits) -> Iterator[tuple[PurePosixPath, BinaryIO]]:
    """The files of an archive with their readers, each to be read before the next one."""
    with archive.open("rb") as file:
        if is_zip(file):
            entries = zip_entries(file, limits)
        elif is_tar(file):
            entries = tar_entries(file, limits)
        else:
            raise ValueError("it is neither a zip nor a tar (plain, gz, bz2 or xz)")
        names = ArchiveNames()
        for name, source in entries:
            path = entry_path(name)
            names.add(path, is_folder=source is None)
            if source is not None:
                yield path, source


@contextlib.contextmanager
def _reading(archive: Path) -> Iterator[None]:
    """Turn what a reader of hostile bytes raises into an error that names the archive."""
    try:
        if not archive.is_file():
            raise MissingDataError(f"{archive}: no such archive")
        yield
    except ContentError as error:
        raise type(error)(f"{archive}: {error}") from None
    except MemoryError:
        raise MediaLimitError(f"{archive}: unpacking it needs more memory than there is") from None
    except OSError as error:
        if error.errno is not None:  # the disk's, not the reader's
            raise
        raise CorruptMediaError(f"{archive}: it cannot be unpacked ({error})") from None
    except (MissingDataError, StorageError):
        raise
    except Exception as error:  # readers of hostile bytes raise what they like
        reason = str(error).partition("\n")[0][:300] or type(error).__name__
        raise CorruptMediaError(f"{archive}: it cannot be unpacked ({reason})") from error


@contextlib.contextmanager
def _building(into: Path) -> Iterator[Path]:
    """A locked folder beside ``into``, removed at the end unless it was renamed."""
    mark = f".{into.name}.unpacking-"
    for left in into.parent.glob(f"{mark}*"):
        with contextlib.suppress(OSError), _locked(left):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=mark, dir=into.parent))
    try:
        with _locked(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder. Raises OSError where another process has locked it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
