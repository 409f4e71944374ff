"""Media: lazy bytes known by their SHA-256, the MIME type sniffed from content, and the store of produced media."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from mmeval.errors import MissingDataError, StorageError, UsageError

MediaKind = Literal["image", "audio", "video", "document", "3d"]
MEDIA_KINDS: tuple[MediaKind, ...] = get_args(MediaKind)

SNIFF_BYTES = 4096
UNKNOWN_MIME = "application/octet-stream"

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"glTF", "model/gltf-binary"),
    (0, b"ply\n", "model/ply"),
    (0, b"ply\r\n", "model/ply"),
    (0, b"OFF", "model/off"),
    (0, b"COFF", "model/off"),
    (0, b"solid ", "model/stl"),
)
_OFFICE: tuple[tuple[bytes, str], ...] = (
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
)
_TEXT_BY_SUFFIX: Mapping[str, str] = {
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".html": "text/html",
    ".obj": "model/obj",
    ".mtl": "model/mtl",
    ".json": "application/json",
    ".py": "text/x-python",
}
_SUFFIX_BY_MIME: Mapping[str, str] = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/bmp": ".bmp",
    "image/tiff": ".tiff",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "audio/wav": ".wav",
    "audio/flac": ".flac",
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "video/quicktime": ".mov",
    "video/x-msvideo": ".avi",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/zip": ".zip",
    "model/gltf-binary": ".glb",
    "model/ply": ".ply",
    "model/off": ".off",
    "model/stl": ".stl",
    "text/plain": ".txt",
    **{mime: suffix for suffix, mime in _TEXT_BY_SUFFIX.items()},
    _OFFICE[0][1]: ".docx",
    _OFFICE[1][1]: ".xlsx",
    _OFFICE[2][1]: ".pptx",
}


def sniff_mime(head: bytes, name: str = "") -> str:
    """The MIME type of content by its first bytes; a file name decides only between kinds of plain text."""
    for offset, magic, mime in _MAGIC:
        if head.startswith(magic, offset) and (offset == 0 or head.startswith(b"RIFF")):
            return mime
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        return "audio/mp4" if brand.startswith(b"M4A") else "video/quicktime" if brand == b"qt  " else "video/mp4"
    if head.startswith(b"PK\x03\x04"):
        return next((mime for mark, mime in _OFFICE if mark in head), "application/zip")
    return _sniff_text(head, name)


def _sniff_text(head: bytes, name: str) -> str:
    if b"\x00" in head:
        return UNKNOWN_MIME
    try:
        # A cut multi-byte character at the end of the window is no sign of binary content.
        text = head.decode() if len(head) < SNIFF_BYTES else head[:-4].decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        if len(head) < SNIFF_BYTES or error.start < len(head) - 8:
            return UNKNOWN_MIME
        text = head[: error.start].decode()
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith(("<svg", "<?xml", "<!--")) and "<svg" in text:
        return "image/svg+xml"
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _TEXT_BY_SUFFIX:
        return _TEXT_BY_SUFFIX[suffix]
    if any(line.startswith("v ") for line in start.splitlines()[:50]) and "\nf " in text:
        return "model/obj"
    return "text/plain"


def suffix_for(mime: str) -> str:
    """The file suffix of a MIME type, with its dot; ``.bin`` when there is none."""
    return _SUFFIX_BY_MIME.get(mime, ".bin")


def kind_for(mime: str) -> MediaKind:
    """The kind of part that a medium of this MIME type makes; whatever is nothing else is a document."""
    family = mime.partition("/")[0]
    if family in ("image", "audio", "video"):
        return family  # type: ignore[return-value]  # just narrowed
    return "3d" if family == "model" else "document"


class Media:
    """One medium: nothing is read before it is needed, and equal bytes are equal media.

    Made by :meth:`from_path` (input media stay where they are), :meth:`from_bytes` (just produced), or
    :meth:`from_json` (a record). ``name`` is a label for people; it is never sent to a model and not compared.
    """

    __slots__ = ("_mime", "_sha256", "_size", "data", "name", "path")

    def __init__(
        self,
        *,
        path: Path | None = None,
        data: bytes | None = None,
        sha256: str | None = None,
        mime: str | None = None,
        size: int | None = None,
        name: str = "",
    ) -> None:
        self.path, self.data, self.name = path, data, name or (path.name if path else "")
        self._sha256, self._mime, self._size = sha256, mime, size

    @classmethod
    def from_path(cls, path: Path) -> Media:
        """A file on disk. Raises MissingDataError when there is none."""
        if not path.is_file():
            raise MissingDataError(f"{path}: no such media file")
        return cls(path=path)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "") -> Media:
        """Bytes in memory, such as a picture that a model has just made."""
        return cls(data=data, name=name)

    @property
    def sha256(self) -> str:
        if self._sha256 is None:
            self._sha256 = hashlib.sha256(self.read()).hexdigest()
        return self._sha256

    @property
    def mime(self) -> str:
        if self._mime is None:
            self._mime = sniff_mime(self._head(), self.name)
        return self._mime

    @property
    def kind(self) -> MediaKind:
        return kind_for(self.mime)

    @property
    def size(self) -> int:
        """Bytes."""
        if self._size is None:
            self._size = len(self.data) if self.data is not None else self._file().stat().st_size
        return self._size

    def read(self) -> bytes:
        """All bytes. Raises MissingDataError when the file has gone."""
        if self.data is not None:
            return self.data
        try:
            return self._file().read_bytes()
        except FileNotFoundError:
            raise MissingDataError(f"{self.path}: the media file has gone") from None
        except OSError as error:
            raise MissingDataError(f"{self.path}: the media file cannot be read ({error.strerror})") from None

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"sha256": self.sha256, "mime": self.mime, "size": self.size}
        if self.path is not None:
            row["path"] = str(self.path)
        if self.name:
            row["name"] = self.name
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any], root: Path) -> Media:
        """The medium of a record; without a path it is looked for in the store under ``root``."""
        sha256 = str(row["sha256"])
        path = Path(row["path"]) if row.get("path") else MediaStore.locate(root, sha256, str(row["mime"]))
        name = str(row.get("name", ""))
        return cls(path=path, sha256=sha256, mime=str(row["mime"]), size=int(row["size"]), name=name)

    def _file(self) -> Path:
        if self.path is None:
            raise MissingDataError("a medium without bytes and without a file was read")
        return self.path

    def _head(self) -> bytes:
        if self.data is not None:
            return self.data[:SNIFF_BYTES]
        try:
            with self._file().open("rb") as file:
                return file.read(SNIFF_BYTES)
        except FileNotFoundError:
            raise MissingDataError(f"{self.path}: no such media file") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Media) and other.sha256 == self.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        where = str(self.path) if self.path else f"{len(self.data or b'')} bytes"
        return f"Media({where})"


class MediaStore:
    """Produced media by content: ``<root>/ab/abcd...png``, each written once, whole or not at all."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @staticmethod
    def locate(root: Path, sha256: str, mime: str) -> Path:
        """Where a medium lies. Raises UsageError for a digest that is none, so that no record can point elsewhere."""
        if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
            raise UsageError(f"{sha256[:80]!r} is not the SHA-256 of a medium; the record is damaged")
        return root / sha256[:2] / f"{sha256}{suffix_for(mime)}"

    def put(self, media: Media) -> Media:
        """Keep the bytes of a medium; return the same medium, now backed by its file.

        Raises StorageError when the disk is full or the folder cannot be written.
        """
        path = self.locate(self.root, media.sha256, media.mime)
        if not path.is_file() or path.stat().st_size != media.size:
            self._write(path, media.read())
        return Media(sha256=media.sha256, mime=media.mime, size=media.size, path=path, name=media.name)

    def _write(self, path: Path, data: bytes) -> None:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StorageError(
                f"{path}: cannot store a medium ({error.strerror}); free space or fix the folder"
            ) from None


def path_inside(root: Path, relative: str) -> Path:
    """``root / relative``, refused with UsageError when it is absolute or leads out of ``root`` (links included).

    Only the links of a hub snapshot may point elsewhere: to the blobs of their own data set.
    """
    path = root / relative
    if PurePosixPath(relative).is_absolute() or _climbs(relative) or not _kept_inside(path.resolve(), root.resolve()):
        raise UsageError(f"{relative!r} leads out of {root}; paths in data must stay inside it")
    return path


def _climbs(relative: str) -> bool:
    return Path(os.path.normpath(relative)).parts[:1] == ("..",)


def _kept_inside(target: Path, root: Path) -> bool:
    if target.is_relative_to(root):
        return True
    # huggingface_hub keeps <data set>/snapshots/<commit>/... as links into <data set>/blobs.
    folder = next((folder for folder in (root, *root.parents) if folder.parent.name == "snapshots"), None)
    return folder is not None and target.is_relative_to(folder.parent.parent / "blobs")
