"""The folders of a worker's media: each is opened once, then written, read and emptied
by descriptor, as the worker may put a link in its place at any time."""

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
"""Limit of all media of one answer together, in bytes: they are in memory at once."""
MAX_PATH_BYTES = 4096
"""Limit of the path of a medium, in bytes: the system supports no longer ones."""
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SHOWN_CHARS = 200


class MediaFaultError(Exception):
    """What is wrong with a part of an answer."""


class SharedFolder:
    """A new folder that is shared with a worker. ``path`` is its name for the worker;
    here only the open folder is used."""

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path = path
        self._handle = os.open(path, _FLAGS)
        self._taken: set[PurePath] = set()

    @property
    def is_in_place(self) -> bool:
        """Whether its path still names it."""
        try:
            there = self.path.stat(follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._handle))

    def put(self, media: Media) -> Path:
        """The path of a medium for the worker. Its name says nothing of the content: a
        file name can give the answer away. Raises ContentError or MissingError for a
        medium that cannot be read."""
        if media.path is not None and media.path.stem == media.sha256:
            return media.path.absolute()
        name = f"{media.sha256}{suffix_for(media.mime)}"
        # it may be in another row of the batch
        with contextlib.suppress(FileExistsError):
            if media.path is not None:
                os.symlink(media.path.absolute(), name, dir_fd=self._handle)
            else:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                handle = os.open(name, flags, 0o644, dir_fd=self._handle)
                with os.fdopen(handle, "wb") as file:
                    file.write(media.read())
        return self.path / name

    def take(self, named: object, most: int) -> bytes:
        """The bytes of a file that an answer names, which is removed. ``named`` is its
        path, which may count from the folder.

        Raises MediaFaultError for a file that is missing, lies outside of the folder,
        is reached by a link, is not a regular file, or has more than ``most`` bytes;
        and for one that was taken before: two answers that name one file would share
        its last content.
        """
        file, shown = self._below(named)
        if file in self._taken:
            raise MediaFaultError(
                f"the medium {shown} belongs to an earlier part; write each into a "
                "file of its own"
            )
        self._taken.add(file)
        try:
            with self._folder_of(file) as folder:
                with open_plain(file.name, folder=folder) as opened:
                    # a sparse file can be of any size
                    size = os.fstat(opened.fileno()).st_size
                    data = opened.read(most + 1) if size <= most else b""
                os.unlink(file.name, dir_fd=folder)
        except FileNotFoundError:
            raise MediaFaultError(f"the medium {shown} is not there") from None
        except OSError as error:
            why = error.strerror or error
            if error.errno == errno.ELOOP:
                raise MediaFaultError(f"the medium {shown} is a link") from None
            raise MediaFaultError(
                f"the medium {shown} cannot be read ({why})"
            ) from None
        if max(size, len(data)) > most:
            raise MediaFaultError(
                f"the media of the answer have more than {MAX_ANSWER_BYTES >> 20} MiB "
                "together"
            )
        return data

    def empty(self) -> None:
        """Remove all that is in it, for the next batch."""
        self._taken.clear()
        empty_folder(self._handle)

    def close(self) -> None:
        os.close(self._handle)

    def _below(self, named: object) -> tuple[PurePath, str]:
        """The path of a file from this folder on, and as messages show it."""
        if not isinstance(named, str) or "\0" in named:
            raise MediaFaultError("a medium has no path")
        shown = printable(named, limit=_SHOWN_CHARS)
        try:
            length = len(os.fsencode(named))
        except UnicodeEncodeError:
            raise MediaFaultError(
                f"the path of the medium {shown!r} is not text"
            ) from None
        if length > MAX_PATH_BYTES:
            raise MediaFaultError(
                f"the path of the medium {shown} has {length:,} bytes, and "
                f"{MAX_PATH_BYTES:,} are the most"
            )
        file = PurePath(os.path.normpath(self.path / named))
        if not file.is_relative_to(self.path) or file == self.path:
            raise MediaFaultError(
                f"the medium {shown} lies outside of the folder of the batch"
            )
        return file.relative_to(self.path), shown

    @contextlib.contextmanager
    def _folder_of(self, file: PurePath) -> Iterator[int]:
        """The open folder that holds a file below this one, reached without a link."""
        handle = os.dup(self._handle)
        try:
            for name in file.parent.parts:
                inner = os.open(name, _FLAGS, dir_fd=handle)
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)
