"""Finds media that a server dropped, by the prompt tokens of a reply."""

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
"""Longer texts are not checked: their own tokens vary by more than a medium adds."""
CHARS_PER_TOKEN = 4.5
OVERHEAD_TOKENS = 40
"""Prompt tokens of a chat template."""
MIN_SIDE = 200
"""Pixels: a smaller picture may add only a few tokens."""


def unread_media(request: Request, response: Response) -> tuple[PartKind, ...]:
    """Returns the kinds of media that added no prompt tokens, so were not read.

    The tuple is empty if the server counts no tokens, and for long texts. A picture
    adds at least 64 tokens with all models known to us. Up to ``MAX_CHARS`` characters
    of text with a picture then have more tokens than the text alone can have.
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
