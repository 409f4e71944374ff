"""Finds media that a server dropped, from the number of prompt tokens in its reply."""

from __future__ import annotations

from mmeval.errors import MmevalError
from mmeval.media import decode
from mmeval.media.media import Media
from mmeval.media.parts import PartKind
from mmeval.records.request import Request
from mmeval.records.response import Response

COUNTED: tuple[PartKind, ...] = ("image", "audio", "video")
"""Kinds that always add prompt tokens. Documents may be sent as text."""
MAX_CHARS = 800
"""Requests with longer texts are not checked, because the number of tokens of such a
text varies by more than a medium adds."""
CHARS_PER_TOKEN = 4.5
OVERHEAD_TOKENS = 40
"""The number of prompt tokens that a chat template may add."""
MIN_SIDE = 200
"""Minimum side of a picture in pixels. A smaller picture may add only a few tokens."""


def unread_media(request: Request, response: Response) -> tuple[PartKind, ...]:
    """Returns the kinds of media that added no prompt tokens. They were not read.

    The tuple is empty for long texts, and if the server counts no tokens. With all
    models known to us, a picture adds at least 64 tokens. So a picture with at most
    ``MAX_CHARS`` characters of text has more tokens than the text alone can have.
    """
    tokens = response.usage.input_tokens
    if not tokens or response.output is None:
        return ()
    chars = 0
    media: list[tuple[PartKind, Media]] = []
    for message in request.messages:
        for part in message.content.parts:
            if part.media is not None:
                media.append((part.kind, part.media))
            else:
                chars += len(part.raw)
    has_room = tokens > chars / CHARS_PER_TOKEN + OVERHEAD_TOKENS
    if not media or has_room or chars > MAX_CHARS:
        return ()
    kinds = dict.fromkeys(kind for kind, _ in media)
    if not all(kind in COUNTED for kind in kinds):
        return ()
    for kind, medium in media:
        if kind == "image" and not _is_large(medium):
            return ()
    return tuple(kinds)


def _is_large(picture: Media) -> bool:
    try:
        return min(decode.image(picture).size) >= MIN_SIDE
    except MmevalError:
        return False
