"""The items of a list in JSON as they are written: what a server wants back byte for
byte is cut out of its reply and never encoded again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_BLANK = re.compile(r"[ \t\n\r]*")
_value = json.JSONDecoder().raw_decode
"""The value that begins at a place of a text, and where it ends."""


def verbatim_value(text: str | bytes, path: Sequence[str | int]) -> bytes | None:
    """The value at ``path``, such as ``("candidates", 0, "content")``; None where there
    is none, or what is given is not JSON."""
    try:
        whole = _text(text)
        at = _place(whole, path)
        if at is None:
            return None
        end = _value(whole, at)[1]
        return _bytes(whole[at:end], text)
    except (ValueError, IndexError, RecursionError):
        return None


def verbatim_items(text: str | bytes, path: Sequence[str | int]) -> list[bytes]:
    """The items of the list at ``path``; empty where there is no list, or what is given
    is not JSON."""
    try:
        whole = _text(text)
        at = _place(whole, path)
        spans = [] if at is None else _spans(whole, at)
    except (ValueError, IndexError, RecursionError):
        return []
    return [_bytes(whole[start:end], text) for start, end in spans]


def json_list(items: Sequence[bytes]) -> bytes:
    """A list of items as they are written."""
    return b"[" + b", ".join(items) + b"]"


def _text(given: str | bytes) -> str:
    # a broken tokenizer writes bytes that are not UTF-8; they are given back as well
    return given if isinstance(given, str) else given.decode("utf-8", "surrogateescape")


def _bytes(cut: str, given: str | bytes) -> bytes:
    errors = "surrogatepass" if isinstance(given, str) else "surrogateescape"
    return cut.encode("utf-8", errors)


def _place(text: str, path: Sequence[str | int]) -> int | None:
    """Where the value at a path begins."""
    at: int | None = _after_blanks(text, 0)
    for step in path:
        if at is None:
            return None
        at = _inner_place(text, at, step)
    return at


def _inner_place(
    text: str,
    at: int,
    step: str | int,
) -> int | None:
    """Where a member or an item begins, of the object or list that begins at ``at``."""
    if isinstance(step, int):
        spans = _spans(text, at)
        return spans[step][0] if step < len(spans) else None
    found: int | None = None
    if text[at] != "{":
        return None
    at = _after_blanks(text, at + 1)
    while text[at] != "}":
        # of a name that is written twice, the last one counts, as for every reader
        name, at = _value(text, at)
        at = _after_blanks(text, _after_blanks(text, at) + 1)
        if name == step:
            found = at
        at = _after_comma(text, _value(text, at)[1])
    return found


def _spans(text: str, at: int) -> list[tuple[int, int]]:
    """Where the items of a list begin and end; none where it is not a list."""
    spans: list[tuple[int, int]] = []
    if text[at] != "[":
        return spans
    at = _after_blanks(text, at + 1)
    while text[at] != "]":
        end = _value(text, at)[1]
        spans.append((at, end))
        at = _after_comma(text, end)
    return spans


def _after_comma(text: str, at: int) -> int:
    at = _after_blanks(text, at)
    return _after_blanks(text, at + 1) if text[at] == "," else at


def _after_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None  # it also matches nothing
    return match.end()
