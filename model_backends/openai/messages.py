"""Encodes messages as JSON: text, media and files in the fields of the chat interface.

Media are inserted as base64 bytes, which are encoded once and never pass through a JSON
encoder. The media have neutral names, because a file name such as
``cat_wrong_answer.png`` would be a hint to the model.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from mmeval.media import (
    TEXT_ITEM,
    Interleaved,
    Part,
    PartKind,
    suffix_for,
    text_part,
)
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.formats import Formats
from mmeval.model_backends.wire.media import base64_of, data_uri, sendable, words_of
from mmeval.records import Message

_PICTURES = ("image/png", "image/jpeg")
"""MIME types of documents that are pictures of pages."""


def encode_messages(
    messages: Sequence[Message],
    inputs: Collection[PartKind],
    image_detail: str | None = None,
    formats: Formats | None = None,
) -> bytes:
    """Returns the value of ``messages`` as JSON.

    Pictures get the ``image_detail`` if it is set. Media are re-encoded if their format
    is not in ``formats``.

    Only user messages may contain media. The media of other messages (earlier answers)
    move to the beginning of the next user message, in order, each after the name of its
    placeholder. Raises CallError ``unsupported`` for a part without a field.
    """
    encoder = ItemEncoder(inputs, image_detail, formats or Formats())
    rows: list[Sequence[bytes]] = []
    carried: list[Part] = []
    for message in messages:
        if message.role == "user":
            rows.append(_user_row(encoder, (*carried, *message.content.parts)))
            carried = []
        else:
            rows.append([_text_row(message.role, shown_text(message.content))])
            carried += announced(message.content)
    if carried:
        rows.append(_user_row(encoder, carried))
    return b"".join((b"[", *joined(rows), b"]"))


def joined(items: Iterable[Sequence[bytes]]) -> Iterator[bytes]:
    """Yields the bytes of items in several chunks, with commas between items.

    The caller must join the chunks only once, because each copy of large media takes
    time.
    """
    for number, pieces in enumerate(items):
        if number:
            yield b", "
        yield from pieces


def visible_text(content: Interleaved) -> str:
    """Returns a message's text with placeholders and code but no hidden reasoning."""
    text = ""
    for part in content.parts:
        text += words(part) if part.media is None else part.raw
    return text


def words(part: Part) -> str:
    """Returns the text of a part.

    The text is empty for a medium and for hidden reasoning. For a missing medium, the
    text is the medium's placeholder.
    """
    if part.kind == "reasoning" or part.media is not None:
        return ""
    return part.raw if part.text is None else part.text


def shown_text(content: Interleaved) -> str:
    """Returns the text of a message that cannot contain media.

    If the message has no text, the names of its media are returned.
    """
    names = [part.text or "" for part in announced(content)]
    return visible_text(content) or "".join(names)


def announced(content: Interleaved) -> Iterator[Part]:
    """Yields the media of a message, each after its name, for the next user message."""
    counts: dict[str, int] = {}
    for part in content.parts:
        if part.media is not None:
            counts[part.kind] = counts.get(part.kind, 0) + 1
            yield text_part(f"[{part.label or f'{part.kind}{counts[part.kind]}'}]")
            yield part


class ItemEncoder:
    """Encodes the parts of user messages as content items.

    Files are numbered across the request. Each method encodes one type of item, and
    interfaces override these methods.
    """

    def __init__(
        self, inputs: Collection[PartKind], image_detail: str | None, formats: Formats
    ) -> None:
        self._inputs, self._formats = inputs, formats
        self._detail = f', "detail": "{image_detail}"'.encode() if image_detail else b""
        self._documents = 0

    def items(self, parts: Sequence[Part]) -> Iterator[Sequence[bytes]]:
        """Yields the bytes of each item, in several chunks."""
        text = ""
        for part in parts:
            is_item = part.media is not None or part.label == TEXT_ITEM
            if not is_item:
                text += words(part)
                continue
            if text:
                yield [self.text(text)]
            text = ""
            if part.media is None:
                yield [self.text(words(part))]
            else:
                yield self._medium(part)
        if text:
            yield [self.text(text)]

    def text(self, text: str) -> bytes:
        return json.dumps({"type": "text", "text": text}).encode()

    def picture(self, uri: bytes) -> Sequence[bytes]:
        return [
            b'{"type": "image_url", "image_url": {"url": ',
            uri,
            self._detail,
            b"}}",
        ]

    def video(self, uri: bytes) -> Sequence[bytes]:
        return [b'{"type": "video_url", "video_url": {"url": ', uri, b"}}"]

    def file(self, name: str, uri: bytes) -> Sequence[bytes]:
        head = b'{"type": "file", "file": {"filename": %b, "file_data": '
        return [head % json.dumps(name).encode(), uri, b"}}"]

    def _medium(self, part: Part) -> Sequence[bytes]:
        if part.kind not in self._inputs:
            raise CallError(
                "unsupported",
                f"{part.kind} is not a declared input of this model; declare it with "
                "the argument inputs",
            )
        if part.kind == "audio":
            media = sendable(part, self._formats)
            form = self._formats.sound_name(media.mime).encode()
            return [
                b'{"type": "input_audio", "input_audio": {"data": "',
                base64_of(media),
                b'", "format": "%b"}}' % form,
            ]
        if part.kind == "document":
            # many servers accept only PDF as a file, so a picture of a page is sent as
            # a picture, and a text document as text
            assert part.media is not None  # checked by the caller
            self._documents += 1
            name = f"document{self._documents}{suffix_for(part.media.mime)}"
            if part.media.mime in _PICTURES and "image" in self._inputs:
                page = replace(part, kind="image")
                return self.picture(data_uri(page, self._formats))
            if part.media.mime.startswith("text/"):
                return [
                    self.text(f"\n[{name}]\n{words_of(part.media)}\n[end of {name}]\n")
                ]
            return self.file(name, data_uri(part))
        uri = data_uri(part, self._formats)
        return self.picture(uri) if part.kind == "image" else self.video(uri)


def _user_row(encoder: ItemEncoder, parts: Sequence[Part]) -> Sequence[bytes]:
    """Returns the bytes of a user message, in several chunks."""
    is_text = all(part.media is None and part.label != TEXT_ITEM for part in parts)
    if is_text:
        return [_text_row("user", "".join(map(words, parts)))]
    content = joined(encoder.items(parts))
    return [b'{"role": "user", "content": [', *content, b"]}"]


def _text_row(role: str, text: str) -> bytes:
    return f'{{"role": "{role}", "content": {json.dumps(text)}}}'.encode()
