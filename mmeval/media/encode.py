"""Encodes pixels and samples as media. Equal content results in equal bytes."""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING, Any

from mmeval.media.media import Media

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

PNG_LEVEL = 6
"""The compression level. It is fixed, because the library's default may change."""


def png(picture: Image) -> Media:
    """Returns the picture as PNG, without its colour profile, texts and time stamp."""
    pixels_only = picture.copy()
    pixels_only.info = {}
    file = io.BytesIO()
    pixels_only.save(file, "PNG", compress_level=PNG_LEVEL)
    return Media.from_bytes(file.getvalue())


def wav(
    samples: np.ndarray[Any, np.dtype[np.float32]],
    rate: int,
) -> Media:
    """Returns samples in -1..1 as 16-bit WAV. Values outside this range are clipped.

    ``samples`` has the shape (n,) or (n, channels), at ``rate`` Hz. Raises ValueError
    for another shape, NaN or infinite samples, or no samples.
    """
    import numpy

    sound = numpy.asarray(samples, dtype=numpy.float32)
    if not sound.size or sound.ndim not in (1, 2) or rate <= 0:
        raise ValueError(
            f"not a valid sound: samples of shape {sound.shape} at {rate} Hz"
        )
    sound = sound.reshape(len(sound), -1)
    if not numpy.isfinite(sound).all():
        raise ValueError("some samples are not numbers (NaN or infinite)")
    clipped = numpy.clip(sound, -1.0, 1.0)
    integers = numpy.rint(clipped * 32767.0).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(integers.shape[1])
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(integers.tobytes())
    return Media.from_bytes(file.getvalue())
