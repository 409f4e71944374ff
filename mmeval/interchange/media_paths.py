"""Resolves paths of media in answers by the same rule in all formats.

A path is relative to the folders of its format, or absolute inside one of them. A path
that leads out of these folders is treated as a missing file of its answer: nothing
outside these folders is read or downloaded, and the run continues.
``media_root=OLD=NEW`` maps paths that begin with OLD in the answers to the folder NEW.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple, TypeAlias

from mmeval.errors import MediaLimitError, MissingDataError, UsageError
from mmeval.interchange.sidecar import medium_inside
from mmeval.media.media import Media, path_inside

MEDIA_ROOT = "media_root"
"""The argument of a reader that maps folders of media."""
MediaRoot: TypeAlias = str | Sequence[str]
"""``OLD=NEW``, or a list of such strings."""
_SHOWN = 200
"""The maximum number of characters of a path in a message."""


class _FolderMapping(NamedTuple):
    """Maps paths below ``old`` to files below ``new``."""

    old: PurePosixPath
    new: Path


class _MediaFile(NamedTuple):
    """A file, given as a folder and a path relative to it."""

    folder: Path
    name: str


class MediaPaths:
    """Finds the media of answers by their paths.

    ``media_root`` is ``OLD=NEW`` or a list of such strings. OLD is a folder as written
    in the answers, or the start of a URL; NEW is a local folder. The longest matching
    OLD is tried first. Raises UsageError for any other string, and MissingDataError if
    NEW is not a folder.
    """

    def __init__(self, media_root: MediaRoot = ()) -> None:
        self._mappings: list[_FolderMapping] = []
        for text in [media_root] if isinstance(media_root, str) else media_root:
            old, equals, new = (piece.strip() for piece in text.partition("="))
            if not equals or not old or not new:
                raise UsageError(
                    f"{MEDIA_ROOT}={text[:_SHOWN]!r}: use {MEDIA_ROOT}=OLD=NEW, with "
                    "the folder in the answers and the local folder with its files",
                    name=MEDIA_ROOT,
                )
            folder = Path(new).expanduser().absolute()
            if not folder.is_dir():
                raise MissingDataError(
                    f"{MEDIA_ROOT}: {folder} is not a folder; give the folder with the "
                    f"files of {old[:_SHOWN]}",
                    name=MEDIA_ROOT,
                )
            self._mappings.append(_FolderMapping(_as_written(old), folder))
        self._mappings.sort(key=lambda mapping: len(mapping.old.parts), reverse=True)

    def find(self, name: str, folders: Sequence[Path]) -> Media:
        """Returns the medium at a path.

        The file is looked up in NEW, then in each folder of the format.

        Raises MissingDataError, with the reason, if there is no usable file.
        """
        file = self._find_file(name, folders)
        if file is None:
            where = f" in {folders[0]}" if folders else ""
            raise MissingDataError(f"{name[:_SHOWN]!r} is not a file{where}")
        return medium_inside(file.folder, file.name)

    def has(self, name: str, folders: Sequence[Path]) -> bool:
        """Returns True if there is a file at a path, regardless of its size."""
        return self._find_file(name, folders) is not None

    def sha256(self, name: str, folders: Sequence[Path]) -> str:
        """Returns the SHA-256 of a medium, or an empty string without a usable file."""
        try:
            return self.find(name, folders).sha256
        except (MissingDataError, MediaLimitError):
            return ""

    def is_moved(self, name: str) -> bool:
        """Returns True if ``media_root`` maps the path to a file."""
        return self._mapped(name) is not None

    def _find_file(self, name: str, folders: Sequence[Path]) -> _MediaFile | None:
        mapped = self._mapped(name)
        if mapped is not None:
            return mapped
        for folder in folders:
            file = _MediaFile(folder, path_below(name, folder))
            if _is_file(file):
                return file
        return None

    def _mapped(self, name: str) -> _MediaFile | None:
        written = _as_written(name)
        for mapping in self._mappings:
            if written.is_relative_to(mapping.old):
                rest = written.relative_to(mapping.old)
                file = _MediaFile(mapping.new, rest.as_posix())
                if _is_file(file):
                    return file
        return None


def path_below(name: str, folder: Path) -> str:
    """Returns a path inside ``folder`` relative to it, and any other path unchanged."""
    path = PurePath(name)
    if not path.is_absolute():
        return name
    for start in (folder.absolute(), folder.resolve()):
        if path.is_relative_to(start):
            return path.relative_to(start).as_posix()
    return name


def missing_remarks(names: Iterable[str]) -> list[str]:
    """Returns a remark that states how many files are missing, and names the first.

    The list is empty if no files are missing.
    """
    missing = list(dict.fromkeys(names))
    if not missing:
        return []
    return [
        f"missing files of answers: {len(missing):,}, the first "
        f"{missing[0][:_SHOWN]!r}. Files outside the folder are not read; "
        f"set {MEDIA_ROOT}=OLD=NEW to map their folder to another"
    ]


def _is_file(file: _MediaFile) -> bool:
    """Returns False if a path is missing, leads out of its folder or cannot be read."""
    try:
        path = path_inside(file.folder, file.name)
        # an unreadable file counts as missing now, so it cannot fail when it is sent
        return path.is_file() and os.access(path, os.R_OK)
    except (UsageError, OSError):
        return False


def _as_written(path: str) -> PurePosixPath:
    """Returns a path from an answer, possibly written on another operating system."""
    return PurePosixPath(path.replace("\\", "/"))
