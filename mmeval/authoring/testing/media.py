"""Small media and unreadable media for conformance checks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mmeval.media.encode import png, wav
from mmeval.media.media import Media
from mmeval.media.parts import PartKind

SIDE = 48
"""The width and height in pixels. They are larger than the patch of any vision model,
so that no processor rejects the picture."""
RATE = 16_000
"""The sampling rate in Hz."""


def small_media(kind: PartKind, number: int = 0) -> Media:
    """Returns a picture of colour gradients, one second of a tone, or bytes for other
    kinds. Each number leads to a different medium."""
    if kind == "image":
        from PIL import Image

        y, x = np.mgrid[:SIDE, :SIDE]
        blue = (255 - 2 * x - 2 * y + number) % 256
        gradients = np.stack([5 * x, 5 * y, blue], axis=-1)
        return png(Image.fromarray(gradients.astype(np.uint8)))
    if kind == "audio":
        tone = np.sin(np.arange(RATE) / (6 + number)) / 4
        return wav(tone.astype(np.float32), RATE)
    return Media.from_bytes(f"medium {number} of the kind {kind}".encode())


UNREADABLE: Mapping[PartKind, Media] = {
    "image": Media.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64)),
    "audio": Media.from_bytes(b"RIFF\x40\0\0\0WAVE" + bytes(64)),
    "video": Media.from_bytes(b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(64)),
    "document": Media.from_bytes(b"%PDF-1.7\n" + bytes(64)),
}
"""Media that start with the usual first bytes of their format but have no content."""
