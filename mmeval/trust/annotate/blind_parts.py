"""Shows parts to raters as the report page does, without any name of their origin."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from mmeval.media.media_type import suffix_for
from mmeval.report.page.code import Colours
from mmeval.report.page.parts import PartWriter
from mmeval.report.page.places import MEDIA, MediaPlace, Places
from mmeval.report.page.previews import Previews
from mmeval.trust.annotate.material import PartRows

NOT_SHOWN = "This file cannot be shown."
_PREVIEW_TYPES: Mapping[str, str] = {
    ".png": "image/png",
    ".js": "text/javascript; charset=utf-8",
}


@dataclass(frozen=True)
class ServedFile:
    """A file that a browser may read, and its media type. In its content, ``digest`` is
    replaced by ``address`` (both are empty for files that are served as they are)."""

    path: Path
    mime: str
    digest: str = ""
    address: str = ""

    def read(self) -> bytes:
        """Returns the content. Raises OSError if the file is gone."""
        content = self.path.read_bytes()
        if self.digest:
            content = content.replace(self.digest.encode(), self.address.encode())
        return content

    def size(self) -> int:
        """Returns the number of bytes. Raises OSError if the file is gone."""
        return len(self.read()) if self.digest else self.path.stat().st_size

    def part(self, first: int, count: int) -> bytes:
        """Returns at most ``count`` bytes from a place on. Raises OSError if the file
        is gone."""
        if self.digest:
            return self.read()[first : first + count]
        with self.path.open("rb") as file:
            file.seek(first)
            return file.read(count)


class OpaqueFiles:
    """The files that a browser may read, by addresses that say nothing about them."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._files: dict[str, ServedFile] = {}

    def address(self, key: str) -> str:
        """Returns 64 hex digits that stand for a key. Equal keys have equal ones."""
        words = key.encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, words, hashlib.sha256).hexdigest()

    def add(self, key: str, suffix: str, file: ServedFile) -> str:
        """Adds a file. Returns its address in the page."""
        name = self.address(key) + suffix
        self._files[name] = file
        return f"{MEDIA}/{name}"

    def get(self, name: str) -> ServedFile | None:
        """Returns a file by the last part of its address."""
        return self._files.get(name)


class _OpaquePlaces(Places):
    """Finds a run's media, and gives them opaque addresses."""

    def __init__(self, run: Path, into: Path, files: OpaqueFiles) -> None:
        super().__init__(run, run, into, copy=False)
        self._files = files
        self._checked: dict[str, bool] = {}

    def place(self, row: Mapping[str, Any]) -> MediaPlace:
        found = super().place(row)
        media = found.media
        if media is None or media.path is None:
            return MediaPlace(note=NOT_SHOWN)
        # a record from elsewhere must not make the page show another file
        if not self._has_digest(media.path, media.sha256):
            return MediaPlace(note=NOT_SHOWN)
        file = ServedFile(media.path, media.mime)
        key = f"{media.sha256} {media.mime}"
        return MediaPlace(media, self._files.add(key, suffix_for(media.mime), file))

    def _has_digest(self, path: Path, sha256: str) -> bool:
        if sha256 not in self._checked:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            self._checked[sha256] = digest == sha256
        return self._checked[sha256]


class BlindParts:
    """Converts recorded parts of a run for the page of raters.

    ``scratch`` is a folder for previews. Previews of the run's report are reused.
    """

    def __init__(self, run: Path, scratch: Path, files: OpaqueFiles) -> None:
        self._scratch = scratch
        self._files = files
        self._lock = Lock()
        self._colours = Colours()
        self._writer = PartWriter(
            _OpaquePlaces(run, scratch, files),
            Previews(scratch, run / "report", seconds=None),
            self._colours,
        )

    def of(self, contents: Iterable[PartRows]) -> list[list[dict[str, Any]]]:
        """Returns the parts of each content as JSON values for the page."""
        with self._lock:
            shown = [self._writer.parts(rows) for rows in contents]
            self._colours.fill()
            return [[self._blind(part) for part in parts] for parts in shown]

    def _blind(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a part without its name and digest, and with opaque addresses."""
        part = dict(shown)
        digest = str(part.pop("sha256", ""))
        if "name" not in part:
            return part
        del part["name"]
        if part["note"]:
            part["note"] = NOT_SHOWN
        own_files = f"{MEDIA}/{digest}"
        if str(part["src"]).startswith(own_files):
            part["src"] = self._preview(part["src"], digest)
        if "pages" in part:
            part["pages"] = [self._preview(page, digest) for page in part["pages"]]
        if "mesh" in part:
            part["mesh"] = self._preview(part["mesh"], digest)
            # the page finds the geometry by this name
            part["sha256"] = self._files.address(digest)
        return part

    def _preview(self, src: str, digest: str) -> str:
        path = self._scratch / src
        mime = _PREVIEW_TYPES[path.suffix]
        file = ServedFile(path, mime, digest, self._files.address(digest))
        key = digest if path.suffix == ".js" else path.name
        return self._files.add(key, path.suffix, file)
