"""Makes media from what a pipeline returns: PNG, MP4 and WAV."""

from __future__ import annotations

import io
from typing import Any

from mmeval.media import Media, wav
from mmeval.model_backends.hf.failures import RowError
from mmeval.model_backends.hf.generation.media import to_picture
from mmeval.system import need

_CODEC = "libx264"
_QUALITY = {"crf": "18", "preset": "medium"}


def to_film(frames: Any, fps: int) -> Media:
    """Returns an MP4 (H.264, without sound) of frames (number, height, width, 3).

    Values from 0 to 1 are from black to white; others are clipped. An odd last row or
    column of pixels is left out, which the format cannot hold. Equal frames produce
    equal files. Raises RowError for another shape, and for NaN or infinite values, and
    MissingExtraError without the package av.
    """
    import numpy

    array = numpy.asarray(frames)
    if array.ndim != 4 or array.shape[-1] != 3 or 0 in array.shape:
        raise RowError("internal", f"an array of shape {array.shape} is not a video")
    if not numpy.isfinite(array).all():
        raise RowError(
            "internal",
            "cannot save the video: some pixels are NaN or infinite; try dtype=float32 "
            "or dtype=bfloat16",
        )
    height, width = (side // 2 * 2 for side in array.shape[1:3])
    clipped = numpy.clip(array[:, :height, :width], 0.0, 1.0)
    pixels = numpy.rint(clipped * 255.0).astype(numpy.uint8)
    av = need("av", "video")
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream(_CODEC, rate=fps, options=_QUALITY)
        stream.width, stream.height = width, height
        stream.pix_fmt = "yuv420p"
        # With several threads the bytes depend on the number of processors.
        stream.thread_count = 1
        for number, picture in enumerate(pixels):
            contiguous = numpy.ascontiguousarray(picture)
            frame = av.VideoFrame.from_ndarray(contiguous, format="rgb24")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return Media.from_bytes(file.getvalue(), "film.mp4")


def to_wave(samples: Any, rate: int) -> Media:
    """Returns a 16-bit WAV of samples (n,) or (channels, n) in -1..1 at ``rate`` Hz.

    Raises RowError for another shape, no samples, and NaN or infinite samples.
    """
    import numpy

    if hasattr(samples, "detach"):
        samples = samples.detach().float().cpu().numpy()
    array = numpy.asarray(samples, dtype=numpy.float32)
    try:
        return wav(array.T, rate)
    except ValueError as error:
        raise RowError(
            "internal",
            f"cannot save the sound: {error}; try dtype=float32 or dtype=bfloat16",
        ) from None


def to_image(pixels: Any) -> Media:
    """Returns a PNG of pixels (height, width, channels) in 0..1.

    Raises RowError as ``to_picture`` does.
    """
    return to_picture(pixels, span="0..1")
