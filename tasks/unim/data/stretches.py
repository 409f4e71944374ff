"""Finds records in undecodable text, by brackets, quotes and lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

KEYS = ("id", "domain", "subdomain", "difficulty_level")
"""The keys of a record that identify a broken one."""

_TEXT = r'"(?:[^"\\\n]|\\[^\n])*+"'
# A string that is not closed ends with its line, since no JSON string holds a line end.
# Each character is read at most twice.
_MARK = re.compile(rf'{_TEXT}|"[^\n]*+|[\[{{]|[\]}}]|\n[ \t\r]*+\{{')
_BEGINNING = re.compile(rf'\{{\s*+"(?:{"|".join(KEYS)})"\s*+:')
_VALUES = {
    key: re.compile(rf'"{key}"\s*+:\s*+({_TEXT}|[0-9]{{1,18}}(?![0-9.eE]))')
    for key in KEYS
}
_WIDEST_INDENT = 64


def stretch_end(text: str, start: int) -> int:
    """The end of the stretch that begins at ``start``.

    An object ends where its brackets are closed (except those inside of strings), or
    before a line with another object that is not indented further; other text ends
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
    """Cut a stretch where a record may begin: at a brace before a key of a record.
    A truncated record may have the next one on its line."""
    cuts = [match.start() for match in _BEGINNING.finditer(text, start + 1, end)]
    return pairwise([start, *cuts, end])


def legible_keys(text: str) -> dict[str, Any]:
    """The readable values of a record's keys."""
    found = {}
    for key, pattern in _VALUES.items():
        match = pattern.search(text)
        if match is None:
            continue
        try:
            value = json.loads(match[1])
            str(value).encode()
        except ValueError:  # an invalid escape, or invalid Unicode
            continue
        found[key] = value
    return found
