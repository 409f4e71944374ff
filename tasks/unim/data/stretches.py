"""Finds records in text that cannot be decoded, using brackets, quotes and lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

KEYS = ("id", "domain", "subdomain", "difficulty_level")
"""The keys by which a broken record can be identified."""

_TEXT = r'"(?:[^"\\\n]|\\[^\n])*+"'
# An unclosed string ends with its line, since JSON strings cannot contain line ends.
# Each character is read at most twice.
_MARK = re.compile(rf'{_TEXT}|"[^\n]*+|[\[{{]|[\]}}]|\n[ \t\r]*+\{{')
_BEGINNING = re.compile(rf'\{{\s*+"(?:{"|".join(KEYS)})"\s*+:')
_VALUES = {
    key: re.compile(rf'"{key}"\s*+:\s*+({_TEXT}|[0-9]{{1,18}}(?![0-9.eE]))')
    for key in KEYS
}
_WIDEST_INDENT = 64


def stretch_end(text: str, start: int) -> int:
    """Returns the end of the stretch that begins at ``start``.

    An object ends where its brackets are closed, not counting brackets in strings. It
    also ends before a line that begins another object with at most the same
    indentation. Other text ends before the next opening brace.
    """
    if text[start] != "{":
        end = text.find("{", start)
        return len(text) if end < 0 else end
    # The indentation of the object, if it begins its line.
    before = text[max(0, start - _WIDEST_INDENT) : start].rpartition("\n")[2]
    indent = 0 if before.strip() else len(before)
    depth = 0
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


def pieces(
    text: str,
    start: int,
    end: int,
) -> Iterator[tuple[int, int]]:
    """Cuts a stretch where a record may begin: at each brace before a record's key.

    A truncated record may be followed by the next record on the same line.
    """
    cuts = [match.start() for match in _BEGINNING.finditer(text, start + 1, end)]
    return pairwise([start, *cuts, end])


def legible_keys(text: str) -> dict[str, Any]:
    """Returns the values of a broken record's keys, as far as they can be read."""
    values = {}
    for key, pattern in _VALUES.items():
        match = pattern.search(text)
        if match is None:
            continue
        try:
            value = json.loads(match[1])
            str(value).encode()
        except ValueError:  # an invalid escape, or invalid Unicode
            continue
        values[key] = value
    return values
