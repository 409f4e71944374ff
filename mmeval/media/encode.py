"""Encodes pixels and samples as media.

Equal content results in equal bytes, also on a machine with more cores.
"""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING, Any

from mmeval.media.media import Media
from mmeval.system.extras import need

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

PNG_LEVEL = 6
"""The compression level. It is fixed, because the library's default may change."""
FILM_CODEC = "libx264"
"""H.264, which browsers and the readers of judges play."""
FILM_QUALITY = "16"
"""The constant rate factor of films. Differences to the frames are hardly visible."""


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


def mp4(
    frames: np.ndarray[Any, np.dtype[np.uint8]],
    frames_per_second: int,
) -> Media:
    """Returns a film without sound as MP4 (H.264).

    ``frames`` has the shape (frames, height, width, 3), with even height and width.

    Raises ValueError for another shape or no frames, and MissingExtraError if the
    package av is missing.
    """
    shape = frames.shape
    is_film = len(shape) == 4 and shape[3] == 3 and frames.size > 0
    if not is_film or shape[1] % 2 or shape[2] % 2 or frames_per_second <= 0:
        raise ValueError(
            f"not a valid film: frames of shape {shape} at {frames_per_second} a second"
        )
    av = need("av", "video")
    file = io.BytesIO()
    # otherwise the file names the version of its writer
    with av.open(file, "w", format="mp4", options={"fflags": "+bitexact"}) as film:
        stream = film.add_stream(
            FILM_CODEC,
            rate=frames_per_second,
            options={"crf": FILM_QUALITY},
        )
        stream.height, stream.width = shape[1:3]
        stream.pix_fmt = "yuv420p"
        # the bytes may depend on the number of threads
        stream.codec_context.thread_count = 1
        for pixels in frames:
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            film.mux(stream.encode(frame))
        film.mux(stream.encode())
    return Media.from_bytes(file.getvalue())
