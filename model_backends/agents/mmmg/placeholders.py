"""Finds the placeholders of a plan in a reply, and fills them with media.

A reply may be hostile, so the running time of both steps is linear in the reply's
length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from mmeval.media import Interleaved, Part, PartKind, text_part

Profile = Literal["standard", "official"]
_NUMBER = re.compile(r"\d{1,9}")


class Placeholder(NamedTuple):
    """A placeholder: ``reply[start:end]``. ``inside`` is the text between its marks."""

    start: int
    end: int
    inside: str


def find_placeholders(
    reply: str, opening: str, closing: str, *, lines: bool = False
) -> list[Placeholder]:
    """Finds the placeholders of a reply.

    ``closing`` is a regular expression. With ``lines`` a placeholder may span several
    lines.

    >>> find_placeholders("<a>x</a> <a>\\n</a> <a>y", "<a>", "</a>")
    [Placeholder(start=0, end=8, inside='x')]
    """
    ends = re.compile(closing if lines else rf"{closing}|\n")
    placeholders: list[Placeholder] = []
    position = 0
    while (start := reply.find(opening, position)) >= 0:
        inside = start + len(opening)
        end = ends.search(reply, inside)
        if end is None:
            break
        position = end.end()
        if end[0] != "\n":
            placeholders.append(
                Placeholder(start, position, reply[inside : end.start()])
            )
    return placeholders


def number_below(text: str, limit: int) -> int | None:
    """Returns the number in a text, or None if it is not a number below ``limit``."""
    number = int(text) if _NUMBER.fullmatch(text) else limit
    return number if number < limit else None


def fill_placeholders(
    reply: str,
    kind: PartKind,
    profile: Profile,
    places: Sequence[Placeholder],
    media_parts: Sequence[Part | None],
) -> Interleaved:
    """Numbers the reply's valid placeholders, and adds the media that were made.

    Malformed placeholders are kept unchanged, with one exception: every
    ``</image_end>`` becomes ``<image_end>``.
    """
    if profile == "official":
        return _fill_as_released(reply, kind, places, media_parts)
    parts: list[Part] = []
    position = 0
    for number, (place, part) in enumerate(zip(places, media_parts, strict=True)):
        placeholder = f"<{kind}_start><{kind}_{number}><{kind}_end>"
        media = None if part is None else part.media
        parts.append(text_part(_one_ending(reply[position : place.start], kind)))
        parts.append(Part(kind, media=media, raw=placeholder, label=f"{kind}{number}"))
        position = place.end
    parts.append(text_part(_one_ending(reply[position:], kind)))
    return Interleaved(tuple(part for part in parts if part.raw))


def _fill_as_released(
    reply: str,
    kind: PartKind,
    places: Sequence[Placeholder],
    media_parts: Sequence[Part | None],
) -> Interleaved:
    """Numbers the placeholders like the released script.

    The script replaces the text inside a placeholder everywhere in the reply. So two
    placeholders with equal text both get the first number, and the second number does
    not occur. The media keep their order.
    """
    text = _one_ending(reply, kind)
    for number, place in enumerate(places):
        text = text.replace(place.inside, f"<{kind}_{number}>")
    remaining = list(media_parts)
    parts: list[Part] = []
    for part in Interleaved.from_text(text, spellings=("span",)).parts:
        medium_part = remaining.pop(0) if part.kind == kind and remaining else None
        if medium_part:
            part = Part(kind, media=medium_part.media, raw=part.raw, label=part.label)  # noqa: PLW2901
        parts.append(part)
    for medium_part in remaining:
        if medium_part:
            parts.append(Part(kind, media=medium_part.media))
    return Interleaved(tuple(parts))


def _one_ending(text: str, kind: PartKind) -> str:
    return text.replace(f"</{kind}_end>", f"<{kind}_end>")
