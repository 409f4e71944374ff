"""Unpacks each zip archive of a data set once, into the cache."""

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
"""Maximum ratio of unpacked to packed size. Media are hardly compressible."""
MAX_ENTRIES = 1_000_000


def unpacked(archive: Path) -> Path:
    """Returns the folder with the files of an archive, which is unpacked on first use.

    The folder is in mmeval's cache, because the folder of the data may be read-only or
    belong to the hub. The folder's name depends on the path, size and modification time
    of the archive. If the archive is damaged or unsafe, none of its files are kept. An
    archive is unsafe if a path in it leads out of the folder, if it contains links, or
    if it expands beyond ``MAX_RATIO``.

    Raises MissingDataError for a missing or damaged archive, UsageError for an unsafe
    archive, and StorageError if the disk is full.
    """
    try:
        path = archive.resolve(strict=True)
        state = path.stat()
    except OSError as error:
        raise MissingDataError(
            f"{archive}: cannot open the archive ({error.strerror})", file=archive
        ) from None
    folder = (
        own_cache() / "archives" / digest([str(path), state.st_size, state.st_mtime_ns])
    )
    if folder.is_dir():
        return folder
    try:
        # the folder appears only when complete, so readers never see a part of it
        with zipfile.ZipFile(path) as opened_zip, replaced(folder) as new:
            _check(opened_zip, archive, state.st_size, new)
            for entry in opened_zip.infolist():
                opened_zip.extract(entry, new)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise MissingDataError(
            f"{archive}: cannot unpack it ({error}); fetch it again", file=archive
        ) from None
    except RuntimeError as error:  # zipfile's error for an encrypted entry
        raise UsageError(f"{archive}: cannot unpack it ({error})") from None
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot unpack {archive.name} here ({error.strerror})"
        ) from None
    return folder


def _check(
    opened_zip: zipfile.ZipFile,
    archive: Path,
    size: int,
    into: Path,
) -> None:
    """Raises an error if an entry of the archive must not be unpacked.

    The declared sizes can be trusted, because zipfile writes at most the declared size.
    """
    entries = opened_zip.infolist()
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_ENTRIES or total > max(size, 2**20) * MAX_RATIO:
        raise UsageError(
            f"{archive}: the archive of {size:,} bytes has {len(entries):,} entries "
            f"that expand to {total:,} bytes; do not use it"
        )
    for entry in entries:
        try:
            path_inside(into, entry.filename)
            is_safe = not stat.S_ISLNK(entry.external_attr >> 16)
        except UsageError:  # the path leads out of the folder
            is_safe = False
        if not is_safe:
            raise UsageError(
                f"{archive}: the entry {entry.filename[:200]!r} is a link or leads "
                "out of the folder; do not use this archive"
            )
    if total > free_bytes(into):
        raise StorageError(
            f"{into.parent}: {archive.name} needs {total:,} bytes here; free space, "
            "or set MMEVAL_CACHE_DIR to a folder on a larger disk"
        )
