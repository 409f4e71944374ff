"""Names and counts in a text: as users write several of them, and as a message says them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """``["a,b c", "d"]`` as a, b, c, d: in order, once each. A text that is a file or a folder stays whole."""
    found: list[str] = []
    for text in texts:
        found += [text] if _exists(text) else re.split(r"[,\s]+", text)
    return tuple(dict.fromkeys(name for name in found if name))


def either(names: Iterable[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    *rest, last = names
    return f"{', '.join(rest)} or {last}" if rest else last


def counted(count: int, what: str) -> str:
    """``1 task``, ``1,200 tasks``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long, or with a null character
        return False
