"""Checks what a container declares: its length, and the tables of an MP4."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Literal, NamedTuple

from mmeval.media.media import MAX_MEDIA_BYTES
from mmeval.media.media_type import Box, boxes

_MOST_PIECES = 100_000
"""The maximum number of chunks or top-level boxes that are read for a file's length."""
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
"""The names of top-level chunks of an AVI. Other data after a complete file are
ignored, because its writer left them there."""
_WIDE_WAVES = (b"RF64", b"BW64")
"""The names of WAV files with 64-bit sizes in a separate chunk."""
_WIDE = 0xFFFFFFFF
"""This 32-bit size means that the size is in the chunk of 64-bit sizes."""
_FORMAT_BYTES = 16
_EXTENSIBLE = 0xFFFE
"""This format code means that the actual code is stated after the other fields."""
_CHUNK_NAME = re.compile(rb"[ -~]{4}")
_XING = re.compile(rb"(?:Xing|Info)(.{4})", re.DOTALL)
"""The header in MPEG audio that states the length of the file. The group captures the
flags that show which fields the header contains."""

MAX_EDITS = 1000
"""The maximum number of entries of an edit list. Files usually contain one or two
entries, and each entry may repeat the complete track."""
_MOST_BOXES = 100_000
"""The maximum number of boxes of an MP4. A film of two hours in fragments of a second
has half of them, and 100,000 are read in half a second."""
_DEEPEST = 12
_OPAQUE = frozenset((b"mdat", b"free", b"skip"))
_ENCRYPTED = (b"encv", b"enca")
"""The codec names of encrypted tracks."""
_TO_DESCRIPTION = (b"mdia", b"minf", b"stbl", b"stsd")
"""The nested boxes that lead from a track to its description."""
_ENTRY_HEAD = 16
"""The number of bytes of the fields at the start of every codec description."""
_CODEC_NAME = re.compile(rb"[ -~]{4}|ms..", re.DOTALL)
"""The name of a codec: four printable characters, or ``ms`` and a number from
Microsoft's registry."""
_TABLES = frozenset((b"stsz", b"stz2", b"trun", b"elst", b"cmov"))
_TABLE_NAME = re.compile(b"|".join(sorted(_TABLES)))
_OFFSETS = {b"meta": (0, 4)}
"""The possible offsets of inner boxes in a box whose content may start with other
fields."""


def missing_bytes(data: bytes, mime: str) -> int:
    """Returns how many bytes of the declared length are missing in a file.

    The result is 0 if the file is complete.
    """
    declared = _DECLARED.get(mime)
    return 0 if declared is None else max(0, declared(data) - len(data))


def check_tables(data: bytes) -> None:
    """Checks the tables of an MP4 before it is decoded.

    Raises ValueError if they declare more samples than the file has bytes, or more than
    ``MAX_EDITS`` edits. Raises NotImplementedError for compressed tables and encrypted
    tracks.
    """
    samples = 0
    nested = _nested(data, io.BytesIO(data), 0, len(data), 0)
    for number, box in enumerate(nested):
        if number > _MOST_BOXES:
            raise ValueError(f"it has more than {_MOST_BOXES:,} boxes")
        if box.name == b"cmov":
            raise NotImplementedError("its tables are compressed")
        is_track = box.name == b"stsd"
        if is_track and data[box.start + 12 : box.start + 16] in _ENCRYPTED:
            raise NotImplementedError("its tracks are encrypted")
        if box.name == b"elst" and _number(data, box.start + 4) > MAX_EDITS:
            raise ValueError(f"it has more than {MAX_EDITS} edits")
        if box.name == b"trun":
            samples += _number(data, box.start + 4)
        elif box.name == b"stz2":
            samples += _number(data, box.start + 8)
        elif box.name == b"stsz":  # A sample takes at least one byte.
            sample_size = max(1, _number(data, box.start + 4))
            samples += sample_size * _number(data, box.start + 8)
        if samples > len(data):
            raise ValueError(
                f"its tables declare {samples} samples in {len(data)} bytes"
            )


def has_descriptions(data: bytes) -> bool:
    """Returns True if each track of an MP4 has a complete codec description.

    This is called only if the decoder does not know a codec, because tracks with other
    data than media may have any description.
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
    """Returns True if the boxes of a track lead to a valid description.

    A valid description has an entry that ends inside it and names a codec.
    """
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
    """The position and the declared number of bytes of the samples in a WAV.

    ``is_open`` is true if the writer left the size open. Then the samples continue to
    the end of the file.
    """

    start: int
    size: int
    is_open: bool


def whole_wave(data: bytes) -> bytes:
    """Returns a WAV with its open 32-bit sizes filled in.

    Writers that cannot seek leave 0 or a huge number as the size, and decoders would
    rely on this number. Other files are returned unchanged.
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
    """Returns the format code and bits per sample of a WAV.

    The result is (0, 0) if the file does not state them.

    The code is from Microsoft's registry. It is 1 for integers, 3 for floats, and
    another number for a codec.
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
    """Returns the samples of a WAV, or None if it has no such chunk."""
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
    """Returns True if the writer left the size of a WAV's samples open.

    ``declared_end`` is the declared end of the file. In a truncated file, the declared
    size of the samples does not exceed the maximum size of a medium, and the samples do
    not extend beyond the declared end.
    """
    end = start + size
    if size:
        return size > MAX_MEDIA_BYTES or (end > len(data) and declared_end < end)
    # Size 0 is correct if only complete chunks follow up to the end of the file.
    for name, content, bytes_inside in _chunks(data, start):
        if not _CHUNK_NAME.fullmatch(name):
            return True
        end = content + bytes_inside
    return not end <= len(data) <= end + 1


def _chunks(
    data: bytes,
    start: int = 12,
) -> Iterator[tuple[bytes, int, int]]:
    """Yields the name, the start and the declared size of each chunk of a RIFF file."""
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
    """Returns the declared size of a Wave64 file (Sony's WAV with 64-bit sizes).

    The result is 0 if the writer left the size open.
    """
    size = int.from_bytes(data[16:24], "little")
    return 0 if size > MAX_MEDIA_BYTES else size


def _avi(data: bytes) -> int:
    end = 12
    for name, start, size in _chunks(data):
        # A writer that cannot seek left the size open. The list continues to the end.
        if name == b"LIST" and (size == 0 or size > MAX_MEDIA_BYTES):
            return 0
        if name not in _AVI_CHUNKS:
            break
        end = start + size + size % 2
    return end


def _iso(data: bytes) -> int:
    """Returns the end of the last top-level box of an MP4 or QuickTime file."""
    end = 0
    top = boxes(io.BytesIO(data), 0, len(data))
    for box in islice(top, _MOST_PIECES):
        if box.name not in _ISO_BOXES:
            break
        end = max(end, box.end)
    return end


def _matroska(data: bytes) -> int:
    """Returns the declared end of an EBML file.

    The file consists of a header element and one segment, which contains all other
    elements.
    """
    header_end = _element_end(data, 4)
    if not header_end or data[header_end : header_end + 4] != b"\x18\x53\x80\x67":
        return 0
    return _element_end(data, header_end + 4)


def _element_end(data: bytes, start: int) -> int:
    """Returns the end of the element whose size is stored at ``start``.

    The result is 0 for an open size, as in a live stream.
    """
    if start >= len(data) or not data[start]:
        return 0
    width = 9 - data[start].bit_length()
    most = (1 << 7 * width) - 1
    size = int.from_bytes(data[start : start + width], "big") & most
    return 0 if size == most else start + width + size


def _ogg(data: bytes) -> int:
    start = data.rfind(b"OggS") + 27
    if start > len(data):
        return 0
    lacing = data[start : start + data[start - 1]]
    return start + len(lacing) + sum(lacing) if lacing else 0


def _mpeg(data: bytes) -> int:
    """Returns the end of the file according to the byte count in the Xing header.

    The result is 0 unless the file is shorter than stated by more than writers' usual
    tolerance.
    """
    start = 0
    if data.startswith(b"ID3"):
        size = 0
        for byte in data[6:10]:
            size = (size << 7) + (byte & 0x7F)
        start = 10 + size
    header = _XING.search(data, start, start + 256)
    if header is None:
        return 0
    flags = header[1][3]
    if not flags & 2:
        return 0
    position = header.end() + (4 if flags & 1 else 0)
    end = start + _number(data, position)
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
    """Yields the boxes between two positions, each before the boxes inside it.

    A box that extends beyond the end of its parent is cut off there.
    """
    for declared in boxes(file, start, end):
        box = declared._replace(end=min(end, declared.end))
        yield box
        if box.name == b"stsd":
            # The fields before the tables in a codec description vary in length, so
            # the tables are found by name.
            for name in _TABLE_NAME.finditer(data, box.start, box.end):
                yield Box(name[0], name.end(), box.end)
        elif box.name not in _OPAQUE and box.name not in _TABLES and depth < _DEEPEST:
            for offset in _OFFSETS.get(box.name, (0,)):
                yield from _nested(data, file, box.start + offset, box.end, depth + 1)


def _number(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 4], "big")
