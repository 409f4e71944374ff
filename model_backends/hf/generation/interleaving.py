"""Builds an answer from the text and media in one stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from mmeval.media import Interleaved, Media, Part, find, media_part
from mmeval.model_backends.hf.conversation.rows import RowAnswer
from mmeval.model_backends.hf.generation.blocks import BrokenBlock

AnswerPiece: TypeAlias = str | Media | BrokenBlock | Part
"""A text, a medium, a medium that cannot be decoded, or a finished part."""


def interleave(pieces: Sequence[AnswerPiece], stop: Sequence[str] = ()) -> RowAnswer:
    """Returns the answer's parts in order, up to the first stop string.

    If the text has placeholders, they set the positions of the pictures. A picture that
    cannot be decoded becomes a dangling part and a warning.
    """
    visible: list[AnswerPiece] = []
    is_stopped = False
    for piece in pieces:
        visible.append(piece)
        if not isinstance(piece, str):
            continue
        places = [piece.find(word) for word in stop]
        ends = [place for place in places if place >= 0]
        if ends:
            visible[-1] = piece[: min(ends)]
            is_stopped = True
            break
    text = "".join([piece for piece in visible if isinstance(piece, str)])
    media = [piece for piece in visible if isinstance(piece, Media)]
    broken = [piece for piece in visible if isinstance(piece, BrokenBlock)]
    parts: list[Part] = []
    if any(tag.kind == "image" for tag in find(text)):
        parts += Interleaved.from_reply(text, media).parts
        dangling = sum(part.kind == "image" and part.dangling for part in parts)
        parts += [Part("image")] * (len(broken) - dangling)
    else:
        for piece in visible:
            if isinstance(piece, str):
                parts += Interleaved.from_text(piece).parts
            elif isinstance(piece, BrokenBlock):
                parts.append(Part(piece.kind))
            elif isinstance(piece, Part):
                parts.append(piece)
            else:
                parts.append(media_part(piece))
    warnings = []
    for block in broken:
        advice = "; raise max_tokens" if block.cut else ""
        warnings.append(f"{block.reason}{advice}")
    return RowAnswer(tuple(parts), tuple(warnings), "stop" if is_stopped else None)
