"""Checks what a container declares: its length, and the tables of an MP4 file."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, takewhile
from typing import Literal

from mmeval.content.media_type import Box, boxes

_MOST_PIECES = 100_000
"""Chunks or boxes at the top of a file that are read for its length."""
_ISO_BOXES = frozenset(
    (
        b"ftyp",
        b"styp",
        b"moov",
        b"moof",
        b"mdat",
        b"mfra",
        b"sidx",
        b"free",
        b"skip",
        b"wide",
        b"meta",
        b"udta",
    )
)
_AVI_CHUNKS = frozenset((b"LIST", b"JUNK", b"idx1", b"RIFF"))
"""Known names only: what else follows a whole file is a left-over of its writer."""
_STREAMED_SIZES = (
    0,
    0xFFFFFFFF,
    0x7FFFFFFF,
    0xFFFFFFFF - 36,
    0x7FFFFFFF + 36,
    0x7FFFFFFF - 36,
)
"""What writers that cannot seek back put where a size belongs: the chunk goes on to the
end of the file."""

MAX_EDITS = 1000
"""Entries of a list of edits. Files have one or two; each may play everything again."""
_MOST_BOXES = 500_000
_DEEPEST = 12
_OPAQUE = frozenset((b"mdat", b"free", b"skip"))
_ENCRYPTED = (b"encv", b"enca")
"""What stands in place of the codec of an encrypted track."""
_TABLES = frozenset((b"stsz", b"stz2", b"trun", b"elst", b"cmov"))
_TABLE_NAME = re.compile(b"|".join(sorted(_TABLES)))
_OFFSETS = {b"meta": (0, 4)}
"""Where the boxes inside a box begin, if not at once."""


def missing_bytes(data: bytes, mime: str) -> int:
    """The bytes that a file lacks of what its container declares; 0 if none."""
    declared = _DECLARED.get(mime)
    return 0 if declared is None else max(0, declared(data) - len(data))


def check_tables(data: bytes) -> None:
    """Raises ValueError for tables of an MP4 file that cannot be decoded safely.

    They promise more samples than the file has bytes, or more than ``MAX_EDITS`` edits.
    Raises NotImplementedError for packed ones, and for encrypted tracks.
    """
    promised = 0
    for number, box in enumerate(_nested(data, io.BytesIO(data), 0, len(data), 0)):
        if number > _MOST_BOXES:
            raise ValueError(f"it has more than {_MOST_BOXES} boxes")
        if box.name == b"cmov":
            raise NotImplementedError("its tables are packed, and are not unpacked")
        is_track = box.name == b"stsd"
        if is_track and data[box.start + 12 : box.start + 16] in _ENCRYPTED:
            raise NotImplementedError("its tracks are encrypted")
        if box.name == b"elst" and _number(data, box.start + 4) > MAX_EDITS:
            raise ValueError(f"it has more than {MAX_EDITS} edits")
        if box.name == b"trun":
            promised += _number(data, box.start + 4)
        elif box.name in (b"stsz", b"stz2"):  # a sample takes at least one byte
            each = max(1, _number(data, box.start + 4)) if box.name == b"stsz" else 1
            promised += each * _number(data, box.start + 8)
        if promised > len(data):
            raise ValueError(
                f"its tables promise {promised} samples in {len(data)} bytes"
            )


def _riff(data: bytes) -> int:
    order: Literal["big", "little"] = "big" if data.startswith(b"RIFX") else "little"
    at = 12
    for _ in range(_MOST_PIECES):
        if at + 8 > len(data):
            break
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], order)
        if name in (b"data", b"LIST") and size in _STREAMED_SIZES:
            return 0
        if data[8:12] == b"AVI " and name not in _AVI_CHUNKS:
            break
        if name == b"data":
            return at + 8 + size
        at += 8 + size + size % 2
    return at if data[8:12] == b"AVI " else 0


def _iso(data: bytes) -> int:
    """MP4 and QuickTime: the end of the last box at the top."""
    top = islice(boxes(io.BytesIO(data), 0, len(data)), _MOST_PIECES)
    return max(
        (box.end for box in takewhile(lambda box: box.name in _ISO_BOXES, top)),
        default=0,
    )


def _matroska(data: bytes) -> int:
    """EBML: the header element, then one segment that holds everything."""
    header_end = _element_end(data, 4)
    if not header_end or data[header_end : header_end + 4] != b"\x18\x53\x80\x67":
        return 0
    return _element_end(data, header_end + 4)


def _element_end(data: bytes, at: int) -> int:
    """End of the element whose size is at ``at``; 0 for an open size (live stream)."""
    if at >= len(data) or not data[at]:
        return 0
    width = 9 - data[at].bit_length()
    size = int.from_bytes(data[at : at + width], "big") & ((1 << 7 * width) - 1)
    return 0 if size == (1 << 7 * width) - 1 else at + width + size


def _ogg(data: bytes) -> int:
    at = data.rfind(b"OggS")
    lacing = data[at + 27 : at + 27 + data[at + 26]] if at + 27 <= len(data) else b""
    return at + 27 + len(lacing) + sum(lacing) if lacing else 0


def _mpeg(data: bytes) -> int:
    """The end by the Xing header's byte count; 0 if it fits within a writer's slip."""
    start = 0
    if data.startswith(b"ID3"):
        start = 10 + sum(
            (byte & 0x7F) << shift
            for byte, shift in zip(data[6:10], (21, 14, 7, 0), strict=False)
        )
    found = re.compile(rb"(?:Xing|Info)(.{4})", re.DOTALL).search(
        data, start, start + 256
    )
    if found is None or not found[1][3] & 2:
        return 0
    at = found.end() + (4 if found[1][3] & 1 else 0)
    size = int.from_bytes(data[at : at + 4], "big")
    return 0 if start + size <= len(data) * 1.005 + 16 else start + size


_DECLARED: Mapping[str, Callable[[bytes], int]] = {
    "audio/wav": _riff,
    "video/x-msvideo": _riff,
    "audio/mp4": _iso,
    "video/mp4": _iso,
    "video/quicktime": _iso,
    "audio/webm": _matroska,
    "video/webm": _matroska,
    "video/x-matroska": _matroska,
    "audio/aiff": lambda data: 8 + int.from_bytes(data[4:8], "big"),
    "audio/ogg": _ogg,
    "audio/mpeg": _mpeg,
}


def _nested(
    data: bytes, file: io.BytesIO, start: int, end: int, depth: int
) -> Iterator[Box]:
    """The boxes between two places, each before its inner ones; too long ones are
    cut."""
    for whole in boxes(file, start, end):
        box = whole._replace(end=min(end, whole.end))
        yield box
        if box.name == b"stsd":
            # Tables inside the description of a codec: what comes before them is of
            # many lengths.
            names = _TABLE_NAME.finditer(data, box.start, box.end)
            yield from (Box(name[0], name.end(), box.end) for name in names)
        elif box.name not in _OPAQUE and box.name not in _TABLES and depth < _DEEPEST:
            for offset in _OFFSETS.get(box.name, (0,)):
                yield from _nested(data, file, box.start + offset, box.end, depth + 1)


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")
