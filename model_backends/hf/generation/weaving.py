"""Makes an answer of the words and media in one stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from mmeval.media import Interleaved, Media, Part, find, media_part
from mmeval.model_backends.hf.conversation.rows import Made
from mmeval.model_backends.hf.generation.blocks import BrokenBlock

Said: TypeAlias = str | Media | BrokenBlock | Part
"""Words, a medium, a started medium that cannot be made, or a part that is one
already."""


def woven(said: Sequence[Said], stop: Sequence[str] = ()) -> Made:
    """The answer's parts in order, up to the first stop word. Placeholders in the
    words, if any, place the pictures; one that cannot be drawn is a dangling part and a
    warning."""
    shown, stopped = _until(said, stop)
    broken = [piece for piece in shown if isinstance(piece, BrokenBlock)]
    text = "".join(piece for piece in shown if isinstance(piece, str))
    if any(tag.kind == "image" for tag in find(text)):
        parts = Interleaved.from_reply(
            text, [piece for piece in shown if isinstance(piece, Media)]
        ).parts
        dangling = sum(part.kind == "image" and part.dangling for part in parts)
        parts = (*parts, *[Part("image")] * (len(broken) - dangling))
    else:
        parts = tuple(part for piece in shown for part in _parts(piece))
    return Made(
        parts,
        tuple(
            f"{one.reason}; raise max_tokens" if one.cut else one.reason
            for one in broken
        ),
        "stop" if stopped else None,
    )


def _until(said: Sequence[Said], stop: Sequence[str]) -> tuple[list[Said], bool]:
    """The pieces before the first stop word, and whether there is one."""
    shown: list[Said] = []
    for piece in said:
        ends = (
            [at for word in stop if (at := piece.find(word)) >= 0]
            if isinstance(piece, str)
            else []
        )
        if isinstance(piece, str) and ends:
            return [*shown, piece[: min(ends)]], True
        shown.append(piece)
    return shown, False


def _parts(piece: Said) -> Sequence[Part]:
    if isinstance(piece, str):
        return Interleaved.from_text(piece).parts
    if isinstance(piece, BrokenBlock):
        return [Part(piece.kind)]
    return [piece if isinstance(piece, Part) else media_part(piece)]
