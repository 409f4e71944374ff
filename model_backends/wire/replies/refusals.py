"""Recognises the errors by which a service refuses a request for what it asks.

Servers report a refusal in many shapes: Azure and OpenAI by codes, OpenRouter by the
reasons of its moderation, others in words alone. The same request is refused again, so
this is an outcome of the answer and no failure of the call.
"""

from __future__ import annotations

import re
from collections.abc import Collection

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
_MAX_WORDS_CHARS = 10_000


def is_refusal(
    status: int, codes: Collection[str], words: str, *, moderated: bool = False
) -> bool:
    """Whether an error is a refusal.

    ``status`` is that of HTTP, or 200 for an error inside of a reply that states none.
    ``moderated`` is whether the error has the reasons of a moderation, as OpenRouter's.
    """
    if status in _OTHER_MEANINGS:
        return False
    plain = {re.sub(r"[^a-z]", "", code.lower()) for code in codes}
    words = words[:_MAX_WORDS_CHARS]
    if plain & _CODES:
        return True
    if _INVALID_PROMPT in plain and _FLAGGED.search(words):
        return True
    if status == 403 and moderated:
        return True
    return status in _STATUSES_OF_WORDS and _WORDS.search(words) is not None
