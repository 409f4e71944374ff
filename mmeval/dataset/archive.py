"""Archives of media: a zip in a data set's folder, unpacked once into mmeval's
cache."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path

from mmeval.errors import MissingDataError, StorageError, UsageError
from mmeval.media.media import path_inside
from mmeval.records.digests import digest
from mmeval.system.folders import free_bytes, own_cache, replaced

MAX_RATIO = 200
"""How many times larger an archive may be unpacked; media hardly shrink."""
MAX_ENTRIES = 1_000_000


def unpacked(archive: Path) -> Path:
    """The folder of an archive's files, which are unpacked when it is asked for the
    first time.

    It is in the cache and belongs to the archive's path, size and time of change, as a
    data set's folder may be read-only or the hub's. ``prepare`` opens the data, so
    after it a run finds the folder. Nothing of an archive that is damaged, leads out of
    the folder, holds links or grows beyond ``MAX_RATIO`` is kept.

    Raises MissingDataError without a whole archive, UsageError for one that is not
    safe, StorageError where the disk is full.
    """
    try:
        path = archive.resolve(strict=True)
        state = path.stat()
    except OSError as error:
        raise MissingDataError(
            f"{archive}: there is no such archive ({error.strerror})", file=archive
        ) from None
    folder = (
        own_cache() / "archives" / digest([str(path), state.st_size, state.st_mtime_ns])
    )
    if folder.is_dir():
        return folder
    try:
        with zipfile.ZipFile(path) as opened, replaced(folder) as new:
            _check(opened, archive, state.st_size, new)
            for entry in opened.infolist():
                opened.extract(entry, new)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise MissingDataError(
            f"{archive}: it cannot be unpacked ({error}); fetch it again", file=archive
        ) from None
    except RuntimeError as error:  # a password
        raise UsageError(f"{archive}: it cannot be unpacked ({error})") from None
    except OSError as error:
        raise StorageError(
            f"{folder}: {archive.name} cannot be unpacked there ({error.strerror})"
        ) from None
    return folder


def _check(
    opened: zipfile.ZipFile,
    archive: Path,
    size: int,
    into: Path,
) -> None:
    """Raise for entries that may not be unpacked. Of one no more is written than it
    declares; zipfile sees to that."""
    entries = opened.infolist()
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_ENTRIES or total > max(size, 2**20) * MAX_RATIO:
        raise UsageError(
            f"{archive}: {len(entries):,} entries of {total:,} bytes in an archive of "
            f"{size:,}: do not use it"
        )
    for entry in entries:
        try:
            path_inside(into, entry.filename)
            is_safe = not stat.S_ISLNK(entry.external_attr >> 16)
        except UsageError:  # it leads out of the folder
            is_safe = False
        if not is_safe:
            raise UsageError(
                f"{archive}: its entry {entry.filename[:200]!r} is a link, or leads "
                "out of it; do not use it"
            )
    if total > free_bytes(into):
        raise StorageError(
            f"{into.parent}: {archive.name} needs {total:,} bytes there; free space, "
            "or set MMEVAL_CACHE_DIR to "
            "a folder on a larger disk"
        )
