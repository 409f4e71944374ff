"""The store of produced media, which keeps each medium once, by its digest."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from mmeval.media.media import Media, stored_path
from mmeval.system.folders import write_atomic


class MediaStore:
    """A folder of produced media, as ``<root>/ab/abcd...png``.

    The folder contains only complete files.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._unsynced: list[Path] = []

    def put(self, media: Media) -> Media:
        """Writes a medium and returns it backed by its file.

        Raises StorageError if the disk is full or the folder cannot be written.
        """
        path = stored_path(self.root, media.sha256, media.mime)
        if not _holds(path, media):
            write_atomic(path, media.read())
            self._unsynced.append(path)
        return Media(
            sha256=media.sha256,
            mime=media.mime,
            size=media.size,
            path=path,
            name=media.name,
        )

    def sync(self) -> None:
        """Flushes to disk the media that were written since the last call."""
        written, self._unsynced = self._unsynced, []
        for path in written:
            with contextlib.suppress(FileNotFoundError):  # deleted by the user
                descriptor = os.open(path, os.O_RDONLY)
                os.fsync(descriptor)
                os.close(descriptor)


def _holds(path: Path, media: Media) -> bool:
    """Returns True if a file contains exactly the bytes of a medium."""
    try:
        if path.stat().st_size != media.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == media.sha256
    except OSError:
        return False
