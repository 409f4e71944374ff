"""The store of produced media: each kept once, under the digest of its content."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from mmeval.errors import StorageError
from mmeval.media import Media, stored_path


class MediaStore:
    """Produced media by content: ``<root>/ab/abcd...png``, each written once, whole or not at all."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, media: Media) -> Media:
        """Keep the bytes of a medium; return the same medium, now backed by its file.

        Raises StorageError when the disk is full or the folder cannot be written.
        """
        path = stored_path(self.root, media.sha256, media.mime)
        if _size_on_disk(path) != media.size:
            self._write(path, media.read())
        return Media(sha256=media.sha256, mime=media.mime, size=media.size, path=path, name=media.name)

    def _write(self, path: Path, data: bytes) -> None:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError as error:
            raise StorageError(
                f"{path}: cannot store a medium ({error.strerror or error}); free space or make the folder writable, "
                "then run the same command again"
            ) from None
        finally:
            with contextlib.suppress(OSError):  # gone already when all went well
                temporary.unlink(missing_ok=True)


def _size_on_disk(path: Path) -> int | None:
    """Bytes of a file, None when there is none (or none that can be seen)."""
    try:
        return path.stat().st_size
    except OSError:
        return None
