"""Cuts values out of JSON byte for byte.

Some servers require parts of an answer to be sent back exactly as they wrote them, so
these parts are never encoded again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_BLANK = re.compile(r"[ \t\n\r]*")
_value = json.JSONDecoder().raw_decode
"""Decodes the value at an offset of a text, and returns it with its end offset."""


def verbatim_value(text: str | bytes, path: Sequence[str | int]) -> bytes | None:
    """Returns the value at ``path``, such as ``("candidates", 0, "content")``.

    Returns None if there is no such value, or ``text`` is not JSON.
    """
    try:
        whole = _decoded(text)
        start = _offset(whole, path)
        if start is None:
            return None
        end = _value(whole, start)[1]
        return _encoded(whole[start:end], text)
    except (ValueError, IndexError, RecursionError):
        return None


def verbatim_items(text: str | bytes, path: Sequence[str | int]) -> list[bytes]:
    """Returns the items of the list at ``path``.

    Returns an empty list if there is no such list, or ``text`` is not JSON.
    """
    try:
        whole = _decoded(text)
        list_start = _offset(whole, path)
        spans = [] if list_start is None else _spans(whole, list_start)
    except (ValueError, IndexError, RecursionError):
        return []
    return [_encoded(whole[start:end], text) for start, end in spans]


def json_list(items: Sequence[bytes]) -> bytes:
    """Joins encoded items to a JSON list."""
    return b"[" + b", ".join(items) + b"]"


def _decoded(text: str | bytes) -> str:
    # a broken tokenizer writes bytes that are not UTF-8, and they must be sent back too
    return text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")


def _encoded(cut: str, like: str | bytes) -> bytes:
    errors = "surrogatepass" if isinstance(like, str) else "surrogateescape"
    return cut.encode("utf-8", errors)


def _offset(text: str, path: Sequence[str | int]) -> int | None:
    """Returns the offset of the value at a path."""
    offset: int | None = _after_blanks(text, 0)
    for step in path:
        if offset is None:
            return None
        offset = _inner_offset(text, offset, step)
    return offset


def _inner_offset(
    text: str,
    offset: int,
    step: str | int,
) -> int | None:
    """Returns the offset of a member or item.

    The object or list that contains it begins at ``offset``.
    """
    if isinstance(step, int):
        spans = _spans(text, offset)
        return spans[step][0] if step < len(spans) else None
    value_offset: int | None = None
    if text[offset] != "{":
        return None
    offset = _after_blanks(text, offset + 1)
    while text[offset] != "}":
        # if a name occurs twice, the last one counts, as in json.loads
        name, offset = _value(text, offset)
        offset = _after_blanks(text, _after_blanks(text, offset) + 1)
        if name == step:
            value_offset = offset
        offset = _after_comma(text, _value(text, offset)[1])
    return value_offset


def _spans(text: str, offset: int) -> list[tuple[int, int]]:
    """Returns the offsets of the items of a list, or an empty list for other values."""
    spans: list[tuple[int, int]] = []
    if text[offset] != "[":
        return spans
    offset = _after_blanks(text, offset + 1)
    while text[offset] != "]":
        end = _value(text, offset)[1]
        spans.append((offset, end))
        offset = _after_comma(text, end)
    return spans


def _after_comma(text: str, offset: int) -> int:
    offset = _after_blanks(text, offset)
    return _after_blanks(text, offset + 1) if text[offset] == "," else offset


def _after_blanks(text: str, offset: int) -> int:
    match = _BLANK.match(text, offset)
    assert match is not None  # the pattern also matches an empty string
    return match.end()
