"""Hostile videos."""

from __future__ import annotations

import struct

from tests.support import tiny_media as tiny
from tests.support.hostile.case import Hostile, Makers, named


def cases() -> tuple[Hostile, ...]:
    makers: Makers = {
        "mp4 whose box is larger than it": lambda: _box_size(b"moov", 0x7FFFFFF0),
        "mp4 of endless boxes": lambda: _ftyp() + b"\0\0\0\x08free" * 1_000_000,
        "mp4 of boxes in boxes": lambda: _ftyp() + _nested(20_000),
        "mp4 of 65535 x 65535": lambda: _mp4_of(65535, 65535),
        "mp4 of 136 years": lambda: _durations(0xFFFFFFFE),
        "mp4 of four billion samples": lambda: _table(b"stsz", 0xFFFFFFF0),
        "mp4 whose fragment has forty million samples": lambda: _fragments(40_000_000),
        "mov that names another file": lambda: tiny.clip("mov").replace(b"url ", b"alis"),
        "webm of 16383 x 16383 in the codec alone": _large_inside,
        "mp4 of eight thousand tracks": lambda: _tracks(8000),
        "webm whose segment is of no size": lambda: _ebml(b"\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff"),
        "webm of elements in elements": lambda: _ebml(b"\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff" * 20_000),
        "webm of endless nothing": lambda: tiny.clip("webm", "vp9")[:200] + b"\xec\x80" * 1_000_000,
        "avi of 65535 x 65535": lambda: _avi_of(65535, 65535),
        "avi of endless lists": lambda: tiny.clip("avi")[:200] + b"LIST\x04\0\0\0movi" * 200_000,
        "mpeg of nothing but starts": lambda: b"\0\0\x01\xba" * 300_000,
        "flv of empty tags": lambda: b"FLV\x01\x05\0\0\0\x09\0\0\0\0" + (b"\x09" + bytes(14)) * 100_000,
        "ogg theora of a huge size": _theora,
        "gif of sixty thousand frames": lambda: _gif(60_000, (64, 64)),
        "gif of two thousand frames of 2000 x 2000": lambda: _gif(2000, (2000, 2000)),
        "list of other files": lambda: b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/passwd\n",
    }
    return named("video", ("video", "video_info", "audio"), makers)


def _ftyp() -> bytes:
    return b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"


def _after(name: bytes, skip: int, new: bytes) -> bytes:
    """A clip in which the bytes ``skip`` behind the name of a box are others."""
    data = tiny.clip()
    at = data.index(name) + 4 + skip
    return data[:at] + new + data[at + len(new) :]


def _box_size(name: bytes, size: int) -> bytes:
    return _after(name, -8, struct.pack(">I", size))


def _nested(depth: int) -> bytes:
    return b"".join(struct.pack(">I4s", 8 * (depth - i), b"moov") for i in range(depth))


def _mp4_of(width: int, height: int) -> bytes:
    data = _after(b"mp4v", 24, struct.pack(">HH", width, height))
    at = data.index(b"tkhd") + 4 + 76
    return data[:at] + struct.pack(">HHHH", width, 0, height, 0) + data[at + 8 :]


def _durations(length: int) -> bytes:
    data = tiny.clip()
    for name, skip in ((b"mvhd", 16), (b"mdhd", 16), (b"tkhd", 20)):
        at = data.index(name) + 4 + skip
        data = data[:at] + struct.pack(">I", length) + data[at + 4 :]
    return data


def _table(name: bytes, count: int) -> bytes:
    return _after(name, 8 if name == b"stsz" else 4, struct.pack(">I", count))


def _large_inside() -> bytes:
    """The container says 32 x 16, the codec's own header another size."""
    data = tiny.clip("webm", "libvpx")
    at = data.index(b"\x9d\x01\x2a") + 3
    return data[:at] + struct.pack("<HH", 16383, 16383) + data[at + 4 :]


def _box(name: bytes, *inner: bytes) -> bytes:
    return struct.pack(">I4s", 8 + sum(map(len, inner)), name) + b"".join(inner)


def _fragments(samples: int, count: int = 1) -> bytes:
    """Samples of no bytes, which a fragment may have without listing them."""
    coded = _box(b"mp4v", bytes(6) + b"\0\1" + bytes(16) + struct.pack(">HH", 32, 16) + bytes(50))
    tables = [_box(b"stsd", bytes(4) + struct.pack(">I", 1), coded), _box(b"stts", bytes(8)), _box(b"stsc", bytes(8))]
    tables += [_box(b"stsz", bytes(12)), _box(b"stco", bytes(8))]
    described = _box(b"hdlr", bytes(8) + b"vide" + bytes(13)), _box(b"minf", _box(b"stbl", *tables))
    head = _box(b"mdhd", bytes(12) + struct.pack(">I", 1000) + bytes(8))
    track = _box(b"trak", _box(b"tkhd", bytes(12) + struct.pack(">I", 1) + bytes(68)), _box(b"mdia", head, *described))
    usual = _box(b"mvex", _box(b"trex", bytes(4) + struct.pack(">5I", 1, 1, 1, 1, 0)))
    moov = _box(b"moov", _box(b"mvhd", bytes(12) + struct.pack(">I", 1000) + bytes(84)), track, usual)
    runs = _box(b"trun", bytes(4) + struct.pack(">I", samples)) * count
    moof = _box(b"moof", _box(b"mfhd", bytes(8)), _box(b"traf", _box(b"tfhd", bytes(4) + struct.pack(">I", 1)), runs))
    return _ftyp() + moov + moof + _box(b"mdat", bytes(100))


def _tracks(count: int) -> bytes:
    trak = struct.pack(">I4s", 8 + 16, b"trak") + struct.pack(">I4s", 16, b"mdia") + bytes(8)
    return _ftyp() + struct.pack(">I4s", 8 + len(trak) * count, b"moov") + trak * count


def _ebml(segment: bytes) -> bytes:
    head = b"\x42\x82\x84webm"
    return b"\x1aE\xdf\xa3" + bytes((0x80 | len(head),)) + head + segment


def _avi_of(width: int, height: int) -> bytes:
    data = tiny.clip("avi")
    at = data.index(b"strf") + 12
    return data[:at] + struct.pack("<II", width, height) + data[at + 8 :]


def _theora() -> bytes:
    head = b"\x80theora\x03\x02\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" + bytes(26)
    return b"OggS\0\x02" + bytes(8) + b"\1\0\0\0" + bytes(8) + bytes((1, len(head))) + head


def _gif(frames: int, size: tuple[int, int]) -> bytes:
    head = b"GIF89a" + struct.pack("<HHBBB", *size, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    one = b"," + struct.pack("<HHHHB", 0, 0, 8, 4, 0) + b"\x02\x02\x44\x01\0"
    return head + one * frames + b";"
