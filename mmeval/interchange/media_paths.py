"""Paths of media that answers name: one rule for all formats.

A path starts from the folders of its format, and may be absolute where it leads into
one of them. A path that leads out of these is a missing file of its answer, like a file
that is not there: nothing outside is read, nothing is fetched, and the run goes on.
``media_root=OLD=NEW`` says where files lie now that lay below OLD when the answers were
made.
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
"""The argument of a reader that says where media lie now."""
MediaRoot: TypeAlias = str | Sequence[str]
"""``OLD=NEW``, or a list of these."""
_SHOWN = 200
"""Characters of a path in a message."""


class _Move(NamedTuple):
    """Files that lay below ``old`` lie below ``new`` now."""

    old: PurePosixPath
    new: Path


class _Place(NamedTuple):
    """A file by its folder and its path there."""

    folder: Path
    name: str


class MediaPaths:
    """Finds the media that answers name.

    ``media_root`` is ``OLD=NEW`` or a list of these. OLD is a folder as the answers
    write it, or the beginning of an address; NEW is a folder here. Where several fit,
    the longest OLD is tried first. Raises UsageError for another form, MissingDataError
    for a folder NEW that does not exist.
    """

    def __init__(self, media_root: MediaRoot = ()) -> None:
        self._moves: list[_Move] = []
        for text in [media_root] if isinstance(media_root, str) else media_root:
            old, equals, new = (piece.strip() for piece in text.partition("="))
            if not equals or not old or not new:
                raise UsageError(
                    f"{MEDIA_ROOT}={text[:_SHOWN]!r}: write {MEDIA_ROOT}=OLD=NEW, the "
                    "folder that the answers name and the folder where its files are "
                    "now",
                    name=MEDIA_ROOT,
                )
            folder = Path(new).expanduser().absolute()
            if not folder.is_dir():
                raise MissingDataError(
                    f"{MEDIA_ROOT}: {folder} is not a folder; name the one where the "
                    f"files of {old[:_SHOWN]} are now",
                    name=MEDIA_ROOT,
                )
            self._moves.append(_Move(_as_written(old), folder))
        self._moves.sort(key=lambda move: len(move.old.parts), reverse=True)

    def find(self, name: str, folders: Sequence[Path]) -> Media:
        """The medium at a path: below NEW, else below the first folder that has it.
        Raises MissingDataError, with the reason, where there is no usable file."""
        place = self._place(name, folders)
        if place is None:
            where = f" in {folders[0]}" if folders else ""
            raise MissingDataError(f"{name[:_SHOWN]!r} is not a file{where}")
        return medium_inside(place.folder, place.name)

    def has(self, name: str, folders: Sequence[Path]) -> bool:
        """True if there is a file at a path, whatever its size."""
        return self._place(name, folders) is not None

    def sha256(self, name: str, folders: Sequence[Path]) -> str:
        """The SHA-256 of a medium; empty where there is no usable file."""
        try:
            return self.find(name, folders).sha256
        except (MissingDataError, MediaLimitError):
            return ""

    def is_moved(self, name: str) -> bool:
        """True if ``media_root`` names a folder that has the file."""
        return self._moved(name) is not None

    def _place(self, name: str, folders: Sequence[Path]) -> _Place | None:
        moved = self._moved(name)
        if moved is not None:
            return moved
        for folder in folders:
            place = _Place(folder, path_below(name, folder))
            if _is_file(place):
                return place
        return None

    def _moved(self, name: str) -> _Place | None:
        written = _as_written(name)
        for move in self._moves:
            if written.is_relative_to(move.old):
                rest = written.relative_to(move.old)
                place = _Place(move.new, rest.as_posix())
                if _is_file(place):
                    return place
        return None


def path_below(name: str, folder: Path) -> str:
    """An absolute path relative to a folder that it leads into; else as it is."""
    path = PurePath(name)
    if not path.is_absolute():
        return name
    for start in (folder.absolute(), folder.resolve()):
        if path.is_relative_to(start):
            return path.relative_to(start).as_posix()
    return name


def missing_remarks(names: Iterable[str]) -> list[str]:
    """A remark that counts the missing files that answers name, and names the first;
    empty without any."""
    missing = list(dict.fromkeys(names))
    if not missing:
        return []
    return [
        f"missing files that answers name: {len(missing):,}, the first "
        f"{missing[0][:_SHOWN]!r}; a path that leads out of their folder is not "
        f"followed, and {MEDIA_ROOT}=OLD=NEW says where files lie now"
    ]


def _is_file(place: _Place) -> bool:
    """False for a path that is missing, leads out of its folder or may not be read."""
    try:
        path = path_inside(place.folder, place.name)
        return path.is_file() and os.access(path, os.R_OK)
    except (UsageError, OSError):
        return False


def _as_written(path: str) -> PurePosixPath:
    """A path as the answers write it, which may be that of another system."""
    return PurePosixPath(path.replace("\\", "/"))
