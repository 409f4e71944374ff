"""Finds the MIME type of content from its bytes, and the suffix of a MIME type."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import BinaryIO, NamedTuple

from mmeval.media.unread_formats import (
    UNREAD_SUFFIXES,
    UNREAD_TEXTS,
    unread_mime,
    unread_text_mime,
)
from mmeval.media.zip_type import DOCX, ODS, PPTX, XLSX, ZIP, zip_mime

UNKNOWN_MIME = "application/octet-stream"
"""The MIME type of bytes whose format is unknown."""
TEXT_MIMES = (
    "text/",
    "application/json",
    "model/gltf+json",
    "model/obj",
    "model/mtl",
    "image/svg+xml",
    *UNREAD_TEXTS,
)
"""The beginnings of the types that are text."""
SNIFF_BYTES = 4096
"""The number of bytes at the start of a file that usually suffice for its type."""
MAX_BOXES = 10_000
"""The maximum number of boxes of an MP4 that are inspected. A file with more boxes is
hostile."""
OLD_OFFICE = "application/msword"
_TS_PACKETS = ((188, 0), (192, 4), (204, 0))
"""The size of a packet of an MPEG transport stream, and the position of its sync byte.

A packet may be plain, may follow a time stamp (Blu-ray), or may end with a checksum.
"""
_TS_MARK = b"G"
_TS_LEAST = 3
"""The minimum number of packets of a stream: the table of programs, the table of
tracks, and one packet of a track."""
_TO_HANDLER = (b"moov", b"trak", b"mdia", b"hdlr")
"""The nested boxes that lead to the handler of a track."""

_MAGIC: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), mime)
    for pattern, mime in (
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"BM.{4}\0\0\0\0.{4}[\x0c\x10\x28\x34\x38\x40\x6c\x7c]\0\0\0", "image/bmp"),
        # 43 instead of 42 means offsets of 64 bits (BigTIFF)
        (rb"II[*+]\0|MM\0[*+]", "image/tiff"),
        (rb"RIFF.{4}WEBP", "image/webp"),
        (rb"(?:RIFF|RIFX|RF64|BW64).{4}WAVE", "audio/wav"),
        (rb"RIFF.{4}AVI ", "video/x-msvideo"),
        (rb"FORM.{4}AIF[FC]", "audio/aiff"),
        (rb"fLaC", "audio/flac"),
        (rb"OggS.{22,290}\x80theora", "video/ogg"),
        (rb"OggS\0", "audio/ogg"),
        (rb"ID3[\x02-\x04][^\xff].[\0-\x7f]{4}", "audio/mpeg"),
        # eleven sync bits, MPEG 1, 2 or 2.5, layer II or III, valid bit and sample rate
        (rb"\xff[\xe2-\xe5\xf2-\xf5\xfa-\xfd][\x10-\xef]", "audio/mpeg"),
        (rb"\xff[\xf0\xf1\xf8\xf9]", "audio/aac"),
        (rb"\x1aE\xdf\xa3.{0,60}\x42\x82.{1,8}matroska", "video/x-matroska"),
        (rb"\x1aE\xdf\xa3", "video/webm"),
        (rb"\0\0\x01\xba", "video/mpeg"),
        (rb"FLV\x01", "video/x-flv"),
        (rb"(?:\xef\xbb\xbf)?\s{0,64}%PDF-[0-9]", "application/pdf"),
        # any old office file except Excel, see _by_content
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLD_OFFICE),
        (rb"glTF[\x01\x02]\0\0\0", "model/gltf-binary"),
        (
            rb"ply[ \t]*[\r\n](?:\s++|(?:comment|obj_info)\b[^\r\n]*+)*+format\s",
            "model/ply",
        ),
        (
            rb"\A(?:\xef\xbb\xbf)?(?:\s++|#[^\r\n]*+)*+(?:ST)?C?N?4?n?OFF"
            rb"(?:[ \t]+BINARY\s|(?:\s++|#[^\r\n]*+)*+[0-9]+\s+[0-9]+\s)",
            "model/off",
        ),
        (rb"solid\b[^\n\0]*\n\s*(?:facet\s|endsolid)", "model/stl"),
        (rb"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb", "audio/x-w64"),
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
)
_ANY_HEIF_BRANDS = (b"mif1", b"msf1", b"miaf")
"""Brands for pictures or sequences of any codec. The compatible brands name the
codec."""
_EXCEL = "application/vnd.ms-excel"
_BOOKS = tuple(name.encode("utf-16-le") for name in ("Workbook", "Book"))
"""The names that the directory of an old Excel file uses for its content."""
_LOCKED_OFFICE = "application/x-tika-ooxml-protected"
"""The type of an office document with a password, as Apache Tika names it."""
_LOCKED = "EncryptedPackage".encode("utf-16-le")
"""The name of the encrypted content in the directory of such a document."""
_ROOT_NAME = b"R\0"
_ROOT_TYPE = b"\x05"
_ROOT_TYPE_PLACE = 66
"""The position of the type in a directory entry. The name and its length precede it."""
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
    "audio/x-w64": ".w64",
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
    "video/mp2t": ".ts",
    "video/ogg": ".ogv",
    "video/x-flv": ".flv",
    "application/pdf": ".pdf",
    "application/json": ".json",
    OLD_OFFICE: ".doc",
    ZIP: ".zip",
    "model/gltf-binary": ".glb",
    "model/ply": ".ply",
    "model/off": ".off",
    "model/stl": ".stl",
    "text/plain": ".txt",
    **{mime: suffix for suffix, mime in _TEXT_BY_SUFFIX.items()},
    DOCX: ".docx",
    XLSX: ".xlsx",
    PPTX: ".pptx",
    ODS: ".ods",
    _EXCEL: ".xls",
    **UNREAD_SUFFIXES,
}
_OBJ_LINE = re.compile(r"(?:#|(?:v|vn|vt|vp|f|l|p|o|g|s|mtllib|usemtl)(?:\s|$))")
_OBJ_VERTEX = re.compile(r"v(?:\s+[-+0-9.eE]+){3,}\s*(?:#.*)?$")
_SVG = re.compile(
    r"(?:(?:<\?xml[^>]*>|<!--(?:(?!-->).)*-->|"
    r"<!DOCTYPE svg[^>\[]*(?:\[[^\]]*\]\s*)?>)\s*)*+<(?:svg|svg:svg)[\s>/]",
    re.DOTALL,
)
_GLTF = re.compile(r'\A\{.*"asset"\s*:\s*\{[^{}]*"version"\s*:\s*"[0-9]', re.DOTALL)
"""The start of a glTF, for content without a file name: an object with an ``asset``
that states its ``version``."""
_HTML = re.compile(r"<(?:!doctype html|html)[\s>]", re.IGNORECASE)


def sniff_file(file: BinaryIO, name: str = "") -> str:
    """Returns the MIME type of a file.

    This reads the first bytes of the file, the directory of a zip or old office file,
    and the tracks of an MP4.
    """
    head = file.read(SNIFF_BYTES)
    size = file.seek(0, os.SEEK_END)
    tail = b""
    if head.startswith(b"\xd0\xcf\x11\xe0") and len(head) > 52:
        file.seek(old_office_directory(head))
        tail = file.read(SNIFF_BYTES)
    mime = sniff_mime(head, name, size=size, tail=tail)
    if mime == ZIP:
        return zip_mime(file)
    if mime == "video/mp4":
        tracks = handlers(file, size)
        return "audio/mp4" if b"soun" in tracks and b"vide" not in tracks else mime
    return mime


def sniff_mime(
    head: bytes,
    name: str = "",
    *,
    size: int | None = None,
    tail: bytes = b"",
) -> str:
    """Returns the MIME type of content, from its first bytes.

    ``name`` is used only to distinguish types of plain text. ``size`` is the total
    number of bytes; it identifies a binary STL, which has no signature. ``tail`` is the
    directory of an old office file, and identifies its type. A zip is always
    ``application/zip``, because only ``sniff_file`` reads its content. Unknown binary
    content is ``application/octet-stream``.
    """
    for pattern, mime in _MAGIC:
        if pattern.match(head):
            return _by_content(mime, head, tail)
    if head[4:8] == b"ftyp":
        return _by_brand(head)
    if head[4:8] in (b"moov", b"wide"):
        return "video/quicktime"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ZIP
    triangles = int.from_bytes(head[80:84], "little")
    if size == 84 + 50 * triangles and len(head) >= 84:
        return "model/stl"
    return unread_mime(head) or _sniff_text(head, name)


def old_office_directory(head: bytes) -> int:
    """Returns the position of the directory of an old office file.

    ``head`` is the start of the file.

    The position may be beyond the end of a truncated file.
    """
    sector_bits = 12 if head[30:31] == b"\x0c" else 9
    return (int.from_bytes(head[48:52], "little") + 1) << sector_bits


def has_old_directory(data: bytes) -> bool:
    """Returns True if the directory of an old office file begins with its root entry.

    Only the entry's type and the first letter of its name are checked, because some
    programs for the Mac write "R" instead of "Root Entry".
    """
    start = old_office_directory(data[:64])
    is_named = data.startswith(_ROOT_NAME, start)
    return is_named and data.startswith(_ROOT_TYPE, start + _ROOT_TYPE_PLACE)


def suffix_for(mime: str) -> str:
    """Returns the file suffix of a MIME type, with its dot.

    The suffix is ``.bin`` for an unknown type.
    """
    return _SUFFIX_BY_MIME.get(mime, ".bin")


def handlers(file: BinaryIO, size: int) -> set[bytes]:
    """Returns the handlers of an MP4's tracks.

    ``soun`` is the handler for sound, ``vide`` is the one for video. Other handlers are
    possible.

    ``size`` is the size of the file in bytes. For a damaged file, the result contains
    the handlers that can be read.
    """
    return set(_handlers(file, 0, size, _TO_HANDLER, iter(range(MAX_BOXES))))


class Box(NamedTuple):
    """A box of an MP4: its name, the start of its content, and its declared end.

    The end may be beyond the end of the file.
    """

    name: bytes
    start: int
    end: int


def boxes(
    file: BinaryIO,
    position: int,
    end: int,
) -> Iterator[Box]:
    """Yields the boxes of an MP4 between two positions.

    The iteration ends at a box that is shorter than its own header. Length 1 means that
    a 64-bit length follows. Length 0 means that the box extends to the end of the file.
    """
    while position + 8 <= end:
        file.seek(position)
        head = file.read(16)
        length = int.from_bytes(head[:4])
        start = position + 8
        if length == 1:
            length = int.from_bytes(head[8:16])
            start = position + 16
        stop = position + length if length else end
        if stop < start:
            return
        yield Box(head[4:8], start, stop)
        position = stop


def _by_content(
    mime: str,
    head: bytes,
    tail: bytes,
) -> str:
    """Returns the type of a container, which depends on its content."""
    if mime == OLD_OFFICE and _LOCKED in tail:
        return _LOCKED_OFFICE
    if mime == OLD_OFFICE and any(name in tail for name in _BOOKS):
        return _EXCEL
    # Matroska often has only sound. The names of its codecs are near the start.
    is_matroska = mime in ("video/webm", "video/x-matroska")
    if is_matroska and b"A_" in head and b"V_" not in head:
        return "audio/webm"
    return mime


def _by_brand(head: bytes) -> str:
    """Returns the MIME type of an MP4 or HEIF file, from the brands at its start."""
    brands = [head[8:12]]
    usual = "video/mp4"
    if brands[0] in _ANY_HEIF_BRANDS:
        end = min(len(head), int.from_bytes(head[:4]))
        brands = [head[position : position + 4] for position in range(16, end, 4)]
        usual = "image/heic"
    for name, mime in _MP4_BRANDS:
        if any(brand.startswith(name) for brand in brands):
            return mime
    return usual


def _is_transport_stream(head: bytes) -> bool:
    """Returns True if every packet of an MPEG transport stream has its sync byte."""
    for length, lead in _TS_PACKETS:
        marks = head[lead::length]
        if len(marks) >= _TS_LEAST and marks == _TS_MARK * len(marks):
            return True
    return False


def _sniff_text(head: bytes, name: str) -> str:
    by_name = _TEXT_BY_SUFFIX.get(PurePosixPath(name).suffix.lower())
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return by_name or "text/plain"
    if b"\x00" in head:
        return "video/mp2t" if _is_transport_stream(head) else UNKNOWN_MIME
    is_whole = len(head) < SNIFF_BYTES
    try:
        # ``head`` may end within a character, which does not make it binary.
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=is_whole)
    except UnicodeDecodeError:
        # Comments and names of an OBJ may have any encoding. Its keywords are ASCII.
        is_obj = _is_obj(head.decode("latin-1"), is_whole)
        return "model/obj" if is_obj else UNKNOWN_MIME
    text = text.lstrip("\ufeff \t\r\n")
    if _SVG.match(text):
        return "image/svg+xml"
    if _HTML.match(text):
        return "text/html"
    if _is_obj(text, is_whole):
        by_content = "model/obj"
    elif _GLTF.match(text):
        by_content = "model/gltf+json"
    else:
        by_content = unread_text_mime(text)
    return by_name or by_content or "text/plain"


def _is_obj(text: str, is_whole: bool) -> bool:
    """Returns True if each line starts with a keyword of OBJ and one is a vertex.

    OBJ has no signature. If the text is only the start of a file, its last line is
    ignored, because it may be cut off.
    """
    lines = [line.strip() for line in text.splitlines()]
    if not is_whole:
        lines = lines[:-1]
    non_blank = [line for line in lines if line]
    has_vertex = any(map(_OBJ_VERTEX.match, non_blank))
    return has_vertex and all(map(_OBJ_LINE.match, non_blank))


def _handlers(
    file: BinaryIO,
    position: int,
    end: int,
    path: tuple[bytes, ...],
    budget: Iterator[int],
) -> Iterator[bytes]:
    for box in boxes(file, position, end):
        if next(budget, None) is None:
            return
        if box.name != path[0]:
            continue
        stop = min(box.end, end)
        if len(path) > 1:
            yield from _handlers(file, box.start, stop, path[1:], budget)
        elif box.start + 12 <= stop:
            # The handler is after the version, the flags and an unused field.
            file.seek(box.start + 8)
            yield file.read(4)
