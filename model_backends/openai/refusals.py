"""Recognises the errors by which a service refuses a request for what it asks.

Servers report a refusal in many shapes: Azure and OpenAI by codes, OpenRouter by the
reasons of its moderation, others in words alone. The same request is refused again, so
this is an outcome of the answer and no failure of the call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_CODES = frozenset(
    (
        "contentfilter",
        "contentfiltered",
        "responsibleaipolicyviolation",
        "contentpolicyviolation",
        "moderationblocked",
        "imagecontentpolicyviolation",
        "biopolicy",
        "misalignmentpolicyviolation",
        "datainspectionfailed",  # DashScope
        "sensitive",  # Zhipu
    )
)
"""In small letters, without marks between words: servers spell them differently."""
_INVALID_PROMPT = "invalidprompt"
"""A code that OpenAI also gives for a prompt of the wrong form: its words decide."""
_FLAGGED = re.compile(r"usage polic|flagged", re.IGNORECASE)
_WORDS = re.compile(
    r"rejected (?:by|as a result of) (?:the|our) safety system"
    r"|\bviolat[^.]{0,80}\bpolic(?:y|ies)\b",
    re.IGNORECASE,
)
_OTHER_MEANINGS = frozenset((401, 402, 408, 409, 429))
"""Statuses about the key, the account or the pace, whatever the words."""
_STATUSES_OF_WORDS = frozenset((200, 400, 403))
_CODE_FIELDS = ("code", "type", "status", "reason")
_WORD_FIELDS = ("message", "detail", "msg", "raw")
_INNER_FIELDS = ("error", "innererror", "details", "detail", "metadata", "raw")
_MAX_DEPTH = 8
_MAX_WORDS_CHARS = 10_000


def is_refusal(status: int, error: object) -> bool:
    """Whether an error is a refusal, by its JSON or its text.

    ``status`` is that of HTTP, or 200 for an error inside of a reply that states none.
    """
    if status in _OTHER_MEANINGS:
        return False
    levels = list(_levels(error))
    codes = {_plain(code) for level in levels for code in _codes(level)}
    words = "\n".join(word for level in levels for word in _words(level))
    words = words[:_MAX_WORDS_CHARS]
    if codes & _CODES:
        return True
    if _INVALID_PROMPT in codes and _FLAGGED.search(words):
        return True
    if status == 403 and any(map(_is_moderation, levels)):
        return True
    return status in _STATUSES_OF_WORDS and _WORDS.search(words) is not None


def _levels(error: object, depth: int = 0) -> Iterator[object]:
    """The texts and objects of an error, from the outside in."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(error, str):
        yield error
        yield from _levels(_decoded(error), depth + 1)
    elif isinstance(error, list):
        for item in error:
            yield from _levels(item, depth + 1)
    elif isinstance(error, dict):
        yield error
        for name in _INNER_FIELDS:
            yield from _levels(error.get(name), depth + 1)


def _decoded(text: str) -> object:
    """The JSON in a text: gateways pass a provider's whole error on as one."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _codes(level: object) -> Iterator[str]:
    if isinstance(level, dict):
        for name in _CODE_FIELDS:
            if isinstance(level.get(name), str):
                yield level[name]


def _words(level: object) -> Iterator[str]:
    if isinstance(level, str):
        yield level
    if isinstance(level, dict):
        for name in _WORD_FIELDS:
            if isinstance(level.get(name), str):
                yield level[name]


def _is_moderation(level: Any) -> bool:
    """Whether an object is what OpenRouter's moderation says of an input."""
    return isinstance(level, dict) and bool(
        level.get("reasons") or level.get("flagged_input")
    )


def _plain(code: str) -> str:
    return re.sub(r"[^a-z]", "", code.lower())
