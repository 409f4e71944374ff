"""Where records begin and end in a text that a decoder cannot read: brackets, quotes and lines are all there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

KEYS = ("id", "domain", "subdomain", "difficulty_level")
"""The keys of a record whose values a broken one is known by."""

_TEXT = r'"(?:[^"\\\n]|\\[^\n])*+"'
# A text that is not closed ends with its line: no JSON text holds a line's end. Each character is read at most twice.
_MARK = re.compile(rf'{_TEXT}|"[^\n]*+|[\[{{]|[\]}}]|\n[ \t\r]*+\{{')
_BEGINNING = re.compile(rf'\{{\s*+"(?:{"|".join(KEYS)})"\s*+:')
_VALUES = {key: re.compile(rf'"{key}"\s*+:\s*+({_TEXT}|[0-9]{{1,18}}(?![0-9.eE]))') for key in KEYS}
_WIDEST_INDENT = 64


def stretch_end(text: str, start: int) -> int:
    """Where the stretch that begins at ``start`` ends.

    An object ends where its brackets are closed (those inside of texts do not count), and at the latest where a line
    begins another one that is not indented further; what is no object ends before the next opening brace.
    """
    if text[start] != "{":
        end = text.find("{", start)
        return len(text) if end < 0 else end
    indent, depth = _indent(text, start), 0
    for mark in _MARK.finditer(text, start):
        first = text[mark.start()]
        if first == "\n":
            if mark.end() - mark.start() - 2 <= indent:
                return mark.end() - 1
            depth += 1
        elif first in "{[":
            depth += 1
        elif first in "}]":
            depth -= 1
            if not depth:
                return mark.end()
    return len(text)


def _indent(text: str, start: int) -> int:
    """How many blanks stand before an object that begins its line; 0 for one that does not."""
    before = text[max(0, start - _WIDEST_INDENT) : start].rpartition("\n")[2]
    return len(before) if not before.strip() else 0


def pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A stretch cut wherever a record may begin: at an opening brace with one of the keys of a record behind it. A
    record that was cut off may have the next one on its line."""
    cuts = [start, *(match.start() for match in _BEGINNING.finditer(text, start + 1, end)), end]
    yield from pairwise(cuts)


def legible_keys(text: str) -> dict[str, Any]:
    """The values of a record's keys as far as they can be read in its text."""
    found = {}
    for key, pattern in _VALUES.items():
        match = pattern.search(text)
        if match is not None and (value := _value(match[1])) is not None:
            found[key] = value
    return found


def _value(written: str) -> Any:
    try:
        value = json.loads(written)
        str(value).encode()
    except ValueError:  # an escape that is none, or text that is no Unicode
        return None
    return value
