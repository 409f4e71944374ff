"""Where a run's media lie, as addresses for a page in the report's folder."""

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
"""The types that a browser's own element of a kind shows, and runs nothing."""
_CHANGED = "its file has changed since it was recorded"
MEDIA = "media"
"""The folder of a report that holds media: those made to be looked at, and with
``--copy_media`` all of them."""


@dataclass(frozen=True)
class MediaPlace:
    """Where a medium is; ``note`` says why it cannot be shown, empty where it can.
    ``src`` is its address for a browser, ``media`` the medium for decoders, which check
    its recorded digest."""

    media: Media | None = None
    src: str = ""
    note: str = ""


class Places:
    """Finds a run's media for a page in ``shown``; the report is written to ``into``.
    With ``copy`` every medium is put into the report (as a hard link where that is
    possible)."""

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
        """The place of a recorded medium. Whatever is wrong with it stands in the
        note."""
        try:
            media = Media.from_json(row, self._run / "media")
        except (UsageError, KeyError, TypeError, ValueError) as error:
            return MediaPlace(note=f"its record is damaged ({error})")
        if media.path is None:
            return MediaPlace(note="nothing says where it lies")
        try:
            size = media.path.stat().st_size
            if not media.path.is_file():
                return MediaPlace(note="it is no file")
        except (OSError, ValueError):
            name = media.name or f"{media.sha256[:12]}{suffix_for(media.mime)}"
            return MediaPlace(note=f"its file has gone: {name}")
        if size != media.size:
            sizes = f"{media.size} bytes then, {size} now"
            return MediaPlace(note=f"{_CHANGED} ({sizes})")
        found = MediaPlace(media, self._address(media.path))
        return self._copied(media, media.path) if self._copy else found

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
        """Relative where the medium lies in the run's folder, else that of the file."""
        # two strokes would name another machine
        whole = Path("/" + str(path.absolute()).lstrip("/"))
        if not whole.resolve().is_relative_to(self._run) or ".." in whole.parts:
            return whole.as_uri()
        relative = os.path.relpath(whole.resolve(), self._shown)
        return quote(os.fsencode(relative), safe="/-_.~")


def linked_or_copied(source: Path, target: Path) -> None:
    """Hard link a file, or copy it where the disk has no links. Follows symlinks."""
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)
