"""Messages as JSON, for both interfaces: the words of the system apart, media as base64
bytes, and the model's own turns byte for byte as it wrote them.

Media have no names, since a file name such as ``cat_wrong_answer.png`` would be a hint
to the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mmeval.media import Part
from mmeval.model_backends.gemini.settings import Settings
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.media import base64_of, sendable, words_of
from mmeval.records import Message

_PAGES = ("image/png", "image/jpeg", "image/webp")
"""A document may be the picture of its page."""
_PDF = "application/pdf"
_MIMES = {
    "audio/mp4": "audio/m4a",
    "video/quicktime": "video/mov",
    "video/x-msvideo": "video/avi",
    "video/x-ms-wmv": "video/wmv",
}
"""How the interfaces call types that have another name elsewhere."""
_HERE = "<base64>"


@dataclass(frozen=True)
class MessageFormat:
    """How an interface writes a message and what it holds."""

    user: bytes
    model: bytes
    """The beginning of a message up to its list, by who speaks."""
    turn: Callable[[bytes], bytes]
    """A turn of the model, by the list of its items."""
    text: Callable[[str], bytes]
    medium: Callable[[str, str], object]
    """An item with ``_HERE`` for base64, by the kind and the MIME type of a medium."""


class GeminiInput(NamedTuple):
    """What a request holds: the words of the system, and the messages as a list."""

    system: str
    messages: bytes


def conversation(
    messages: Sequence[Message], settings: Settings, spelling: MessageFormat
) -> GeminiInput:
    """Messages as they are sent. Media of the system go with the next message of the
    user. Raises CallError ``unsupported`` for a kind that the model does not take."""
    system: list[str] = []
    carried: list[Part] = []
    rows: list[bytes] = []
    for message in messages:
        own_turn = message.turn
        if message.role == "system":
            system.append(_words(message.content.parts))
            carried += [part for part in message.content.parts if part.media]
        elif own_turn is not None and own_turn.wire == settings.wire:
            items = own_turn.items.read()
            if items.strip() != b"[]":
                rows.append(spelling.turn(items))
        else:
            parts = (*carried, *message.content.parts)
            carried = []
            rows.append(_row(message.role, parts, settings, spelling))
    if carried:
        rows.append(_row("user", carried, settings, spelling))
    return GeminiInput("\n\n".join(filter(None, system)), _listed(rows))


def _row(
    role: str, parts: Sequence[Part], settings: Settings, spelling: MessageFormat
) -> bytes:
    items: list[bytes] = []
    text = ""
    for part in parts:
        medium: bytes | str = _words((part,))
        if part.media is not None:
            medium = _medium(part, settings, spelling)
        if isinstance(medium, str):
            text += medium
            continue
        if text:
            items.append(spelling.text(text))
        items.append(medium)
        text = ""
    if text or not items:
        items.append(spelling.text(text))
    opening = spelling.model if role == "assistant" else spelling.user
    return b"".join((opening, _listed(items), b"}"))


def _listed(items: Sequence[bytes]) -> bytes:
    return b"".join((b"[", b", ".join(items), b"]"))


def _medium(
    part: Part,
    settings: Settings,
    spelling: MessageFormat,
) -> bytes | str:
    """A medium as JSON, or a document as its words."""
    if part.kind not in settings.capabilities.inputs:
        raise CallError(
            "unsupported",
            f"this model is not declared to take {part.kind} (see its argument inputs)",
        )
    media = part.media
    assert media is not None  # checked by the caller
    if part.kind == "document" and media.mime in _PAGES:
        part = replace(part, kind="image")
    elif part.kind == "document" and media.mime != _PDF:
        return f"\n[document]\n{words_of(media)}\n[end of document]\n"
    media = sendable(part, settings.formats)
    item = spelling.medium(part.kind, _MIMES.get(media.mime, media.mime))
    before, _, after = json.dumps(item).partition(_HERE)
    return b"".join((before.encode(), base64_of(media), after.encode()))


def _words(parts: Sequence[Part]) -> str:
    """Text as written: placeholders and code, no hidden reasoning."""
    words = []
    for part in parts:
        if part.kind != "reasoning" and part.media is None:
            words.append(part.raw if part.text is None else part.text)
    return "".join(words)


# --- spellings ------------------------------------------------------------------------


GENERATE = MessageFormat(
    user=b'{"role": "user", "parts": ',
    model=b'{"role": "model", "parts": ',
    turn=lambda items: b'{"role": "model", "parts": %b}' % items,
    text=lambda text: json.dumps({"text": text}).encode(),
    medium=lambda _, mime: {"inlineData": {"mimeType": mime, "data": _HERE}},
)
INTERACTIONS = MessageFormat(
    user=b'{"type": "user_input", "content": ',
    model=b'{"type": "model_output", "content": ',
    # the steps of a turn stand in the list of all
    turn=lambda items: items.strip()[1:-1],
    text=lambda text: json.dumps({"type": "text", "text": text}).encode(),
    medium=lambda kind, mime: {"type": kind, "mime_type": mime, "data": _HERE},
)
