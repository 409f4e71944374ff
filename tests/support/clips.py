"""Clips of given pictures."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from mmeval.media import Media

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def clip_of(
    frames: Sequence[Pixels],
    *,
    form: str = "matroska",
    codec: str = "ffv1",
    pixels: str = "yuv420p",
    turned: int = 0,
    mirrored: bool = False,
) -> Media:
    """By default without loss of brightness; ten frames a second. Without pictures it
    has a track and no frame. Players turn it by degrees, against the clock, and then
    exchange left and right where it is ``mirrored``."""
    import av

    file = io.BytesIO()
    with av.open(file, "w", format=form) as out:
        # its class depends on the codec's name
        stream: Any = out.add_stream(codec, rate=10)
        stream.height, stream.width = frames[0].shape[:2] if frames else (32, 32)
        stream.pix_fmt = pixels
        if turned or mirrored:
            stream.set_display_rotation(turned, hflip=mirrored)
        for number, one in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(one, format="rgb24")
            frame.pts = number
            out.mux(stream.encode(frame))
        out.mux(stream.encode() if frames else [])
        if not frames:
            out.start_encoding()
    return Media.from_bytes(file.getvalue())


def greys(*shades: int, side: int = 32) -> list[Pixels]:
    return [np.full((side, side, 3), shade, np.uint8) for shade in shades]
