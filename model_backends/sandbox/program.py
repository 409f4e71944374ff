"""The program of a request, with the media that lie beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from mmeval.media import Media, Part, suffix_for
from mmeval.records import Message, Request

_FENCED = re.compile(
    r"^[ ]{0,3}(`{3,}+|~{3,}+)[^`\n]*\n(.*?)(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""A fenced block; one that is never closed goes on to the end."""


class Program(NamedTuple):
    """``inputs`` are the names of media below ``input/``, which say no more than kind
    and number."""

    code: str
    inputs: tuple[tuple[str, Media], ...] = ()


def program_of(request: Request) -> Program | None:
    """The last code part of the last user message, else its last fenced block; None
    where it has neither."""
    asked = [message for message in request.messages if message.role == "user"]
    code = _code(asked[-1]) if asked else None
    return None if code is None else Program(code, _inputs(request.messages))


def _code(message: Message) -> str | None:
    parts = [
        part
        for part in message.content.parts
        if part.kind == "code" and not part.dangling
    ]
    if parts:
        return _words(parts[-1])
    blocks = _FENCED.findall(message.content.text)
    return blocks[-1][1] if blocks else None


def _words(part: Part) -> str:
    return (
        part.media.read().decode(errors="replace")
        if part.media is not None
        else part.text or ""
    )


def _inputs(messages: Sequence[Message]) -> tuple[tuple[str, Media], ...]:
    """All media but code, each once."""
    seen: Counter[str] = Counter()
    found: dict[Media, str] = {}
    for part in (
        part
        for message in messages
        for part in message.content.parts
        if part.kind != "code"
    ):
        if part.media is not None and part.media not in found:
            seen[part.kind] += 1
            found[part.media] = (
                f"{part.kind}{seen[part.kind]}{suffix_for(part.media.mime)}"
            )
    return tuple((name, media) for media, name in found.items())
