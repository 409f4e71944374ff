"""Writes messages as JSON for both interfaces.

System messages are separate, media are base64, and the model's own turns are sent byte
for byte. Media have no names, because a file name such as ``cat_wrong_answer.png``
would be a hint to the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mmeval.media import Part
from mmeval.model_backends.gemini.settings import GeminiSettings
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.media import base64_of, sendable, words_of
from mmeval.records import Message

_PAGES = ("image/png", "image/jpeg", "image/webp")
"""MIME types of documents that are pictures of a page."""
_PDF = "application/pdf"
_MIMES = {
    "audio/mp4": "audio/m4a",
    "video/quicktime": "video/mov",
    "video/x-msvideo": "video/avi",
    "video/x-ms-wmv": "video/wmv",
}
"""The MIME types for which the interfaces use other names.

The keys are the usual names.
"""
_BASE64 = "<base64>"


@dataclass(frozen=True)
class MessageFormat:
    """The format of messages and their items in an interface."""

    user: bytes
    model: bytes
    """The start of a model's message, up to the list of items.

    ``user`` is the start of a user's message.
    """
    turn: Callable[[bytes], bytes]
    """Returns a turn of the model, given the JSON list of its items."""
    text: Callable[[str], bytes]
    medium: Callable[[str, str], object]
    """Returns an item, given the kind and MIME type of a medium.

    ``_BASE64`` marks the position of the data.
    """


class GeminiInput(NamedTuple):
    """The content of a request: the system text, and the messages as a JSON list."""

    system: str
    messages: bytes


def conversation(
    messages: Sequence[Message], settings: GeminiSettings, message_format: MessageFormat
) -> GeminiInput:
    """Returns the input for the messages of a request.

    Media of system messages move to the next user message. Raises CallError
    ``unsupported`` for a kind that the model does not take.
    """
    system: list[str] = []
    carried: list[Part] = []
    rows: list[bytes] = []
    for message in messages:
        turn = message.turn
        if message.role == "system":
            system.append(_words(message.content.parts))
            carried += [part for part in message.content.parts if part.media]
        elif turn is not None and turn.wire == settings.wire:
            items = turn.items.read()
            if items.strip() != b"[]":
                rows.append(message_format.turn(items))
        else:
            parts = (*carried, *message.content.parts)
            carried = []
            rows.append(_row(message.role, parts, settings, message_format))
    if carried:
        rows.append(_row("user", carried, settings, message_format))
    return GeminiInput("\n\n".join(filter(None, system)), _json_list(rows))


def _row(
    role: str,
    parts: Sequence[Part],
    settings: GeminiSettings,
    message_format: MessageFormat,
) -> bytes:
    items: list[bytes] = []
    text = ""
    for part in parts:
        medium: bytes | str = _words((part,))
        if part.media is not None:
            medium = _medium(part, settings, message_format)
        if isinstance(medium, str):
            text += medium
            continue
        if text:
            items.append(message_format.text(text))
        items.append(medium)
        text = ""
    if text or not items:
        items.append(message_format.text(text))
    opening = message_format.model if role == "assistant" else message_format.user
    return b"".join((opening, _json_list(items), b"}"))


def _json_list(items: Sequence[bytes]) -> bytes:
    return b"".join((b"[", b", ".join(items), b"]"))


def _medium(
    part: Part,
    settings: GeminiSettings,
    message_format: MessageFormat,
) -> bytes | str:
    """Returns a medium as JSON, or a document as text."""
    if part.kind not in settings.capabilities.inputs:
        raise CallError(
            "unsupported",
            f"the backend's argument inputs does not include {part.kind}; add it if "
            f"the model takes {part.kind}",
        )
    media = part.media
    assert media is not None  # checked by the caller
    if part.kind == "document" and media.mime in _PAGES:
        part = replace(part, kind="image")
    elif part.kind == "document" and media.mime != _PDF:
        return f"\n[document]\n{words_of(media)}\n[end of document]\n"
    media = sendable(part, settings.formats)
    item = message_format.medium(part.kind, _MIMES.get(media.mime, media.mime))
    before, _, after = json.dumps(item).partition(_BASE64)
    return b"".join((before.encode(), base64_of(media), after.encode()))


def _words(parts: Sequence[Part]) -> str:
    """Returns the text of parts.

    The text includes placeholders and code, but not hidden reasoning.
    """
    words = []
    for part in parts:
        if part.kind != "reasoning" and part.media is None:
            words.append(part.raw if part.text is None else part.text)
    return "".join(words)


# --- formats of the interfaces --------------------------------------------------------


GENERATE = MessageFormat(
    user=b'{"role": "user", "parts": ',
    model=b'{"role": "model", "parts": ',
    turn=lambda items: b'{"role": "model", "parts": %b}' % items,
    text=lambda text: json.dumps({"text": text}).encode(),
    medium=lambda _, mime: {"inlineData": {"mimeType": mime, "data": _BASE64}},
)
INTERACTIONS = MessageFormat(
    user=b'{"type": "user_input", "content": ',
    model=b'{"type": "model_output", "content": ',
    # The steps of a turn are inserted into the list of all steps.
    turn=lambda items: items.strip()[1:-1],
    text=lambda text: json.dumps({"type": "text", "text": text}).encode(),
    medium=lambda kind, mime: {"type": kind, "mime_type": mime, "data": _BASE64},
)
