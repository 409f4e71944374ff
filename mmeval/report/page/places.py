"""Finds a run's media, and their addresses for a page in the report's folder."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mmeval.errors import UsageError
from mmeval.media.media import Media
from mmeval.media.media_type import suffix_for

SHOWN: Mapping[str, frozenset[str]] = {
    "image": frozenset(
        {
            "image/png",
            "image/jpeg",
            "image/gif",
            "image/webp",
            "image/bmp",
            "image/avif",
        }
    ),
    "audio": frozenset(
        {
            "audio/wav",
            "audio/mpeg",
            "audio/ogg",
            "audio/mp4",
            "audio/aac",
            "audio/flac",
            "audio/webm",
            "video/webm",
        }
    ),
    "video": frozenset({"video/mp4", "video/webm", "video/ogg", "video/quicktime"}),
}
"""The media types, by kind, that a browser can show without running code from the file.
"""
_CHANGED = "its file has changed since it was recorded"
MEDIA = "media"
"""The report's folder for media: previews, and with ``--copy_media`` all media."""


@dataclass(frozen=True)
class MediaPlace:
    """The location of a medium for a page. ``note`` is the reason why the medium cannot
    be shown, or empty if it can be shown. ``src`` is its address for a browser.
    ``media`` is the medium for decoders, which check its recorded digest."""

    media: Media | None = None
    src: str = ""
    note: str = ""


class Places:
    """Finds a run's media for a page in ``shown``; the report is written to ``into``.
    With ``copy`` each medium is copied into the report (as a hard link if possible)."""

    def __init__(
        self,
        run: Path,
        shown: Path,
        into: Path,
        *,
        copy: bool,
    ) -> None:
        self._run = run.resolve()
        self._shown = shown
        self._into = into
        self._copy = copy

    def place(self, row: Mapping[str, Any]) -> MediaPlace:
        """Returns the place of a recorded medium; its note states any problem."""
        try:
            media = Media.from_json(row, self._run / "media")
        except (UsageError, KeyError, TypeError, ValueError) as error:
            return MediaPlace(note=f"its record is damaged ({error})")
        if media.path is None:
            return MediaPlace(note="its path is not recorded")
        try:
            size = media.path.stat().st_size
            if not media.path.is_file():
                return MediaPlace(note="it is not a file")
        except (OSError, ValueError):
            name = media.name or f"{media.sha256[:12]}{suffix_for(media.mime)}"
            return MediaPlace(note=f"its file is missing: {name}")
        if size != media.size:
            sizes = f"{media.size} bytes then, {size} now"
            return MediaPlace(note=f"{_CHANGED} ({sizes})")
        place = MediaPlace(media, self._address(media.path))
        return self._copied(media, media.path) if self._copy else place

    def _copied(self, media: Media, path: Path) -> MediaPlace:
        name = f"{media.sha256}{suffix_for(media.mime)}"
        target = self._into / MEDIA / name
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != media.sha256:
                return MediaPlace(note=_CHANGED)
            linked_or_copied(path, target)
        return MediaPlace(media, f"{MEDIA}/{name}")

    def _address(self, path: Path) -> str:
        """Returns a relative address inside the run's folder, or else the URI of the
        file."""
        # two slashes would name another host
        whole = Path("/" + str(path.absolute()).lstrip("/"))
        if not whole.resolve().is_relative_to(self._run) or ".." in whole.parts:
            return whole.as_uri()
        relative = os.path.relpath(whole.resolve(), self._shown)
        return quote(os.fsencode(relative), safe="/-_.~")


def linked_or_copied(source: Path, target: Path) -> None:
    """Hard link a file, or copy it if the disk does not support links. Follows
    symlinks."""
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)
