"""The input of a request: messages as items, and earlier answers as their server wrote
them."""

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
    spoken,
)
from mmeval.model_backends.openai.settings import Settings
from mmeval.records import Message, Turn


class ResponsesInput(NamedTuple):
    """What a request says: the system messages at its beginning, the ``items`` of its
    input as a JSON list, and the id of the answer that it goes on from."""

    instructions: str
    items: bytes
    previous: str = ""


class Turns:
    """The answers of one model, as they are kept and given back: all of their items, or
    with ``state=previous`` their ids alone."""

    def __init__(self, settings: Settings) -> None:
        self._by_id = settings.state == "previous"
        # reasoning is encrypted for those who have asked, and ids are known to a server
        self._wire = f"responses {settings.state} {settings.base_url} {settings.model}"

    def turn(self, answer_id: object, items: Sequence[bytes]) -> Turn | None:
        """What is kept of an answer, whose ``items`` are JSON; None of an empty one."""
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
        """The messages of a request. Raises CallError ``unsupported`` for a part that
        has no item.

        The media of an earlier answer that the server has not written move to the front
        of the next user message, as only those may hold media.
        """
        carried: list[Part] = []
        instructions: list[str] = []
        system = 0
        while system < len(messages) and messages[system].role == "system":
            content = messages[system].content
            instructions.append(spoken(content))
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
                # byte for byte, without the brackets around
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
        """The id of the last answer that the server has kept, and where the messages
        after it begin."""
        if self._by_id:
            for place in reversed(range(len(messages))):
                turn = messages[place].turn
                if turn is not None and turn.wire == self._wire:
                    return str(json.loads(turn.items.read())), place + 1
        return "", 0


def _user_item(encoder: ItemEncoder, parts: Sequence[Part]) -> Sequence[bytes]:
    content = joined(encoder.items(parts))
    return [b'{"role": "user", "content": [', *content, b"]}"]


class ResponsesItems(ItemEncoder):
    """Items of content as this endpoint spells them."""

    def __init__(self, settings: Settings) -> None:
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
