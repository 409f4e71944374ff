"""Finds records in text that cannot be decoded, by brackets, quotes and lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

KEYS = ("id", "domain", "subdomain", "difficulty_level")
"""The keys that identify a broken record."""

_TEXT = r'"(?:[^"\\\n]|\\[^\n])*+"'
# An unclosed string ends with its line, since JSON strings do not hold line ends. Each
# character is read at most twice.
_MARK = re.compile(rf'{_TEXT}|"[^\n]*+|[\[{{]|[\]}}]|\n[ \t\r]*+\{{')
_BEGINNING = re.compile(rf'\{{\s*+"(?:{"|".join(KEYS)})"\s*+:')
_VALUES = {
    key: re.compile(rf'"{key}"\s*+:\s*+({_TEXT}|[0-9]{{1,18}}(?![0-9.eE]))')
    for key in KEYS
}
_WIDEST_INDENT = 64


def stretch_end(text: str, start: int) -> int:
    """Returns the end of the stretch that begins at ``start``.

    An object ends where its brackets are closed (brackets in strings do not count), or
    before a line with another object that is not indented further. Other text ends
    before the next opening brace.
    """
    if text[start] != "{":
        end = text.find("{", start)
        return len(text) if end < 0 else end
    # the indentation of an object that begins its line
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
    """Cut a stretch at each brace before a key of a record, where a record may begin.

    The next record may be on the line of a truncated record.
    """
    cuts = [match.start() for match in _BEGINNING.finditer(text, start + 1, end)]
    return pairwise([start, *cuts, end])


def legible_keys(text: str) -> dict[str, Any]:
    """Returns the readable values of the keys of a record."""
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
