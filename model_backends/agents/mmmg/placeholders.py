"""Placeholders of a plan: found in a reply, and filled with what was made for them.

A reply is hostile: finding and reading take time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from mmeval.media import Interleaved, Part, PartKind, text_part

Profile = Literal["standard", "official"]
_NUMBER = re.compile(r"\d{1,9}")


class Placeholder(NamedTuple):
    """``reply[start:end]`` is the whole, ``inside`` what stands between its marks."""

    start: int
    end: int
    inside: str


def find(
    reply: str, opening: str, closing: str, *, lines: bool = False
) -> list[Placeholder]:
    """The placeholders of a reply; with ``lines`` they may span several. ``closing`` is
    a pattern.

    >>> find("<a>x</a> <a>\\n</a> <a>y", "<a>", "</a>")
    [Placeholder(start=0, end=8, inside='x')]
    """
    ends = re.compile(closing if lines else rf"{closing}|\n")
    found: list[Placeholder] = []
    at = 0
    while (start := reply.find(opening, at)) >= 0:
        inside = start + len(opening)
        end = ends.search(reply, inside)
        if end is None:
            break
        at = end.end()
        if end[0] != "\n":
            found.append(Placeholder(start, at, reply[inside : end.start()]))
    return found


def number_below(written: str, limit: int) -> int | None:
    """The number that is written; None for no number, and for ``limit`` or more."""
    number = int(written) if _NUMBER.fullmatch(written) else limit
    return number if number < limit else None


def filled(
    reply: str,
    kind: PartKind,
    profile: Profile,
    places: Sequence[Placeholder],
    made: Sequence[Part | None],
) -> Interleaved:
    """The answer: the reply with a numbered placeholder in each of the valid
    ``places``, and its medium if it has one.

    Malformed placeholders stay as they are written, but for ``</image_end>``, which
    becomes ``<image_end>`` everywhere.
    """
    if profile == "official":
        return _replaced_everywhere(reply, kind, places, made)
    parts: list[Part] = []
    at = 0
    for number, (place, part) in enumerate(zip(places, made, strict=True)):
        written = f"<{kind}_start><{kind}_{number}><{kind}_end>"
        media = None if part is None else part.media
        parts.append(text_part(_one_ending(reply[at : place.start], kind)))
        parts.append(Part(kind, media=media, raw=written, label=f"{kind}{number}"))
        at = place.end
    parts.append(text_part(_one_ending(reply[at:], kind)))
    return Interleaved(tuple(part for part in parts if part.raw))


def _replaced_everywhere(
    reply: str,
    kind: PartKind,
    places: Sequence[Placeholder],
    made: Sequence[Part | None],
) -> Interleaved:
    """As the released script numbers placeholders: what stands inside of one is
    replaced wherever the reply has it.

    Of two placeholders with the same words both get the first one's number, and the
    second number is nowhere. The media keep their order.
    """
    text = _one_ending(reply, kind)
    for number, place in enumerate(places):
        text = text.replace(place.inside, f"<{kind}_{number}>")
    left = list(made)
    parts: list[Part] = []
    for part in Interleaved.from_text(text, spellings=("span",)).parts:
        own = left.pop(0) if part.kind == kind and left else None
        if own:
            part = Part(kind, media=own.media, raw=part.raw, label=part.label)  # noqa: PLW2901
        parts.append(part)
    for own in left:
        if own:
            parts.append(Part(kind, media=own.media))
    return Interleaved(tuple(parts))


def _one_ending(text: str, kind: PartKind) -> str:
    return text.replace(f"</{kind}_end>", f"<{kind}_end>")
