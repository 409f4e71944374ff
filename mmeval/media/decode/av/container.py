"""Opens audio and video containers for the decoders of sound and video."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from mmeval.errors import CorruptMediaError
from mmeval.media.decode.container_header import check_tables, has_descriptions
from mmeval.media.decode.guard import decoding, not_read
from mmeval.media.decode.limits import DecodeLimits
from mmeval.media.media import Media

AV_FORMATS = {
    "audio/wav": "wav",
    "audio/mp4": "mp4",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/webm": "matroska",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/webm": "matroska",
    "video/x-matroska": "matroska",
    "video/x-msvideo": "avi",
    "video/mpeg": "mpeg",
    "video/mp2t": "mpegts",
    "video/ogg": "ogg",
    "video/x-flv": "flv",
    "image/gif": "gif",
}
"""The name of PyAV's reader for each MIME type.

The reader is always set explicitly. Otherwise PyAV could take a file for a playlist,
and a playlist opens other files.
"""
_BOXED = ("mp4", "mov")
"""The readers of MP4 and related formats."""
_FAR_ABOVE = 4
"""A picture with more than this multiple of ``max_video_pixels`` is not decoded.

A picture that exceeds the limit by less is decoded, so that the error can state its
actual size.
"""


def opened(
    media: Media,
    data: bytes,
    limits: DecodeLimits,
) -> Any:
    """Returns an opened PyAV container as a context manager.

    The type is ``Any``, because PyAV is optional.

    Pictures far above ``max_video_pixels`` are not decoded, even if the codec declares
    another size than the container. Raises the errors of this package and of PyAV.
    """
    import av

    name = AV_FORMATS.get(media.mime)
    if name is None:
        raise not_read(media, ["video"], "which is not decoded as a video")
    if name in _BOXED:
        with decoding(media, "a film or a sound"):
            check_tables(data)
    most = {"max_pixels": str(_FAR_ABOVE * limits.max_video_pixels)}
    options = {"protocol_whitelist": "none", **most}
    container = av.open(
        io.BytesIO(data), format=name, metadata_errors="replace", options=options
    )
    for stream in container.streams.video:
        # The context is None for a codec without a decoder.
        if stream.codec_context is not None:
            stream.codec_context.options = most
    return container


def require_codec(
    stream: Any,
    media: Media,
    data: bytes,
) -> None:
    """Checks that PyAV knows the codec of a stream.

    Raises NotImplementedError if the codec is unknown. Raises CorruptMediaError instead
    if the description of the codec is damaged.
    """
    if stream.codec_context is not None:
        return
    is_boxed = AV_FORMATS.get(media.mime) in _BOXED
    if is_boxed and not has_descriptions(data):
        raise CorruptMediaError(
            f"{media.label}: the description of one of its tracks is damaged"
        )
    raise NotImplementedError("its codec is unknown")


def decoded(
    container: Any,
    stream: Any,
    *,
    has_begun: bool = False,
) -> Iterator[Any]:
    """Yields the frames of a stream, from the current position.

    If the first frame could be decoded, the codec is supported. Therefore, if a later
    frame raises NotImplementedError, the medium is damaged, and this raises ValueError.
    """
    import av

    try:
        for frame in container.decode(stream):
            has_begun = True
            yield frame
    except av.error.PatchWelcomeError as error:
        if has_begun:
            raise ValueError("the data after its first frames is damaged") from error
        raise
