"""Finds media that a backend re-encodes, pictures as PNG and sounds as WAV.

Forecasts and checks use this module. The backend itself re-encodes the media.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mmeval.backend.capabilities import ANY, Capabilities
from mmeval.errors import ContentError, MissingError
from mmeval.media import decode
from mmeval.media.media import Media
from mmeval.media.parts import PartKind
from mmeval.records.request import Request

ENCODED_AS: Mapping[PartKind, str] = {"image": "PNG", "audio": "WAV"}
USUAL_FORMATS: Mapping[PartKind, frozenset[str]] = {
    "image": frozenset(("image/png", "image/jpeg", "image/webp", "image/gif")),
    "audio": frozenset(("audio/wav", "audio/mpeg")),
}
"""MIME types that are sent to servers unchanged, unless the user sets other types."""
_START_SECONDS = 0.1
"""The number of seconds of a sound that are decoded to test it."""


def encoded_anew(
    request: Request, capabilities: Capabilities
) -> Iterator[tuple[PartKind, Media]]:
    """Yields the media of a request that the backend re-encodes, with their kinds."""
    for message in request.messages:
        for part in message.content.parts:
            formats = capabilities.inputs.get(part.kind, ANY).formats
            if part.media is None or formats is None or part.media.mime in formats:
                continue
            yield part.kind, part.media


def encoding_fault(kind: PartKind, media: Media) -> str:
    """Returns why a medium cannot be re-encoded and sent.

    The string is empty if the medium can be sent.
    """
    try:
        if kind == "image":
            decode.image(media)
        else:
            decode.sound_start(media, _START_SECONDS)
    except (ContentError, MissingError) as error:
        return str(error)
    return ""
