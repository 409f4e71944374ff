"""Small media for the conformance kit, made without any extra, and some that nobody can read."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

import numpy as np

from mmeval.content import PartKind
from mmeval.encode import wav
from mmeval.media import Media

SIDE = 48
"""Pixels: larger than the patch of any vision model, so that no processor has to refuse it."""
RATE = 16_000
"""Hz."""


def small_media(kind: PartKind) -> Media:
    """A picture of colour gradients, a second of a tone, or, of other kinds, bytes that are only carried about."""
    if kind == "image":
        return Media.from_bytes(_gradient())
    if kind == "audio":
        return wav((np.sin(np.arange(RATE) / 6) / 4).astype(np.float32), RATE)
    return Media.from_bytes(f"a medium of the kind {kind}".encode())


def _gradient() -> bytes:
    """A PNG, written without pillow, which is an extra."""
    rows = [
        b"\0" + b"".join(bytes((5 * x, 5 * y, 255 - 2 * x - 2 * y)) for x in range(SIDE)) for y in range(SIDE)
    ]  # fmt: skip
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"".join(rows))),
        (b"IEND", b""),
    )
    sealed = [
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(sealed)


UNREADABLE: Mapping[PartKind, Media] = {
    "image": Media.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64)),
    "audio": Media.from_bytes(b"RIFF\x40\0\0\0WAVE" + bytes(64)),
    "video": Media.from_bytes(b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(64)),
    "document": Media.from_bytes(b"%PDF-1.7\n" + bytes(64)),
}
"""Media that begin as their kind does and then hold nothing."""
