"""Opening what holds sound or pictures in time, for the decoders of both."""

from __future__ import annotations

import io
from typing import Any

from mmeval.errors import CorruptMediaError
from mmeval.media import Media

AV_FORMATS = {
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
    "video/ogg": "ogg",
    "video/x-flv": "flv",
    "image/gif": "gif",
}
"""The reader is named, never guessed: a guess may find a playlist, and playlists open other files."""


def opened(media: Media, data: bytes) -> Any:
    """An opened PyAV container (untyped: the package is optional), which closes itself as a context."""
    import av

    name = AV_FORMATS.get(media.mime)
    if name is None:
        raise CorruptMediaError(f"{media.label}: it is {media.mime}, not a video")
    return av.open(io.BytesIO(data), format=name, metadata_errors="replace", options={"protocol_whitelist": "none"})
