"""The program of a request, with the media that lie beside it."""

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
"""A fenced block; one that is never closed goes on to the end."""


class SandboxProgram(NamedTuple):
    """``inputs`` are the names of media below ``input/``, which say no more than kind
    and number."""

    code: str
    inputs: tuple[tuple[str, Media], ...] = ()


def program_of(request: Request) -> SandboxProgram | None:
    """The last code part of the last user message, else its last fenced block; None
    where it has neither."""
    asked = [message for message in request.messages if message.role == "user"]
    if not asked:
        return None
    content = asked[-1].content
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
    """All media but code, each once."""
    seen: Counter[str] = Counter()
    found: dict[Media, str] = {}
    for message in messages:
        for part in message.content.parts:
            media = part.media
            if part.kind == "code" or media is None or media in found:
                continue
            seen[part.kind] += 1
            found[media] = f"{part.kind}{seen[part.kind]}{suffix_for(media.mime)}"
    return tuple((name, media) for media, name in found.items())
