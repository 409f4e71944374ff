"""Hostile pictures."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from tests.support import tiny_media as tiny
from tests.support.hostile.case import Hostile, named

_PNG = b"\x89PNG\r\n\x1a\n"
_SIZE_OF_BOMB = 50_000_000


def cases() -> tuple[Hostile, ...]:
    makers: dict[str, Callable[[], bytes]] = {
        **{f"png of {w} x {h}": _declared(w, h) for w, h in _SIZES},
        "png, one chunk too few": lambda: tiny.picture()[:-12],
        "png, cut in the middle": lambda: tiny.picture(size=(400, 400))[:300],
        "png of 8K in a few kilobytes": lambda: _png(7680, 4320, 2),
        "png of 8K with transparency": lambda: _png(7680, 4320, 6),
        "png of 8K in sixteen bits": lambda: _png(7680, 4320, 0, depth=16),
        "png of 8K in sixteen bits of colour": lambda: _png(7680, 4320, 2, depth=16),
        "png of 8K in grey and transparency": lambda: _png(7680, 4320, 4),
        "png of 8K, interlaced": lambda: _png(7680, 4320, 2, interlaced=1),
        "png, small, with a bomb of pixels": lambda: _chunks(_header(8, 8, 2), (b"IDAT", _bomb())),
        "png with a bomb in its profile": lambda: _chunks(_header(8, 8, 2), (b"iCCP", b"a\0\0" + _bomb()), _pixels()),
        "png with a bomb in its text": lambda: _chunks(_header(8, 8, 2), (b"zTXt", b"a\0\0" + _bomb()), _pixels()),
        "png with a bomb in its other text": lambda: _chunks(
            _header(8, 8, 2), (b"iTXt", b"a\0\1\0\0\0" + _bomb()), _pixels()
        ),
        "png with a thousand texts": lambda: _chunks(
            _header(8, 8, 2), *[(b"zTXt", b"a\0\0" + zlib.compress(bytes(1_000_000)))] * 1000, _pixels()
        ),
        "png whose chunk is four gigabytes": lambda: _PNG + b"\xff\xff\xff\xf0IHDR" + bytes(64),
        "png whose palette is missing": lambda: _png(64, 64, 3),
        "png of sixty thousand frames": _apng,
        "png of no known kind": lambda: _png(8, 8, 5),
        "jpeg of 65535 x 65535": lambda: _jpeg_of(65535, 65535),
        "jpeg of 5900 x 5900 with the pixels of 8 x 4": lambda: _jpeg_of(5900, 5900),
        "jpeg, progressive, of 5900 x 5900": lambda: _jpeg_of(5900, 5900, progressive=True),
        "jpeg, progressive, of a thousand scans": _jpeg_scans,
        "jpeg, cut in its header": lambda: tiny.picture("JPEG")[:200],
        "jpeg, cut in its pixels": lambda: tiny.picture("JPEG", size=(200, 200))[:-40],
        "jpeg with a loop in its notes": lambda: _exif(_tiff_loop()),
        "jpeg with notes of four gigabytes": lambda: _exif(_tiff_of(8, 4, (0x010E, 2, 0xFFFFFFF0, 8))),
        "png of a million empty pieces": lambda: _chunks(_header(8, 8, 2), *[(b"IDAT", b"")] * 1_000_000, _pixels()),
        "png of a million chunks of no known kind": lambda: _chunks(
            _header(8, 8, 2), *[(b"abCd", b"")] * 1_000_000, _pixels()
        ),
        "png whose frames are bombs": _apng_bombs,
        "jpeg, progressive, of twenty thousand empty scans": _jpeg_empty_scans,
        "jpeg of two million comments": lambda: _jpeg_with(b"\xff\xfe\0\x02" * 2_000_000),
        "jpeg of twenty million bytes of nothing": lambda: _jpeg_with(b"\xff" * 20_000_000),
        "jpeg that counts two billion pictures": _jpeg_pictures,
        "webp of fifty thousand frames of 3700 x 3700": lambda: _webp_frames(3700, 3700, 50_000),
        "tiff whose tiles are larger than it": lambda: _tiff_of(
            64, 64, (0x0142, 4, 1, 1_000_000), (0x0143, 4, 1, 1_000_000), (0x0144, 4, 1, 200), (0x0145, 4, 1, 32)
        ),
        "tiff of sixty thousand tags": _tiff_tags,
        "tiff of a fax of 6000 x 6000": lambda: _tiff_of(6000, 6000, (0x0102, 3, 1, 1), (0x0103, 3, 1, 4)),
        "gif of 65535 x 65535": lambda: _gif(65535, 65535, 1),
        "gif of twenty thousand frames": lambda: _gif(64, 64, 20_000),
        "gif whose first frame is outside": lambda: _gif(8, 4, 1, left=60000, top=60000),
        "gif whose frame is larger than it": lambda: _gif(8, 4, 1, frame=(60000, 60000)),
        "gif without an end": lambda: tiny.picture("GIF")[:-2],
        "gif of endless comments": lambda: b"GIF89a\x08\0\x04\0\0\0\0" + b"!\xfe\xff" + b"\xff" * 3_000_000,
        "webp of 16384 x 16384": lambda: _webp(16384, 16384),
        "webp, animated, of 16384 x 16384": lambda: _webp_frames(16384, 16384),
        "webp that lies of its length": lambda: _at(tiny.picture("WEBP"), 4, b"\xf0\xff\xff\x7f"),
        "webp, cut": lambda: tiny.picture("WEBP", size=(64, 64))[:-8],
        "bmp of 30000 x 30000": lambda: _bmp(30000, 30000),
        "bmp of a negative size": lambda: _bmp(-8, -30000),
        "bmp of run lengths, 5900 x 5900": lambda: _bmp(5900, 5900, bits=8, packed=1),
        "bmp whose pixels lie behind its end": lambda: _at(tiny.picture("BMP"), 10, b"\xff\xff\xff\x7f"),
        "tiff of 50000 x 50000": lambda: _tiff_of(50000, 50000),
        "tiff of 5900 x 5900 without pixels": lambda: _tiff_of(5900, 5900),
        "tiff whose pages form a loop": _tiff_loop,
        "tiff with a tag of four gigabytes": lambda: _tiff_of(8, 4, (0x010E, 2, 0xFFFFFFF0, 8)),
        "tiff of a billion samples": lambda: _tiff_of(8, 4, (0x0115, 3, 1, 65535)),
        "tiff of a million strips": lambda: _tiff_of(8, 4, (0x0111, 4, 1_000_000, 8)),
        "tiff packed, a bomb": lambda: _tiff_packed(5000, 5000),
        "tiff whose tags lie behind its end": lambda: b"II*\0\xf0\xff\xff\xff" + bytes(64),
        "avif of 60000 x 60000": lambda: _avif(60000, 60000),
        "avif of 5900 x 5900": lambda: _avif(5900, 5900),
        "avif, cut": lambda: tiny.picture("AVIF", size=(64, 64))[:-20],
        "avif, endless boxes": lambda: tiny.picture("AVIF")[:32] + b"\0\0\0\0free" * 200_000,
        "heic": lambda: b"\0\0\0\x18ftypheic\0\0\0\0heicmif1" + bytes(100),
        "eps by the name of png": lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(%pipe%id) (w) file\n",
    }
    return named("picture", ("image",), makers)


_SIZES = ((0, 0), (0, 9), (1, 2**31 - 1), (2**31 - 1, 2**31 - 1), (65535, 65535), (9000, 9000), (36_000_000, 1))


def _declared(width: int, height: int) -> Callable[[], bytes]:
    return lambda: tiny.declared_png(width, height)


def _at(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


def _chunks(*chunks: tuple[bytes, bytes]) -> bytes:
    return _PNG + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (*chunks, (b"IEND", b""))
    )


def _header(width: int, height: int, colour: int, depth: int = 8, interlaced: int = 0) -> tuple[bytes, bytes]:
    return b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)


def _pixels() -> tuple[bytes, bytes]:
    return b"IDAT", zlib.compress((b"\0" + bytes(24)) * 8)


def _bomb() -> bytes:
    return zlib.compress(bytes(_SIZE_OF_BOMB), 9)


def _png(width: int, height: int, colour: int, *, depth: int = 8, interlaced: int = 0) -> bytes:
    """A whole picture in which nothing is to be seen."""
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 5: 1, 6: 4}[colour]
    packer = zlib.compressobj(9)
    row = bytes(1 + width * samples * depth // 8)
    data = b"".join(packer.compress(row) for _ in range(height + height * interlaced)) + packer.flush()
    return _chunks(_header(width, height, colour, depth, interlaced), (b"IDAT", data))


def _apng() -> bytes:
    control = (b"fcTL", struct.pack(">IIIIIHHBB", 0, 8, 8, 0, 0, 1, 10, 0, 0))
    return _chunks(_header(8, 8, 2), (b"acTL", struct.pack(">II", 60_000, 0)), *[control] * 60_000, _pixels())


def _jpeg_of(width: int, height: int, *, progressive: bool = False) -> bytes:
    data = tiny.picture("JPEG", progressive=progressive)
    at = data.index(b"\xff\xc2" if progressive else b"\xff\xc0")
    return _at(data, at + 5, struct.pack(">HH", height, width))


def _jpeg_scans() -> bytes:
    data = tiny.picture("JPEG", size=(2000, 2000), progressive=True)
    at = data.rindex(b"\xff\xda")
    return data[:at] + data[at:-2] * 1000 + data[-2:]


def _jpeg_empty_scans() -> bytes:
    data = tiny.picture("JPEG", size=(4000, 4000), mode="L", progressive=True)
    return data[:-2] + b"\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x10\x00" * 20_000 + data[-2:]


def _jpeg_with(segments: bytes) -> bytes:
    data = tiny.picture("JPEG")
    return data[:2] + segments + data[2:]


def _jpeg_pictures() -> bytes:
    tags = ((0xB000, 7, 4, 0x30303130), (0xB001, 4, 1, 0x7FFFFFFF), (0xB002, 7, 0x7FFFFFF0, 50))
    listed = b"MPF\0II*\0" + struct.pack("<IH", 8, 3) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(68)
    return _jpeg_with(b"\xff\xe2" + struct.pack(">H", len(listed) + 2) + listed)


def _apng_bombs() -> bytes:
    size = (8, 8, 0, 0, 1, 10, 0, 0)
    frames = [(b"fcTL", struct.pack(">IIIIIHHBB", 0, *size)), _pixels()]
    for number in range(1, 100, 2):
        frames += [(b"fcTL", struct.pack(">IIIIIHHBB", number, *size))]
        frames += [(b"fdAT", struct.pack(">I", number + 1) + _bomb())]
    return _chunks(_header(8, 8, 2), (b"acTL", struct.pack(">II", 51, 0)), *frames)


def _tiff_tags() -> bytes:
    tags = b"".join(struct.pack("<HHII", 0x8000 + i % 0x7000, 2, 0x1000, 8) for i in range(65535))
    return b"II*\0" + struct.pack("<IH", 8, 65535) + tags + bytes(5000)


def _exif(tiff: bytes) -> bytes:
    data = tiny.picture("JPEG")
    notes = b"Exif\0\0" + tiff[:60000]
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(notes) + 2) + notes + data[2:]


def _gif(
    width: int, height: int, frames: int, *, left: int = 0, top: int = 0, frame: tuple[int, int] = (8, 4)
) -> bytes:
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    one = b"," + struct.pack("<HHHHB", left, top, *frame, 0) + b"\x02\x02\x44\x01\0"
    return head + one * frames + b";"


def _webp(width: int, height: int) -> bytes:
    bits = (width - 1) | (height - 1) << 14
    body = b"VP8L" + struct.pack("<I", 10) + b"\x2f" + struct.pack("<I", bits & 0xFFFFFFFF) + bytes(5)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def _webp_frames(width: int, height: int, count: int = 1) -> bytes:
    size = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    still = tiny.picture("WEBP")[12:]
    frame = b"\0" * 6 + size + b"\0\0\0\0" + still
    parts = (
        b"VP8X" + struct.pack("<I", 10) + b"\x02\0\0\0" + size,
        b"ANIM" + struct.pack("<I", 6) + bytes(6),
        (b"ANMF" + struct.pack("<I", len(frame)) + frame) * count,
    )
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _bmp(width: int, height: int, *, bits: int = 24, packed: int = 0) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, packed, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 200, 0, 0, 54 + 1024) + info + bytes(1024) + b"\x08\0" * 40


def _tiff_of(width: int, height: int, *tags: tuple[int, int, int, int], tail: bytes = b"", following: int = 0) -> bytes:
    entries = {
        0x0100: (4, 1, width),
        0x0101: (4, 1, height),
        0x0102: (3, 1, 8),
        0x0103: (3, 1, 1),
        0x0106: (3, 1, 1),
        0x0111: (4, 1, 200),
        0x0116: (4, 1, height),
        0x0117: (4, 1, 32),
        **{tag: rest for tag, *rest in tags},
    }
    body = b"".join(struct.pack("<HHII", tag, *rest) for tag, rest in sorted(entries.items()))
    return (b"II*\0" + struct.pack("<IH", 8, len(entries)) + body + struct.pack("<I", following)).ljust(200) + (
        tail or bytes(32)
    )


def _tiff_loop() -> bytes:
    return _tiff_of(8, 4, (0x8769, 4, 1, 8), (0x014A, 4, 1, 8), following=8)


def _tiff_packed(width: int, height: int) -> bytes:
    data = zlib.compress(bytes(width * height * 2), 9)
    return _tiff_of(width, height, (0x0103, 3, 1, 8), (0x0117, 4, 1, len(data)), tail=data)


def _avif(width: int, height: int) -> bytes:
    data = tiny.picture("AVIF")
    return _at(data, data.index(b"ispe") + 8, struct.pack(">II", width, height))
