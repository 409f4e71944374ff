"""Encodes the input of a request: messages as items, and earlier answers unchanged.

Earlier answers are sent back exactly as their server wrote them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from mmeval.media import Media, Part
from mmeval.model_backends.openai.messages import (
    ItemEncoder,
    announced,
    joined,
    shown_text,
    visible_text,
)
from mmeval.model_backends.openai.settings import OpenAISettings
from mmeval.records import Message, Turn


class ResponsesInput(NamedTuple):
    """The content of a request.

    ``instructions`` are the leading system messages. ``items`` is the input as a JSON
    list. ``previous`` is the id of the previous answer.
    """

    instructions: str
    items: bytes
    previous: str = ""


class Turns:
    """The stored answers of one model, which are sent back to it.

    All items of these answers are sent back, or only the answers' ids with
    ``state=previous``.
    """

    def __init__(self, settings: OpenAISettings) -> None:
        self._by_id = settings.state == "previous"
        # only the same model can read the encrypted reasoning of an answer, and only
        # the same server knows its id
        self._wire = f"responses {settings.state} {settings.base_url} {settings.model}"

    def turn(self, answer_id: object, items: Sequence[bytes]) -> Turn | None:
        """Stores an answer with JSON ``items``. Returns None for an empty answer."""
        if self._by_id:
            if not isinstance(answer_id, str) or not answer_id:
                return None
            return Turn(self._wire, Media.from_bytes(json.dumps(answer_id).encode()))
        if not items:
            return None
        return Turn(self._wire, Media.from_bytes(b"[%b]" % b", ".join(items)))

    def conversation(
        self, messages: Sequence[Message], encoder: ItemEncoder
    ) -> ResponsesInput:
        """Returns the input for the messages of a request.

        Only user messages may contain media. If another server wrote an earlier answer,
        its media therefore move to the beginning of the next user message. Raises
        CallError ``unsupported`` for a part without an item.
        """
        carried: list[Part] = []
        instructions: list[str] = []
        system = 0
        while system < len(messages) and messages[system].role == "system":
            content = messages[system].content
            instructions.append(visible_text(content))
            carried += announced(content)
            system += 1
        previous, first = self._previous(messages)
        rows: list[Sequence[bytes]] = []
        for message in messages[max(system, first) :]:
            turn = message.turn
            is_own = turn is not None and turn.wire == self._wire
            if message.role == "user":
                rows.append(_user_item(encoder, (*carried, *message.content.parts)))
                carried = []
            elif turn is not None and is_own and not self._by_id:
                # sent byte for byte, without the brackets of the list
                rows.append([turn.items.read()[1:-1]])
            else:
                text = json.dumps(shown_text(message.content))
                rows.append(
                    [f'{{"role": "{message.role}", "content": {text}}}'.encode()]
                )
                carried += announced(message.content)
        if carried:
            rows.append(_user_item(encoder, carried))
        items = b"".join((b"[", *joined(rows), b"]"))
        return ResponsesInput("\n\n".join(filter(None, instructions)), items, previous)

    def _previous(self, messages: Sequence[Message]) -> tuple[str, int]:
        """Returns the id of the last answer that the server has kept.

        The second value is the index of the first message after that answer.
        """
        if self._by_id:
            for index in reversed(range(len(messages))):
                turn = messages[index].turn
                if turn is not None and turn.wire == self._wire:
                    return str(json.loads(turn.items.read())), index + 1
        return "", 0


def _user_item(encoder: ItemEncoder, parts: Sequence[Part]) -> Sequence[bytes]:
    content = joined(encoder.items(parts))
    return [b'{"role": "user", "content": [', *content, b"]}"]


class ResponsesItems(ItemEncoder):
    """Content items in the format of this endpoint."""

    def __init__(self, settings: OpenAISettings) -> None:
        super().__init__(
            settings.capabilities.inputs, settings.image_detail, settings.formats
        )
        self._level = f', "detail": "{settings.image_detail or "auto"}"}}'.encode()

    def text(self, text: str) -> bytes:
        return json.dumps({"type": "input_text", "text": text}).encode()

    def picture(self, uri: bytes) -> Sequence[bytes]:
        return [b'{"type": "input_image", "image_url": ', uri, self._level]

    def file(self, name: str, uri: bytes) -> Sequence[bytes]:
        head = b'{"type": "input_file", "filename": %b, "file_data": '
        return [head % json.dumps(name).encode(), uri, b"}"]
