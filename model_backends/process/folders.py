"""Folders for a worker's media.

Each folder is opened once. Later this process writes, reads and empties it only through
the descriptor, because the worker may replace the folder with a link at any time.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from mmeval.media import Media, suffix_for
from mmeval.system import empty_folder, open_plain
from mmeval.system.wording import printable

MAX_ANSWER_BYTES = 2**29
"""Maximum total size of an answer's media in bytes, since all are in memory."""
MAX_PATH_BYTES = 4096
"""Maximum length of a medium's path in bytes, which is the system's limit."""
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SHOWN_CHARS = 200


class MediaFaultError(Exception):
    """Raised for an invalid part of an answer."""


class SharedFolder:
    """A new folder that is shared with a worker.

    Only the worker uses ``path``. This process accesses the folder only through its
    descriptor.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path = path
        self._handle = os.open(path, _FLAGS)
        self._used_files: set[PurePath] = set()

    @property
    def is_in_place(self) -> bool:
        """True if the path still refers to this folder."""
        try:
            current = self.path.stat(follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(current, os.fstat(self._handle))

    def put(self, media: Media) -> Path:
        """Makes a medium available to the worker, and returns its path.

        The name of the file is a digest, because the original name may hint at the
        answer. Raises ContentError or MissingError for a medium that cannot be read.
        """
        if media.path is not None and media.path.stem == media.sha256:
            return media.path.absolute()
        name = f"{media.sha256}{suffix_for(media.mime)}"
        # The file may already exist for another row of the batch.
        with contextlib.suppress(FileExistsError):
            if media.path is not None:
                os.symlink(media.path.absolute(), name, dir_fd=self._handle)
            else:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                handle = os.open(name, flags, 0o644, dir_fd=self._handle)
                with os.fdopen(handle, "wb") as file:
                    file.write(media.read())
        return self.path / name

    def take(self, path: object, max_bytes: int) -> bytes:
        """Reads and removes a file that an answer names.

        ``path`` is absolute or relative to the folder. Raises MediaFaultError for a
        file that is missing, outside of the folder, reached through a link, not a
        regular file, or larger than ``max_bytes``. Raises the same error if another
        part has already used the file, since the worker may have overwritten its
        content.
        """
        file, shown = self._below(path)
        if file in self._used_files:
            raise MediaFaultError(
                f"the medium {shown} belongs to an earlier part. Write each medium to "
                "a separate file"
            )
        self._used_files.add(file)
        try:
            with self._folder_of(file) as folder:
                with open_plain(file.name, folder=folder) as media_file:
                    # Checked before reading, since a sparse file can have any size.
                    size = os.fstat(media_file.fileno()).st_size
                    data = media_file.read(max_bytes + 1) if size <= max_bytes else b""
                os.unlink(file.name, dir_fd=folder)
        except FileNotFoundError:
            raise MediaFaultError(f"the medium {shown} does not exist") from None
        except OSError as error:
            reason = error.strerror or error
            if error.errno == errno.ELOOP:
                raise MediaFaultError(f"the medium {shown} is a link") from None
            raise MediaFaultError(
                f"the medium {shown} cannot be read ({reason})"
            ) from None
        if max(size, len(data)) > max_bytes:
            raise MediaFaultError(
                f"the media of the answer are larger than {MAX_ANSWER_BYTES >> 20} MiB "
                "in total"
            )
        return data

    def empty(self) -> None:
        """Removes all files before the next batch."""
        self._used_files.clear()
        empty_folder(self._handle)

    def close(self) -> None:
        os.close(self._handle)

    def _below(self, path: object) -> tuple[PurePath, str]:
        """Returns a file's path relative to this folder, and its name for messages."""
        if not isinstance(path, str) or "\0" in path:
            raise MediaFaultError("a medium has no path")
        shown = printable(path, limit=_SHOWN_CHARS)
        try:
            length = len(os.fsencode(path))
        except UnicodeEncodeError:
            raise MediaFaultError(
                f"the path of the medium {shown!r} is not text"
            ) from None
        if length > MAX_PATH_BYTES:
            raise MediaFaultError(
                f"the path of the medium {shown} has {length:,} bytes; the limit is "
                f"{MAX_PATH_BYTES:,}"
            )
        file = PurePath(os.path.normpath(self.path / path))
        if not file.is_relative_to(self.path) or file == self.path:
            raise MediaFaultError(
                f"the medium {shown} is outside of the batch's folder"
            )
        return file.relative_to(self.path), shown

    @contextlib.contextmanager
    def _folder_of(self, file: PurePath) -> Iterator[int]:
        """Opens the parent folder of a file in this folder, without following links."""
        handle = os.dup(self._handle)
        try:
            for name in file.parent.parts:
                inner = os.open(name, _FLAGS, dir_fd=handle)
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)
