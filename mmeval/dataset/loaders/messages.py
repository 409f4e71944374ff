"""Messages of a row, in the forms of chat data: roles with contents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from mmeval.errors import UnknownNameError, UsageError
from mmeval.media.parts import Interleaved
from mmeval.media.written import ContentReader
from mmeval.records.sample import Message, MessageRole

_ROLES: frozenset[str] = frozenset(get_args(MessageRole))
_SAME_ROLES = {"human": "user", "gpt": "assistant", "developer": "system"}
"""Roles by their names in other data."""
_FORMS = (("role", "content"), ("from", "value"))
_BARE_TAG = re.compile(r"<(image|audio|video)>")
"""The placeholder of chat data: the next medium of its kind."""


@dataclass(frozen=True)
class Conversation:
    """Messages that are asked, and the assistant's message behind them, if any: it
    answers them."""

    asked: tuple[Message, ...]
    answer: Interleaved | None = None


def is_messages(value: Any) -> bool:
    """Whether a value is a list of messages."""
    if not isinstance(value, (list, tuple)):
        return False
    for item in value:
        form = _form_of(item)
        if form is None or form[0] not in item:
            return False
    return len(value) > 0


def read_messages(
    written: Any,
    reader: ContentReader,
    where: str,
) -> Conversation:
    """Messages as ``{"role": ..., "content": ...}``, or ``{"from": ..., "value":
    ...}``. ``<image>`` in a text is the next picture of the row. Raises UsageError."""
    if not written:
        raise UsageError(f"{where} is empty")
    counts: dict[str, int] = {}
    messages = [
        read_message(_with_numbers(item, reader, counts), reader, f"{where}[{i}]")
        for i, item in enumerate(written)
    ]
    if messages[-1].role != "assistant":
        return Conversation(tuple(messages))
    if len(messages) == 1:
        raise UsageError(f"{where} holds an answer alone, and no question")
    return Conversation(tuple(messages[:-1]), messages[-1].content)


def read_message(
    written: Any,
    reader: ContentReader,
    where: str,
) -> Message:
    """One message. Raises UsageError."""
    form = _form_of(written)
    if form is None:
        raise UsageError(f'{where} is not a message with "role" and "content"')
    written_role = written.get(form[0])
    role = _SAME_ROLES.get(str(written_role), written_role)
    if not isinstance(role, str) or role not in _ROLES:
        raise UnknownNameError(
            f"role of {where}:",
            str(role),
            _ROLES,
            f"The roles are {', '.join(sorted(_ROLES))}.",
        )
    content = written[form[1]]
    return Message(
        cast("MessageRole", role), reader.read(content, f"{where}.{form[1]}")
    )


def _form_of(written: Any) -> tuple[str, str] | None:
    """The keys of a message; None for what is not a message."""
    if isinstance(written, Mapping):
        for role, content in _FORMS:
            if content in written:
                return role, content
    return None


def _with_numbers(
    written: Any, reader: ContentReader, counts: dict[str, int]
) -> dict[str, Any]:
    """A message whose bare tags have the numbers of the row's media."""

    def numbered(tag: re.Match[str]) -> str:
        kind = tag[1]
        label = f"{kind}{counts.get(kind, 0) + 1}"
        if label not in reader.shared:
            return tag[0]
        counts[kind] = counts.get(kind, 0) + 1
        return f"<<{label}>>"

    message: dict[str, Any] = {}
    for key, value in written.items():
        is_text = isinstance(value, str)
        message[key] = _BARE_TAG.sub(numbered, value) if is_text else value
    return message
