"""Checks what a container declares: its length, and the tables of an MP4 file."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Literal, NamedTuple

from mmeval.media.media import MAX_MEDIA_BYTES
from mmeval.media.media_type import Box, boxes

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
_WIDE_WAVES = (b"RF64", b"BW64")
"""WAV with sizes of 64 bits in a chunk of their own."""
_WIDE = 0xFFFFFFFF
"""In place of a size of 32 bits: it is in the chunk of wide sizes."""
_FORMAT_BYTES = 16
_EXTENSIBLE = 0xFFFE
"""The format is stated behind the others."""
_CHUNK_NAME = re.compile(rb"[ -~]{4}")
_XING = re.compile(rb"(?:Xing|Info)(.{4})", re.DOTALL)
"""The header of MPEG audio that states its length, with flags of what it states."""

MAX_EDITS = 1000
"""Entries of a list of edits. Files have one or two; each may play everything again."""
_MOST_BOXES = 500_000
_DEEPEST = 12
_OPAQUE = frozenset((b"mdat", b"free", b"skip"))
_ENCRYPTED = (b"encv", b"enca")
"""What stands in place of the codec of an encrypted track."""
_TO_DESCRIPTION = (b"mdia", b"minf", b"stbl", b"stsd")
"""The boxes, one inside the other, that lead from a track to its description."""
_ENTRY_HEAD = 16
"""Bytes that every description of a codec has at its beginning."""
_CODEC_NAME = re.compile(rb"[ -~]{4}|ms..", re.DOTALL)
"""Four letters, or a number of Microsoft's registry in QuickTime."""
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
    nested = _nested(data, io.BytesIO(data), 0, len(data), 0)
    for number, box in enumerate(nested):
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
        elif box.name == b"stz2":
            promised += _number(data, box.start + 8)
        elif box.name == b"stsz":  # a sample takes at least one byte
            each = max(1, _number(data, box.start + 4))
            promised += each * _number(data, box.start + 8)
        if promised > len(data):
            raise ValueError(
                f"its tables promise {promised} samples in {len(data)} bytes"
            )


def has_descriptions(data: bytes) -> bool:
    """Whether each track of an MP4 file has a description of its codec that is whole.

    It is asked only of a file whose codec is unknown to the decoder: data beside sound
    and pictures may be described in any way.
    """
    file = io.BytesIO(data)
    for film in boxes(file, 0, len(data)):
        if film.name != b"moov":
            continue
        for track in boxes(file, film.start, min(film.end, len(data))):
            if track.name == b"trak" and not _has_description(data, file, track):
                return False
    return True


def _has_description(
    data: bytes,
    file: io.BytesIO,
    track: Box,
) -> bool:
    """Whether the boxes of a track lead, each inside the other, to a description with
    an entry, which ends inside of it and names a codec."""
    outer = track
    for name in _TO_DESCRIPTION:
        inner = None
        for box in boxes(file, outer.start, outer.end):
            if box.name == name:
                inner = box
                break
        if inner is None or inner.end > outer.end:
            return False
        outer = inner
    start = outer.start
    entries = _number(data, start + 4)
    size = _number(data, start + 8)
    codec = data[start + 12 : start + 16]
    is_inside = _ENTRY_HEAD <= size <= outer.end - start - 8
    return entries > 0 and is_inside and _CODEC_NAME.fullmatch(codec) is not None


class _WaveData(NamedTuple):
    """The samples of a WAV: their place, their declared bytes, and whether these were
    left open, so that they go on to the end of the file."""

    start: int
    size: int
    is_open: bool


def whole_wave(data: bytes) -> bytes:
    """A WAV whose sizes are stated, in 32 bits, where its writer left them open.

    Writers that cannot seek back leave 0 or a huge number where the sizes belong, which
    readers take at its word. Others are returned as they are.
    """
    samples = _wave_data(data)
    if samples is None or not (samples.is_open or data.startswith(b"BW64")):
        return data
    order = _byte_order(data)
    size = len(data) - samples.start if samples.is_open else samples.size
    plain = bytearray(data)
    if data[:4] in _WIDE_WAVES:
        plain[:4] = b"RIFF"
    plain[4:8] = (len(data) - 8).to_bytes(4, order)
    plain[samples.start - 4 : samples.start] = size.to_bytes(4, order)
    return bytes(plain)


def wave_format(data: bytes) -> tuple[int, int]:
    """The code of a WAV's format, and its bits a sample; (0, 0) where none is stated.

    The code is that of Microsoft's registry: 1 whole numbers, 3 floats, others codecs.
    """
    order = _byte_order(data)
    for name, start, size in _chunks(data):
        is_whole = _FORMAT_BYTES <= size <= len(data) - start
        if name == b"fmt " and is_whole:
            code = int.from_bytes(data[start : start + 2], order)
            bits = int.from_bytes(data[start + 14 : start + 16], order)
            if code == _EXTENSIBLE:
                code = int.from_bytes(data[start + 24 : start + 26], order)
            return code, bits
    return 0, 0


def _byte_order(data: bytes) -> Literal["big", "little"]:
    return "big" if data.startswith(b"RIFX") else "little"


def _wave_data(data: bytes) -> _WaveData | None:
    """The samples of a WAV; None where it has no such chunk."""
    order = _byte_order(data)
    wide_size = 0
    for name, start, size in _chunks(data):
        if name == b"ds64":
            wide_size = int.from_bytes(data[start + 8 : start + 16], "little")
        if name == b"data":
            is_wide = data[:4] in _WIDE_WAVES and size == _WIDE
            declared = wide_size if is_wide else size
            end = 8 + int.from_bytes(data[4:8], order)
            return _WaveData(start, declared, _is_open(data, start, declared, end))
    return None


def _is_open(
    data: bytes,
    start: int,
    size: int,
    declared_end: int,
) -> bool:
    """Whether the size of a WAV's samples was left open by its writer.

    ``declared_end`` is that of the whole file. No cut explains more than a medium may
    have, nor samples that go on behind the end of the whole.
    """
    end = start + size
    if size:
        return size > MAX_MEDIA_BYTES or (end > len(data) and declared_end < end)
    # it has no samples if whole chunks, and nothing else, follow up to its end
    for name, content, bytes_inside in _chunks(data, start):
        if not _CHUNK_NAME.fullmatch(name):
            return True
        end = content + bytes_inside
    return not end <= len(data) <= end + 1


def _chunks(
    data: bytes,
    start: int = 12,
) -> Iterator[tuple[bytes, int, int]]:
    """The chunks of a RIFF file: name, start of the content, declared bytes."""
    order = _byte_order(data)
    for _ in range(_MOST_PIECES):
        if start + 8 > len(data):
            return
        size = int.from_bytes(data[start + 4 : start + 8], order)
        yield data[start : start + 4], start + 8, size
        start += 8 + size + size % 2


def _wave(data: bytes) -> int:
    samples = _wave_data(data)
    return 0 if samples is None or samples.is_open else samples.start + samples.size


def _wave64(data: bytes) -> int:
    """Sony's WAV of 64-bit sizes: its own one, if it was not left open."""
    size = int.from_bytes(data[16:24], "little")
    return 0 if size > MAX_MEDIA_BYTES else size


def _avi(data: bytes) -> int:
    end = 12
    for name, start, size in _chunks(data):
        # left open by a writer that cannot seek back: it goes on to the end
        if name == b"LIST" and (size == 0 or size > MAX_MEDIA_BYTES):
            return 0
        if name not in _AVI_CHUNKS:
            break
        end = start + size + size % 2
    return end


def _iso(data: bytes) -> int:
    """MP4 and QuickTime: the end of the last box at the top."""
    end = 0
    top = boxes(io.BytesIO(data), 0, len(data))
    for box in islice(top, _MOST_PIECES):
        if box.name not in _ISO_BOXES:
            break
        end = max(end, box.end)
    return end


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
    most = (1 << 7 * width) - 1
    size = int.from_bytes(data[at : at + width], "big") & most
    return 0 if size == most else at + width + size


def _ogg(data: bytes) -> int:
    start = data.rfind(b"OggS") + 27
    if start > len(data):
        return 0
    lacing = data[start : start + data[start - 1]]
    return start + len(lacing) + sum(lacing) if lacing else 0


def _mpeg(data: bytes) -> int:
    """The end by the Xing header's byte count; 0 if it fits within a writer's slip."""
    start = 0
    if data.startswith(b"ID3"):
        size = 0
        for byte in data[6:10]:
            size = (size << 7) + (byte & 0x7F)
        start = 10 + size
    found = _XING.search(data, start, start + 256)
    if found is None:
        return 0
    flags = found[1][3]
    if not flags & 2:
        return 0
    at = found.end() + (4 if flags & 1 else 0)
    end = start + _number(data, at)
    return 0 if end <= len(data) * 1.005 + 16 else end


_DECLARED: Mapping[str, Callable[[bytes], int]] = {
    "audio/wav": _wave,
    "audio/x-w64": _wave64,
    "video/x-msvideo": _avi,
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
            for name in _TABLE_NAME.finditer(data, box.start, box.end):
                yield Box(name[0], name.end(), box.end)
        elif box.name not in _OPAQUE and box.name not in _TABLES and depth < _DEEPEST:
            for offset in _OFFSETS.get(box.name, (0,)):
                yield from _nested(data, file, box.start + offset, box.end, depth + 1)


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")
