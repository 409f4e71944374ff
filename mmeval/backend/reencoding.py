"""Media in formats that a backend does not take, and encodes anew: pictures as PNG,
sounds as WAV. For forecasts and checks; the backend itself encodes them."""

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
"""MIME types that servers take as they are, unless their user states others."""
_START_SECONDS = 0.1
"""Of a sound, what is decoded to know whether it can be."""


def encoded_anew(
    request: Request, capabilities: Capabilities
) -> Iterator[tuple[PartKind, Media]]:
    """The media of a request that the backend encodes anew."""
    for message in request.messages:
        for part in message.content.parts:
            formats = capabilities.inputs.get(part.kind, ANY).formats
            if part.media is None or formats is None or part.media.mime in formats:
                continue
            yield part.kind, part.media


def encoding_fault(kind: PartKind, media: Media) -> str:
    """Why a medium cannot be encoded anew, and so not be sent; empty where it can."""
    try:
        if kind == "image":
            decode.image(media)
        else:
            decode.sound_start(media, _START_SECONDS)
    except (ContentError, MissingError) as error:
        return str(error)
    return ""
