"""Formats names, counts and text for messages, and parses lists of names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

_CONTROL_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The Unicode categories of control characters.

These characters move the cursor, change the direction of writing, or break a line.
"""


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Split ``["a,b c", "d"]`` into a, b, c, d, without duplicates.

    The path of an existing file or folder is not split.
    """
    unique: dict[str, None] = {}
    for text in texts:
        try:
            is_path = Path(text).exists()
        except (
            OSError,
            ValueError,
        ):  # the text is too long, or contains a null character
            is_path = False
        names = [text] if is_path else re.split(r"[,\s]+", text)
        unique.update(dict.fromkeys(names))
    unique.pop("", None)
    return tuple(unique)


def listed(names: Sequence[str], most: int) -> str:
    """Returns ``a, b and 3 more``: the first names, and the number of the other
    names."""
    more = len(names) - most
    shown = ", ".join(names[:most])
    return f"{shown} and {more:,} more" if more > 0 else shown


def shortened(text: str, limit: int) -> str:
    """Returns the first ``limit`` characters, with ``...`` if the text is longer."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def wrapped(
    text: str,
    width: int,
    indent: str = "",
) -> list[str]:
    """Returns the lines of a text that is wrapped at words. ``indent`` precedes all
    lines but the first. A word that is too long is not broken, so that paths and
    addresses can be copied."""
    import textwrap  # a slow import that --help does not need

    return textwrap.wrap(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def size(count: float) -> str:
    """Formats bytes in a suitable unit: ``0 B``, ``12.3 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            digits = 0 if unit == "B" or count >= 100 else 1
            return f"{count:.{digits}f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"


def printable(text: str, *, limit: int) -> str:
    """Returns text on one line without control characters, cut at ``limit``
    characters."""
    safe = text
    if not text.isprintable():
        safe = "".join(char if char.isprintable() else " " for char in text)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def escaped(text: str) -> str:
    r"""Returns text with control characters escaped (``\x1b``); line breaks and tabs
    are kept."""
    if text.isprintable():
        return text
    codes: dict[int, str] = {}
    for char in set(text) - {"\n", "\t"}:
        if unicodedata.category(char) in _CONTROL_CATEGORIES:
            codes[ord(char)] = char.encode("unicode_escape").decode()
    return text.translate(codes)


def file_name(name: str) -> str:
    """Returns the name of a task or model as a safe file name."""
    safe = re.sub(r"[^\w.+=-]+", "__", name).strip("._")
    return safe[:120] or "unnamed"


def file_names(names: Iterable[str]) -> list[str]:
    """Returns a safe file name for each name, all different. Some file systems ignore
    the case of names."""
    used: set[str] = set()
    files = []
    for name in names:
        file = stem = file_name(name)
        number = 1
        while file.casefold() in used:
            number += 1
            file = f"{stem}-{number}"
        used.add(file.casefold())
        files.append(file)
    return files
