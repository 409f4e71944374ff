"""Makes pictures, films and sounds from models' pixels and samples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from mmeval.media import Media, mp4, png, wav
from mmeval.model_backends.hf.failures import RowError

Span = Literal["0..1", "-1..1", "0..255"]
"""The range of pixel values from black to white.

The caller must state the range, because a dark picture in 0..255 looks like a bright
picture in 0..1.
"""


@contextmanager
def _errors_of_row(what: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise RowError(
            "internal",
            f"cannot save the {what}: {error}; try dtype=float32 or dtype=bfloat16",
        ) from None


@_errors_of_row("picture")
def to_picture(pixels: Any, span: Span = "0..255") -> Media:
    """Converts one picture (a PIL image, a tensor or an array) to PNG.

    Shapes are (height, width), (height, width, channels) or (channels, height, width)
    with 1, 3 or 4 channels. If both orders fit, the channels of a tensor come first,
    and those of an array last. Values outside ``span`` are clipped. Equal pixels
    produce equal files.

    Raises RowError for other shapes, and for NaN or infinite pixels.
    """
    from PIL import Image

    if isinstance(pixels, Image.Image):
        if pixels.mode not in ("RGB", "RGBA", "L"):
            pixels = pixels.convert("RGB")
        return png(pixels)
    import numpy

    tensor = hasattr(pixels, "detach")
    if tensor:
        pixels = pixels.detach().float().cpu().numpy()
    array = _channels_last(numpy.asarray(pixels), tensor=tensor)
    return png(Image.fromarray(numpy.ascontiguousarray(_bytes(array, span))))


@_errors_of_row("video")
def to_film(frames: Any, frames_per_second: int, span: Span) -> Media:
    """Converts frames to an MP4 without sound.

    Shapes are (frames, channels, height, width) for a tensor, and (frames, height,
    width, channels) for an array, with 3 channels. Values outside ``span`` are clipped.
    An odd last row or column of pixels, which the format cannot hold, is left out.
    Equal frames produce equal files.

    Raises RowError for other shapes, and for NaN or infinite pixels. Raises
    MissingExtraError if the package av is missing.
    """
    import numpy

    is_tensor = hasattr(frames, "detach")
    array = (
        frames.detach().float().cpu().numpy() if is_tensor else numpy.asarray(frames)
    )
    if array.ndim != 4:
        raise ValueError(f"an array of shape {tuple(array.shape)} is not a video")
    if is_tensor:
        array = array.transpose(0, 2, 3, 1)
    height, width = (side // 2 * 2 for side in array.shape[1:3])
    even = _bytes(array[:, :height, :width], span)
    return mp4(numpy.ascontiguousarray(even), frames_per_second)


@_errors_of_row("sound")
def to_sound(samples: Any, rate: int, channels: int = 1) -> Media:
    """Converts one sound to a 16-bit WAV at ``rate`` Hz.

    ``samples`` is a tensor or array of floats in -1..1. Its shape is, for example, (n,)
    or (1, channels, n).

    Raises RowError for another number of channels, for an empty sound, and for NaN or
    infinite samples.
    """
    import numpy

    if hasattr(samples, "detach"):
        samples = samples.detach().float().cpu().numpy()
    array = numpy.asarray(samples, dtype=numpy.float32)
    has_channels = channels == 1 or array.shape[-2:-1] == (channels,)
    if not has_channels or array.size != channels * max(array.shape, default=0):
        expected = "one channel" if channels == 1 else f"{channels} channels"
        raise ValueError(
            f"an array of shape {tuple(array.shape)} is not a sound of {expected}"
        )
    if channels == 1:
        return wav(array.reshape(-1), rate)
    return wav(array.reshape(channels, -1).T, rate)


def _bytes(array: Any, span: Span) -> Any:
    """Returns pixels as whole numbers from 0 to 255."""
    import numpy

    if array.dtype == numpy.uint8 and span == "0..255":
        return array
    array = array.astype(numpy.float64)
    if not numpy.isfinite(array).all():
        raise ValueError("some pixels are NaN or infinite")
    if span == "-1..1":
        array = (array + 1.0) / 2.0
    if span != "0..255":
        array = array * 255.0
    return numpy.rint(numpy.clip(array, 0.0, 255.0)).astype(numpy.uint8)


def _channels_last(array: Any, *, tensor: bool) -> Any:
    """Returns the pixels in the shape (height, width) or (height, width, 3 or 4)."""
    if array.ndim == 3:
        channels = (1, 3, 4)
        may_be_last = array.shape[-1] in channels
        if array.shape[0] in channels and (tensor or not may_be_last):
            array = array.transpose(1, 2, 0)
    if array.ndim == 3 and array.shape[-1] == 1:
        array = array[..., 0]
    is_grey = array.ndim == 2
    is_coloured = array.ndim == 3 and array.shape[-1] in (3, 4)
    if array.size and (is_grey or is_coloured):
        return array
    raise ValueError(f"an array of shape {tuple(array.shape)} is not a picture")
