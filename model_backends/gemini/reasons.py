"""The service's finish reasons and their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from mmeval.records import FinishReason

Ending = Literal["stop", "noted", "length", "refused", "failed"]
"""The meaning of a finish reason.

``noted`` is a stop with a warning. ``failed`` means the same as ``noted`` if the answer
has parts, and is an error otherwise.
"""

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
_BY_SEVERITY: tuple[FinishReason, ...] = ("stop", "length", "refused")


def plain(reason: object) -> str:
    """Returns a reason in upper case without its prefix.

    Gateways write the reasons in different ways.
    """
    return _MARKS.sub("_", str(reason)).upper().removeprefix(_PREFIX)


def ending(reason: object) -> Ending:
    """Returns the meaning of a reason.

    An unknown or missing reason is ``failed``.
    """
    name = plain(reason)
    for kind, names in _ENDINGS.items():
        if name in names:
            return kind
    return "failed"


def worst(reasons: Iterable[FinishReason]) -> FinishReason:
    """Returns the worst finish reason of several candidates."""
    return max(reasons, key=_BY_SEVERITY.index, default="stop")
