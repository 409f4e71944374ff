"""Converts and encodes media for requests.

A medium is encoded once for all requests that send it at about the same time.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from mmeval.errors import ContentError
from mmeval.media import Media, Part, PartKind
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.formats import Formats, reencoded
from mmeval.model_backends.wire.media_cache import MediaCache

_CACHE = MediaCache()
_FAMILIES: Mapping[PartKind, tuple[str, ...]] = {
    "image": ("image/",),
    "video": ("video/",),
    # a video container may contain only a sound
    "audio": ("audio/", "video/"),
}


def sendable(part: Part, formats: Formats | None) -> Media:
    """Returns the medium of a part, converted if its format is not in ``formats``.

    None means that all formats can be sent. Raises CallError if the medium is not of
    the part's kind or cannot be decoded.
    """
    media = part.media
    assert media is not None  # checked by the caller
    families = _FAMILIES.get(part.kind)
    if families is not None and not media.mime.startswith(families):
        # this is a fault of the data, not of the model
        name = media.name or "a medium"
        raise CallError(
            "bad_request",
            f"the {part.kind} {name} is a file of type {media.mime} "
            f"({media.size} bytes); restore the original file",
        )
    if formats is None or formats.takes(part.kind, media):
        return media
    data = _CACHE.get(
        f"plain {part.kind} {media.sha256}",
        lambda: reencoded(part.kind, media).read(),
    )
    return Media.from_bytes(data)


def base64_of(media: Media) -> bytes:
    """Encodes a medium as base64."""
    return _CACHE.get(f"base64 {media.sha256}", lambda: base64.b64encode(media.read()))


def data_uri(part: Part, formats: Formats | None = None) -> bytes:
    """Returns a medium as a JSON string with a data URI, converted as in ``sendable``.

    Raises the same errors as ``sendable``.
    """
    media = sendable(part, formats)
    head = json.dumps(f"data:{media.mime};base64,")[:-1].encode()

    def encoded() -> bytes:
        return b'%b%b"' % (head, base64.b64encode(media.read()))

    return _CACHE.get(f"{part.kind} {media.sha256}", encoded)


def words_of(media: Media) -> str:
    """Returns the text of a document. Raises CallError if it cannot be read."""
    from mmeval.media.decode import document_text

    try:
        return document_text(media)
    except ContentError as error:
        raise CallError("bad_request", str(error)) from None
