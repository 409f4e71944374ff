"""Reads the messages of a row, in the usual formats of chat data."""

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
"""Other names for roles in chat data."""
_FORMS = (("role", "content"), ("from", "value"))
_BARE_TAG = re.compile(r"<(image|audio|video)>")
"""A placeholder in chat data. It stands for the next medium of the named kind."""


@dataclass(frozen=True)
class Conversation:
    """The messages of a prompt, and the assistant's message if one follows them."""

    asked: tuple[Message, ...]
    answer: Interleaved | None = None


def is_messages(value: Any) -> bool:
    """Returns True if a value is a list of messages."""
    if not isinstance(value, (list, tuple)):
        return False
    for item in value:
        form = _form_of(item)
        if form is None or form[0] not in item:
            return False
    return len(value) > 0


def read_messages(
    rows: Any,
    reader: ContentReader,
    where: str,
) -> Conversation:
    """Reads messages with ``role`` and ``content``, or ``from`` and ``value``.

    ``<image>`` in a text stands for the next picture of the row. Raises UsageError.
    """
    if not rows:
        raise UsageError(f"{where} is empty")
    counts: dict[str, int] = {}
    messages = [
        read_message(_with_numbers(item, reader, counts), reader, f"{where}[{i}]")
        for i, item in enumerate(rows)
    ]
    if messages[-1].role != "assistant":
        return Conversation(tuple(messages))
    if len(messages) == 1:
        raise UsageError(f"{where} contains an answer but no question")
    return Conversation(tuple(messages[:-1]), messages[-1].content)


def read_message(
    row: Any,
    reader: ContentReader,
    where: str,
) -> Message:
    """Reads one message. Raises UsageError."""
    form = _form_of(row)
    if form is None:
        raise UsageError(f'{where} is not a message with "role" and "content"')
    role_name = row.get(form[0])
    role = _SAME_ROLES.get(str(role_name), role_name)
    if not isinstance(role, str) or role not in _ROLES:
        raise UnknownNameError(
            f"role of {where}:",
            str(role),
            _ROLES,
            f"The roles are {', '.join(sorted(_ROLES))}.",
        )
    content = row[form[1]]
    return Message(
        cast("MessageRole", role), reader.read(content, f"{where}.{form[1]}")
    )


def _form_of(value: Any) -> tuple[str, str] | None:
    """Returns the keys that a message uses, or None if the value is not a message."""
    if isinstance(value, Mapping):
        for role, content in _FORMS:
            if content in value:
                return role, content
    return None


def _with_numbers(
    row: Any, reader: ContentReader, counts: dict[str, int]
) -> dict[str, Any]:
    """Replaces the placeholders in a message by numbered tags for the row's media."""

    def numbered(tag: re.Match[str]) -> str:
        kind = tag[1]
        label = f"{kind}{counts.get(kind, 0) + 1}"
        if label not in reader.shared:
            return tag[0]
        counts[kind] = counts.get(kind, 0) + 1
        return f"<<{label}>>"

    message: dict[str, Any] = {}
    for key, value in row.items():
        is_text = isinstance(value, str)
        message[key] = _BARE_TAG.sub(numbered, value) if is_text else value
    return message
