"""Messages as JSON, for both interfaces: the words of the system apart, media as base64
bytes, and the model's own turns byte for byte as it wrote them.

Media have no names, since a file name such as ``cat_wrong_answer.png`` would be a hint
to the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
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


@dataclass(frozen=True)
class Spelling:
    """How an interface writes a message and what it holds."""

    opening: Callable[[str], bytes]
    """The beginning of a message up to its list, by the role of who speaks."""
    turn: Callable[[bytes], bytes]
    """A turn of the model, by the list of its items."""
    text: Callable[[str], bytes]
    medium: Callable[[str, str], tuple[bytes, bytes]]
    """What stands around base64, by the kind and the MIME type of a medium."""


class Conversation(NamedTuple):
    """What a request holds: the words of the system, and the messages as a list."""

    system: str
    messages: bytes


def conversation(
    messages: Sequence[Message], settings: Settings, spelling: Spelling
) -> Conversation:
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
    return Conversation("\n\n".join(filter(None, system)), _listed(rows))


def _row(
    role: str, parts: Sequence[Part], settings: Settings, spelling: Spelling
) -> bytes:
    items = list(_items(parts, settings, spelling)) or [spelling.text("")]
    return b"".join((spelling.opening(role), _listed(items), b"}"))


def _listed(items: Sequence[bytes]) -> bytes:
    return b"".join((b"[", b", ".join(items), b"]"))


def _items(
    parts: Sequence[Part], settings: Settings, spelling: Spelling
) -> Iterator[bytes]:
    text = ""
    for part in parts:
        medium = None if part.media is None else _medium(part, settings, spelling)
        if isinstance(medium, bytes):
            if text:
                yield spelling.text(text)
            yield medium
            text = ""
        else:
            text += _words((part,)) if medium is None else medium
    if text:
        yield spelling.text(text)


def _medium(part: Part, settings: Settings, spelling: Spelling) -> bytes | str:
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
    before, after = spelling.medium(part.kind, _MIMES.get(media.mime, media.mime))
    return b"".join((before, base64_of(media), after))


def _words(parts: Sequence[Part]) -> str:
    """Text as written: placeholders and code, no hidden reasoning."""
    words = []
    for part in parts:
        if part.kind != "reasoning" and part.media is None:
            words.append(part.raw if part.text is None else part.text)
    return "".join(words)


# --- spellings ------------------------------------------------------------------------


def _around(mark: str, row: object) -> tuple[bytes, bytes]:
    before, _, after = json.dumps(row).partition(mark)
    return before.encode(), after.encode()


_HERE = "<base64>"


def _generate_opening(role: str) -> bytes:
    speaker = "model" if role == "assistant" else "user"
    return b'{"role": "%b", "parts": ' % speaker.encode()


def _generate_medium(_: str, mime: str) -> tuple[bytes, bytes]:
    return _around(_HERE, {"inlineData": {"mimeType": mime, "data": _HERE}})


def _interactions_opening(role: str) -> bytes:
    speaker = "model_output" if role == "assistant" else "user_input"
    return b'{"type": "%b", "content": ' % speaker.encode()


def _interactions_medium(kind: str, mime: str) -> tuple[bytes, bytes]:
    return _around(_HERE, {"type": kind, "mime_type": mime, "data": _HERE})


GENERATE = Spelling(
    opening=_generate_opening,
    turn=lambda items: b'{"role": "model", "parts": %b}' % items,
    text=lambda text: json.dumps({"text": text}).encode(),
    medium=_generate_medium,
)
INTERACTIONS = Spelling(
    opening=_interactions_opening,
    # the steps of a turn stand in the list of all
    turn=lambda items: items.strip()[1:-1],
    text=lambda text: json.dumps({"type": "text", "text": text}).encode(),
    medium=_interactions_medium,
)
