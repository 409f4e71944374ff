"""Encodes pixels and samples as media; equal content gives equal bytes."""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING, Any

from mmeval.media.media import Media

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

PNG_LEVEL = 6
"""Level of compression, fixed so that another default of the library does not change
the bytes."""


def png(picture: Image) -> Media:
    """A picture as PNG: its pixels alone (no colour profile, no text, no time)."""
    bare = picture.copy()
    bare.info = {}
    file = io.BytesIO()
    bare.save(file, "PNG", compress_level=PNG_LEVEL)
    return Media.from_bytes(file.getvalue())


def wav(
    samples: np.ndarray[Any, np.dtype[np.float32]],
    rate: int,
) -> Media:
    """Samples in -1..1 as WAV with 16 bits; values outside are clipped.

    They have the shape (n,) or (n, channels), at ``rate`` Hz.

    Raises ValueError for other shapes, for samples that are not numbers, and for none
    at all.
    """
    import numpy

    sound = numpy.asarray(samples, dtype=numpy.float32)
    if not sound.size or sound.ndim not in (1, 2) or rate <= 0:
        raise ValueError(f"no sound: samples of shape {sound.shape} at {rate} Hz")
    sound = sound.reshape(len(sound), -1)
    if not numpy.isfinite(sound).all():
        raise ValueError("some samples are not numbers (NaN or infinite)")
    clipped = numpy.clip(sound, -1.0, 1.0)
    whole = numpy.rint(clipped * 32767.0).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(whole.shape[1])
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(whole.tobytes())
    return Media.from_bytes(file.getvalue())
