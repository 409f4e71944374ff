"""Finds the program of a request, with its input media."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from mmeval.media import Media, suffix_for
from mmeval.records import Message, Request

_FENCED = re.compile(
    r"^[ ]{0,3}(`{3,}+|~{3,}+)[^`\n]*\n(.*?)(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""A fenced block. An unclosed block extends to the end."""


class SandboxProgram(NamedTuple):
    """A program and its media.

    ``inputs`` are pairs of a name below ``input/`` and a medium. A name consists only
    of the kind and a number.
    """

    code: str
    inputs: tuple[tuple[str, Media], ...] = ()


def program_of(request: Request) -> SandboxProgram | None:
    """Returns the program in the last user message, or None if there is none.

    The program is the last code part, or else the last fenced block.
    """
    user_messages = [message for message in request.messages if message.role == "user"]
    if not user_messages:
        return None
    content = user_messages[-1].content
    for part in reversed(content.parts):
        if part.kind != "code" or part.dangling:
            continue
        code = part.text or ""
        if part.media is not None:
            code = part.media.read().decode(errors="replace")
        return SandboxProgram(code, _inputs(request.messages))
    blocks = _FENCED.findall(content.text)
    if not blocks:
        return None
    return SandboxProgram(blocks[-1][1], _inputs(request.messages))


def _inputs(messages: Sequence[Message]) -> tuple[tuple[str, Media], ...]:
    """Returns all media except code. A repeated medium is returned once."""
    counts: Counter[str] = Counter()
    names: dict[Media, str] = {}
    for message in messages:
        for part in message.content.parts:
            media = part.media
            if part.kind == "code" or media is None or media in names:
                continue
            counts[part.kind] += 1
            names[media] = f"{part.kind}{counts[part.kind]}{suffix_for(media.mime)}"
    return tuple((name, media) for media, name in names.items())
