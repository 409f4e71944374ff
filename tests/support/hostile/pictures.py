"""Hostile pictures."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from tests.support import tiny_media as tiny
from tests.support.hostile.case import Hostile, Makers, named

_PNG = b"\x89PNG\r\n\x1a\n"
_IHDR = b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
_PIXELS = b"IDAT", zlib.compress((b"\0" + bytes(24)) * 8)


def cases() -> tuple[Hostile, ...]:
    return named("picture", ("image",), _MAKERS)


def _at(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


def _chunks(*chunks: tuple[bytes, bytes]) -> bytes:
    return _PNG + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (*chunks, (b"IEND", b""))
    )


def _bomb() -> bytes:
    return zlib.compress(bytes(50_000_000), 9)


def _png(colour: int, *, depth: int = 8, interlaced: int = 0) -> Callable[[], bytes]:
    """A whole picture of 8K in which nothing is to be seen."""

    def make() -> bytes:
        samples, packer = {0: 1, 2: 3, 4: 2, 6: 4}[colour], zlib.compressobj(9)
        row = bytes(1 + 7680 * samples * depth // 8)
        data = b"".join(packer.compress(row) for _ in range(4320 + 4320 * interlaced)) + packer.flush()
        header = struct.pack(">IIBBBBB", 7680, 4320, depth, colour, 0, 0, interlaced)
        return _chunks((b"IHDR", header), (b"IDAT", data))

    return make


def _frames(count: int, bombs: int = 0) -> bytes:
    size = (8, 8, 0, 0, 1, 10, 0, 0)
    frames = [(b"fcTL", struct.pack(">IIIIIHHBB", 0, *size))] * count + [_PIXELS]
    for number in range(1, 2 * bombs, 2):
        frames += [(b"fcTL", struct.pack(">IIIIIHHBB", number, *size))]
        frames += [(b"fdAT", struct.pack(">I", number + 1) + _bomb())]
    return _chunks(_IHDR, (b"acTL", struct.pack(">II", count + bombs, 0)), *frames)


def _jpeg_of(side: int, *, progressive: bool = False) -> bytes:
    data = tiny.picture("JPEG", progressive=progressive)
    return _at(data, data.index(b"\xff\xc2" if progressive else b"\xff\xc0") + 5, struct.pack(">HH", side, side))


def _jpeg_scans(side: int, scan: bytes, count: int, **options: str) -> bytes:
    data = tiny.picture("JPEG", size=(side, side), progressive=True, **options)
    return data[:-2] + (scan or data[data.rindex(b"\xff\xda") : -2]) * count + data[-2:]


def _jpeg_with(segments: bytes) -> bytes:
    data = tiny.picture("JPEG")
    return data[:2] + segments + data[2:]


def _segment(mark: bytes, content: bytes) -> bytes:
    return mark + struct.pack(">H", len(content) + 2) + content


def _jpeg_pictures() -> bytes:
    tags = ((0xB000, 7, 4, 0x30303130), (0xB001, 4, 1, 0x7FFFFFFF), (0xB002, 7, 0x7FFFFFF0, 50))
    listed = b"MPF\0II*\0" + struct.pack("<IH", 8, 3) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(68)
    return _jpeg_with(_segment(b"\xff\xe2", listed))


def _gif(side: int, frames: int, *, left: int = 0, frame: int = 8) -> bytes:
    head = b"GIF89a" + struct.pack("<HHBBB", side, side, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    return head + (b"," + struct.pack("<HHHHB", left, left, frame, frame, 0) + b"\x02\x02\x44\x01\0") * frames + b";"


def _riff(body: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def _webp(side: int) -> bytes:
    bits = struct.pack("<I", ((side - 1) | (side - 1) << 14) & 0xFFFFFFFF)
    return _riff(b"VP8L" + struct.pack("<I", 10) + b"\x2f" + bits + bytes(5))


def _webp_frames(side: int, count: int) -> bytes:
    size = struct.pack("<I", side - 1)[:3] * 2
    frame = b"\0" * 6 + size + b"\0\0\0\0" + tiny.picture("WEBP")[12:]
    head = b"VP8X" + struct.pack("<I", 10) + b"\x02\0\0\0" + size + b"ANIM" + struct.pack("<I", 6) + bytes(6)
    return _riff(head + (b"ANMF" + struct.pack("<I", len(frame)) + frame) * count)


def _bmp(width: int, height: int, *, bits: int = 24, packed: int = 0) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, packed, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 200, 0, 0, 54 + 1024) + info + bytes(1024) + b"\x08\0" * 40


def _tiff(side: int, *tags: tuple[int, int, int, int], tail: bytes = bytes(32), following: int = 0) -> bytes:
    usual = ((0x0102, 3, 1, 8), (0x0103, 3, 1, 1), (0x0106, 3, 1, 1), (0x0111, 4, 1, 200), (0x0117, 4, 1, 32))
    sizes = ((0x0100, 4, 1, side), (0x0101, 4, 1, side), (0x0116, 4, 1, side))
    entries = {tag: rest for tag, *rest in (*usual, *sizes, *tags)}
    body = b"".join(struct.pack("<HHII", tag, *rest) for tag, rest in sorted(entries.items()))
    return (b"II*\0" + struct.pack("<IH", 8, len(entries)) + body + struct.pack("<I", following)).ljust(200) + tail


def _tiff_packed() -> bytes:
    data = zlib.compress(bytes(5000 * 5000 * 2), 9)
    return _tiff(5000, (0x0103, 3, 1, 8), (0x0117, 4, 1, len(data)), tail=data)


def _tiff_tags() -> bytes:
    tags = b"".join(struct.pack("<HHII", 0x8000 + i % 0x7000, 2, 0x1000, 8) for i in range(65535))
    return b"II*\0" + struct.pack("<IH", 8, 65535) + tags + bytes(5000)


_LOOP = _tiff(8, (0x8769, 4, 1, 8), (0x014A, 4, 1, 8), following=8)
_LONG_TAG = _tiff(8, (0x010E, 2, 0xFFFFFFF0, 8))


def _avif(side: int) -> bytes:
    data = tiny.picture("AVIF")
    return _at(data, data.index(b"ispe") + 8, struct.pack(">II", side, side))


_MAKERS: Makers = {
    "png of 0 x 9": lambda: tiny.declared_png(0, 9),
    "png of one by 2^31": lambda: tiny.declared_png(1, 2**31 - 1),
    "png of 36 million by one": lambda: tiny.declared_png(36_000_000, 1),
    "png of 8K": _png(2),
    "png of 8K with transparency": _png(6),
    "png of 8K in sixteen bits": _png(0, depth=16),
    "png of 8K in grey and transparency": _png(4),
    "png of 8K, interlaced": _png(2, interlaced=1),
    "png, small, with a bomb of pixels": lambda: _chunks(_IHDR, (b"IDAT", _bomb())),
    "png with a bomb in its profile": lambda: _chunks(_IHDR, (b"iCCP", b"a\0\0" + _bomb()), _PIXELS),
    "png with a bomb in its text": lambda: _chunks(_IHDR, (b"zTXt", b"a\0\0" + _bomb()), _PIXELS),
    "png with a bomb in its other text": lambda: _chunks(_IHDR, (b"iTXt", b"a\0\1\0\0\0" + _bomb()), _PIXELS),
    "png with a thousand texts": lambda: _chunks(
        _IHDR, *[(b"zTXt", b"a\0\0" + zlib.compress(bytes(1_000_000)))] * 1000, _PIXELS
    ),
    "png whose chunk is four gigabytes": lambda: _PNG + b"\xff\xff\xff\xf0IHDR" + bytes(64),
    "png of sixty thousand frames": lambda: _frames(60_000),
    "png whose frames are bombs": lambda: _frames(1, bombs=50),
    "png of a million empty pieces": lambda: _chunks(_IHDR, *[(b"IDAT", b"")] * 1_000_000, _PIXELS),
    "jpeg of 65535 x 65535": lambda: _jpeg_of(65535),
    "jpeg of 5900 x 5900 with the pixels of 8 x 4": lambda: _jpeg_of(5900),
    "jpeg, progressive, of 5900 x 5900": lambda: _jpeg_of(5900, progressive=True),
    "jpeg, progressive, of a thousand scans": lambda: _jpeg_scans(2000, b"", 1000),
    "jpeg, progressive, of twenty thousand empty scans": lambda: _jpeg_scans(
        4000, b"\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x10\x00", 20_000, mode="L"
    ),
    "jpeg with a loop in its notes": lambda: _jpeg_with(_segment(b"\xff\xe1", b"Exif\0\0" + _LOOP)),
    "jpeg with notes of four gigabytes": lambda: _jpeg_with(_segment(b"\xff\xe1", b"Exif\0\0" + _LONG_TAG)),
    "jpeg of twenty million bytes of nothing": lambda: _jpeg_with(b"\xff" * 20_000_000),
    "jpeg that counts two billion pictures": _jpeg_pictures,
    "gif of 65535 x 65535": lambda: _gif(65535, 1),
    "gif of twenty thousand frames": lambda: _gif(64, 20_000),
    "gif whose first frame is outside": lambda: _gif(8, 1, left=60000),
    "gif whose frame is larger than it": lambda: _gif(8, 1, frame=60000),
    "gif of endless comments": lambda: b"GIF89a\x08\0\x04\0\0\0\0" + b"!\xfe\xff" + b"\xff" * 3_000_000,
    "webp of 16384 x 16384": lambda: _webp(16384),
    "webp of fifty thousand frames of 3700 x 3700": lambda: _webp_frames(3700, 50_000),
    "webp that lies of its length": lambda: _at(tiny.picture("WEBP"), 4, b"\xf0\xff\xff\x7f"),
    "bmp of 30000 x 30000": lambda: _bmp(30000, 30000),
    "bmp of a negative size": lambda: _bmp(-8, -30000),
    "bmp of run lengths, 5900 x 5900": lambda: _bmp(5900, 5900, bits=8, packed=1),
    "bmp whose pixels lie behind its end": lambda: _at(tiny.picture("BMP"), 10, b"\xff\xff\xff\x7f"),
    "tiff of 5900 x 5900 without pixels": lambda: _tiff(5900),
    "tiff whose tiles are larger than it": lambda: _tiff(
        64, (0x0142, 4, 1, 1_000_000), (0x0143, 4, 1, 1_000_000), (0x0144, 4, 1, 200), (0x0145, 4, 1, 32)
    ),
    "tiff whose pages form a loop": lambda: _LOOP,
    "tiff with a tag of four gigabytes": lambda: _LONG_TAG,
    "tiff of sixty thousand tags": _tiff_tags,
    "tiff of a fax of 6000 x 6000": lambda: _tiff(6000, (0x0102, 3, 1, 1), (0x0103, 3, 1, 4)),
    "tiff of a million strips": lambda: _tiff(8, (0x0111, 4, 1_000_000, 8)),
    "tiff packed, a bomb": _tiff_packed,
    "avif of 60000 x 60000": lambda: _avif(60000),
    "avif of 5900 x 5900": lambda: _avif(5900),
    "avif, endless boxes": lambda: tiny.picture("AVIF")[:32] + b"\0\0\0\0free" * 200_000,
    "eps by the name of png": lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(%pipe%id) (w) file\n",
}
