"""Media: lazy bytes known by their SHA-256, the MIME type sniffed from content, and the store of produced media."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from mmeval.errors import CorruptMediaError, MissingDataError, StorageError, UsageError

MediaKind = Literal["image", "audio", "video", "document", "3d"]
MEDIA_KINDS: tuple[MediaKind, ...] = get_args(MediaKind)

SNIFF_BYTES = 4096
ZIP_TAIL_BYTES = 65536
"""How much of a zip's end is read to tell office files apart: their names stand in the directory there."""
UNKNOWN_MIME = "application/octet-stream"

_MAGIC: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), mime)
    for pattern, mime in (
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"BM.{4}\0\0\0\0.{4}[\x0c\x10\x28\x34\x38\x40\x6c\x7c]\0\0\0", "image/bmp"),
        (rb"II\*\0|MM\0\*", "image/tiff"),
        (rb"RIFF.{4}WEBP", "image/webp"),
        (rb"(?:RIFF|RIFX|RF64).{4}WAVE", "audio/wav"),
        (rb"RIFF.{4}AVI ", "video/x-msvideo"),
        (rb"FORM.{4}AIF[FC]", "audio/aiff"),
        (rb"fLaC", "audio/flac"),
        (rb"OggS.{22,290}\x80theora", "video/ogg"),
        (rb"OggS\0", "audio/ogg"),
        (rb"ID3[\x02-\x04][^\xff].[\0-\x7f]{4}", "audio/mpeg"),
        # Eleven bits of sync, MPEG 1, 2 or 2.5, layer II or III, a bit rate and a sample rate that exist.
        (rb"\xff[\xe2-\xe5\xf2-\xf5\xfa-\xfd][\x10-\xef]", "audio/mpeg"),
        (rb"\xff[\xf0\xf1\xf8\xf9]", "audio/aac"),
        (rb"\x1aE\xdf\xa3.{0,60}\x42\x82.{1,8}matroska", "video/x-matroska"),
        (rb"\x1aE\xdf\xa3", "video/webm"),
        (rb"\0\0\x01\xba", "video/mpeg"),
        (rb"FLV\x01", "video/x-flv"),
        (rb"(?:\xef\xbb\xbf)?\s{0,64}%PDF-[0-9]", "application/pdf"),
        (rb"glTF[\x01\x02]\0\0\0", "model/gltf-binary"),
        (rb"ply[ \t]*(?:\r\n?|\n)(?:comment[^\n]*\n)*format ", "model/ply"),
        (rb"(?:ST)?C?N?4?n?OFF(?: BINARY\s|\s*(?:#[^\n]*\n\s*)*[0-9]+\s+[0-9]+\s)", "model/off"),
        (rb"solid\b[^\n\0]*\n\s*(?:facet\s|endsolid)", "model/stl"),
    )
)
_MP4_BRANDS: tuple[tuple[bytes, str], ...] = (
    (b"M4A", "audio/mp4"),
    (b"M4B", "audio/mp4"),
    (b"qt  ", "video/quicktime"),
    (b"avif", "image/avif"),
    (b"avis", "image/avif"),
    (b"heic", "image/heic"),
    (b"heix", "image/heic"),
    (b"mif1", "image/heic"),
)
_OFFICE: tuple[tuple[bytes, str], ...] = (
    (b"word/document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/workbook", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/presentation", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
)
_TEXT_BY_SUFFIX: Mapping[str, str] = {
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".html": "text/html",
    ".gltf": "model/gltf+json",
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
    "image/avif": ".avif",
    "image/heic": ".heic",
    "audio/wav": ".wav",
    "audio/flac": ".flac",
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "audio/aac": ".aac",
    "audio/aiff": ".aiff",
    "audio/webm": ".weba",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "video/quicktime": ".mov",
    "video/x-msvideo": ".avi",
    "video/x-matroska": ".mkv",
    "video/mpeg": ".mpg",
    "video/ogg": ".ogv",
    "video/x-flv": ".flv",
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


_OBJ_LINE = re.compile(r"(?:#|(?:v|vn|vt|vp|f|l|p|o|g|s|mtllib|usemtl)(?:\s|$))")
_OBJ_VERTEX = re.compile(r"v(?:\s+[-+0-9.eE]+){3,}\s*$")
_SVG = re.compile(
    r"(?:(?:<\?xml[^>]*>|<!--(?:(?!-->).)*-->|<!DOCTYPE svg[^>]*>)\s*)*+<(?:svg|svg:svg)[\s>/]", re.DOTALL
)
_HTML = re.compile(r"<(?:!doctype html|html)[\s>]", re.IGNORECASE)


def sniff_mime(head: bytes, name: str = "", *, size: int | None = None, tail: bytes = b"") -> str:
    """The MIME type of content by its first bytes; a file name decides only between kinds of plain text.

    ``size`` (bytes in all) tells a binary STL, which has no mark of its own; ``tail`` (the last bytes) tells an office
    file whose first entries are large. Unknown binary content is ``application/octet-stream``.
    """
    for pattern, mime in _MAGIC:
        if pattern.match(head):
            return _audio_only(head, mime)
    if head[4:8] == b"ftyp":
        return next((mime for brand, mime in _MP4_BRANDS if head.startswith(brand, 8)), "video/mp4")
    if head[4:8] in (b"moov", b"wide"):
        return "video/quicktime"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return next((mime for mark, mime in _OFFICE if mark in head or mark in tail), "application/zip")
    if size is not None and len(head) >= 84 and size == 84 + 50 * int.from_bytes(head[80:84], "little"):
        return "model/stl"
    return _sniff_text(head, name)


def _audio_only(head: bytes, mime: str) -> str:
    """Matroska holds sound alone as often as video: its codec names tell, when they are near the start."""
    if mime in ("video/webm", "video/x-matroska") and b"A_" in head and b"V_" not in head:
        return "audio/webm"
    return mime


def _sniff_text(head: bytes, name: str) -> str:
    named = _TEXT_BY_SUFFIX.get(PurePosixPath(name).suffix.lower())
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return named or "text/plain"
    if b"\x00" in head:
        return UNKNOWN_MIME
    try:
        # A character cut by the end of the window is no sign of binary content.
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < SNIFF_BYTES)
    except UnicodeDecodeError:
        return UNKNOWN_MIME
    return _marked_text(text.lstrip("\ufeff \t\r\n"), cut=len(head) >= SNIFF_BYTES, named=named)


def _marked_text(start: str, *, cut: bool, named: str | None) -> str:
    if _SVG.match(start):
        return "image/svg+xml"
    if _HTML.match(start):
        return "text/html"
    if named is None and _is_obj(start, cut=cut):
        return "model/obj"
    return named or "text/plain"


def _is_obj(text: str, *, cut: bool) -> bool:
    """OBJ has no mark: every line starts with one of its words, and there is a vertex."""
    written = [line.strip() for line in text.splitlines()[: -1 if cut else None] if line.strip()]
    return all(_OBJ_LINE.match(line) for line in written) and any(_OBJ_VERTEX.match(line) for line in written)


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

    __slots__ = ("_mime", "_sha256", "_size", "_unproven", "data", "name", "path")

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
        self._unproven = False  # True while a record's digest has not been compared with the file's bytes

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
            self._sha256 = self._hash()
        return self._sha256

    @property
    def mime(self) -> str:
        if self._mime is None:
            self._mime = self._sniff()
        return self._mime

    @property
    def kind(self) -> MediaKind:
        return kind_for(self.mime)

    @property
    def size(self) -> int:
        """Bytes."""
        if self._size is None:
            self._size = len(self.data) if self.data is not None else self._stat_size()
        return self._size

    def read(self) -> bytes:
        """All bytes.

        Raises MissingDataError when the file has gone, CorruptMediaError when a record names the digest of the medium
        and the file now holds something else (compared once, on the first reading).
        """
        if self.data is not None:
            return self.data
        with self._open() as file:
            data = file.read()
        if self._unproven:
            self._prove(data)
        return data

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
        sha256, mime = str(row["sha256"]), str(row["mime"])
        stored = MediaStore.locate(root, sha256, mime)
        path = Path(row["path"]) if row.get("path") else stored
        media = cls(path=path, sha256=sha256, mime=mime, size=int(row["size"]), name=str(row.get("name", "")))
        media._unproven = True
        return media

    def _prove(self, data: bytes) -> None:
        """Compare the bytes with the recorded digest; a size that differs already says no."""
        if len(data) == self._size and hashlib.sha256(data).hexdigest() == self._sha256:
            self._unproven = False
            return
        raise CorruptMediaError(
            f"{self.path}: the file has changed since it was recorded (sha256 {self._sha256}, {self._size} bytes; now "
            f"{len(data)} bytes); restore the file, or begin a new run with --fresh"
        )

    @contextlib.contextmanager
    def _open(self) -> Iterator[BufferedReader]:
        if self.path is None:
            raise MissingDataError("a medium without bytes and without a file was read")
        try:
            with self.path.open("rb") as file:
                yield file
        except FileNotFoundError:
            raise MissingDataError(f"{self.path}: the media file has gone; put it back where it was") from None
        except OSError as error:
            raise MissingDataError(f"{self.path}: the media file cannot be read ({_reason(error)})") from None

    def _hash(self) -> str:
        if self.data is not None:
            return hashlib.sha256(self.data).hexdigest()
        with self._open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _stat_size(self) -> int:
        with self._open() as file:
            return os.fstat(file.fileno()).st_size

    def _sniff(self) -> str:
        if self.data is not None:
            tail = self.data[-ZIP_TAIL_BYTES:]
            return sniff_mime(self.data[:SNIFF_BYTES], self.name, size=len(self.data), tail=tail)
        with self._open() as file:
            head, size, tail = file.read(SNIFF_BYTES), os.fstat(file.fileno()).st_size, b""
            if head.startswith(b"PK"):
                file.seek(max(0, size - ZIP_TAIL_BYTES))
                tail = file.read(ZIP_TAIL_BYTES)
        return sniff_mime(head, self.name, size=size, tail=tail)

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
                f"{path}: cannot store a medium ({_reason(error)}); free space or make the folder writable, then run "
                "the same command again"
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


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def path_inside(root: Path, relative: str) -> Path:
    """``root / relative``, refused with UsageError when it is absolute or leads out of ``root`` (links included).

    Only the links of a hub snapshot may point elsewhere: to the blobs of their own data set.
    """
    path = root / relative
    try:
        out = PurePosixPath(relative).is_absolute() or _climbs(relative)
        out = out or not _kept_inside(path.resolve(), root.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL character
        raise UsageError(f"{relative[:200]!r} is not a path inside {root} ({error})") from None
    if out:
        raise UsageError(f"{relative[:200]!r} leads out of {root}; paths in data must stay inside it")
    return path


def _climbs(relative: str) -> bool:
    return Path(os.path.normpath(relative)).parts[:1] == ("..",)


def _kept_inside(target: Path, root: Path) -> bool:
    if target.is_relative_to(root):
        return True
    # huggingface_hub keeps <data set>/snapshots/<commit>/... as links into <data set>/blobs.
    folder = next((folder for folder in (root, *root.parents) if folder.parent.name == "snapshots"), None)
    return folder is not None and target.is_relative_to(folder.parent.parent / "blobs")
