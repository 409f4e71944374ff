"""Recognises errors that mean that a service refuses the content of a request.

Services report refusals in many ways. Azure and OpenAI send codes, OpenRouter sends
moderation reasons, and others only send a message. The same request would be refused
again, so a refusal is an answer, not a failed call.
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
"""Codes in lowercase without separators, because servers spell them differently."""
_INVALID_PROMPT = "invalidprompt"
"""A code that OpenAI also uses for a malformed prompt, so the message decides."""
_FLAGGED = re.compile(r"usage polic|flagged", re.IGNORECASE)
_WORDS = re.compile(
    r"rejected (?:by|as a result of) (?:the|our) safety system"
    r"|\bviolat[^.]{0,80}\bpolic(?:y|ies)\b",
    re.IGNORECASE,
)
_OTHER_MEANINGS = frozenset((401, 402, 408, 409, 429))
"""Statuses that always concern the key, the account or rate limits."""
_STATUSES_OF_WORDS = frozenset((200, 400, 403))
_MAX_WORDS_CHARS = 10_000


def is_refusal(
    status: int, codes: Collection[str], words: str, *, moderated: bool = False
) -> bool:
    """Returns True if an error is a refusal.

    ``status`` is the HTTP status, or 200 for an error in a reply that states no status.
    ``moderated`` is True if the error contains moderation reasons, as OpenRouter's do.
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
