"""Why an answer has ended, in the words of the service."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from mmeval.records import FinishReason

Ending = Literal["stop", "noted", "length", "refused", "failed"]
"""``noted``: as stop, with a warning; ``failed``: the same where parts have come, and
no answer otherwise."""

_ENDINGS: dict[Ending, frozenset[str]] = {
    "stop": frozenset(("STOP",)),
    "noted": frozenset(
        (
            "ESCALATION",
            "LANGUAGE",
            "NO_IMAGE",
            "TOO_MANY_TOOL_CALLS",
            "UNEXPECTED_TOOL_CALL",
        )
    ),
    "length": frozenset(("CONTINUATION", "LENGTH", "MAX_TOKENS")),
    "refused": frozenset(
        (
            "BLOCKLIST",
            "CONTENT_FILTER",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
            "IMAGE_SAFETY",
            "JAILBREAK",
            "MODEL_ARMOR",
            "PROHIBITED_CONTENT",
            "RECITATION",
            "SAFETY",
            "SPII",
        )
    ),
}
_MARKS = re.compile(r"[\s-]")
_PREFIX = "FINISH_REASON_"
_WORST_LAST: tuple[FinishReason, ...] = ("stop", "length", "refused")


def plain(reason: object) -> str:
    """A reason in capitals; gateways write it differently."""
    return _MARKS.sub("_", str(reason)).upper().removeprefix(_PREFIX)


def ending(reason: object) -> Ending:
    """What a reason means. One that is not known, or not stated, is ``failed``."""
    name = plain(reason)
    for kind, names in _ENDINGS.items():
        if name in names:
            return kind
    return "failed"


def worst(reasons: Iterable[FinishReason]) -> FinishReason:
    """The worst of the reasons for which several candidates have ended."""
    return max(reasons, key=_WORST_LAST.index, default="stop")
