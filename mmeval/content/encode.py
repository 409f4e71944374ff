"""Encodes pixels and samples as media; equal content gives equal bytes."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from typing import TYPE_CHECKING, Any

from mmeval.content.media import Media

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

PNG_LEVEL = 6
"""Level of compression, fixed so that another default of the library does not change the bytes."""


def png(picture: Image) -> Media:
    """A picture as PNG: its pixels alone (no colour profile, no text, no time)."""
    bare = picture.copy()
    bare.info = {}
    file = io.BytesIO()
    bare.save(file, "PNG", compress_level=PNG_LEVEL)
    return Media.from_bytes(file.getvalue())


def rgb_png(pixels: bytes, width: int) -> Media:
    """Pixels as PNG, without pillow (an extra): 8 bits of red, green, blue, by rows.

    ``width`` is the pixels of a row. Raises ValueError for pixels that do not fill their rows, and for no pixels.
    """
    stride = 3 * width
    if width <= 0 or not pixels or len(pixels) % stride:
        raise ValueError(f"no picture: {len(pixels)} bytes in rows of {width} pixels")
    rows = b"".join(b"\0" + pixels[at : at + stride] for at in range(0, len(pixels), stride))
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, len(pixels) // stride, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, PNG_LEVEL)),
        (b"IEND", b""),
    )
    file = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks:
        file += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return Media.from_bytes(file)


def wav(samples: np.ndarray[Any, np.dtype[np.float32]], rate: int) -> Media:
    """Samples in -1..1 as WAV with 16 bits; values outside are clipped.

    They have the shape (n,) or (n, channels), at ``rate`` Hz.

    Raises ValueError for other shapes, for samples that are no numbers, and for none at all.
    """
    import numpy

    sound = numpy.asarray(samples, dtype=numpy.float32)
    if not sound.size or sound.ndim not in (1, 2) or rate <= 0:
        raise ValueError(f"no sound: samples of shape {sound.shape} at {rate} Hz")
    sound = sound.reshape(len(sound), -1)
    if not numpy.isfinite(sound).all():
        raise ValueError("some samples are not numbers (NaN or infinite)")
    whole = numpy.rint(numpy.clip(sound, -1.0, 1.0) * 32767.0).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(whole.shape[1])
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(whole.tobytes())
    return Media.from_bytes(file.getvalue())
