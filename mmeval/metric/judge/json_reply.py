"""Reads the JSON object, or list of objects, in a model's reply.

Models add prose and fences, and write JSON like Python. These variants are read:

    The answer: ```json
    {'grade': 4, 'sure': True,}
    ```

- text before, between and after objects, including fences;
- single quotes, a comma before a closing bracket, ``True``, ``False`` and ``None``,
  ``4/5`` without quotes, line breaks inside strings;
- keys in another case, with spaces or dashes for underscores (``Criteria Met``);
- the required keys in the only object inside another: ``{"verdict": {"grade": 4}}``.

Nothing is guessed. These replies are errors:

- a reply that is cut off;
- an object with a repeated key, or with different values of a key in two spellings;
- several different objects with all required keys;
- a required key with a value in a malformed object, or outside of all objects. A part
  of a malformed object is not an answer, because a text that is quoted in it could look
  like one.

A reply may be hostile. Therefore reading takes linear time, and the length and depth of
a reply are limited.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Any

from mmeval.records.response import Response

MAX_CHARS = 200_000
"""The maximum length of a reply."""
MAX_DEPTH = 32
MAX_NUMBER_CHARS = 64
"""The maximum length of a number, because conversion takes quadratic time."""
_MALFORMED = "the reply's JSON is malformed"
_GAP = re.compile(r"\\?[ _-]")
"""A separator between the words of a key, plain or escaped for a pattern."""
_BLANK = re.compile(r"\s*")
_BRACE = re.compile(r"[{}]")
_BRACE_OR_TEXT = re.compile(
    r'[{}]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|(?<=[\s{\[,:])'
    + r"'(?:[^'\\]|\\.)*+(?:'|\\?\Z)",
    re.DOTALL,
)
"""A brace or a string. An unclosed string extends to the end. An apostrophe within a
word is not the beginning of a string."""
_KEYED = re.compile(r"\{\s*+\\*+(?:[\"']|\w++\\*+[\"']?\\*+\s*+:)")
"""The beginning of an object. Unlike a brace in prose, its brace is followed by a key.
The key may lack quotation marks, or have backslashes before them."""
_LISTED = re.compile(r"\[\s*+" + _KEYED.pattern)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"|' + r"'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_NUMBER = re.compile(
    r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+(?![\w.])"
)
_RATIO = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})? ?/ ?[0-9]{1,9}(?![\w.])")
"""A ratio such as ``4/5`` without quotes. It is read as a string."""
_WORD = re.compile(r"\w+")
_WORDS = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_ESCAPE = re.compile(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)",
    re.DOTALL,
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class ReplyError(ValueError):
    """The error for a reply that is not a valid answer to the question.

    The message states the reason.
    """


class _NotJsonError(Exception):
    """The error for a brace that belongs to prose or a template, not to an object."""


def read_object(
    text: str,
    required: Collection[str] = (),
    *,
    optional: Collection[str] = (),
    first: bool = False,
) -> dict[str, Any]:
    """Returns the object in a reply that has all required keys.

    The object may have further keys.

    The result has the requested spelling of required and optional keys, even if the
    reply spells them in another case, or with spaces or dashes for underscores. If an
    object lacks required keys, the only object inside it that has them is used. Equal
    objects count as one. With ``first``, only the first object is read.

    Raises ReplyError if there is no such object, or if there are several that differ.
    Also raises it if an object is malformed or incomplete, or if a key has different
    values in two spellings.

    >>> read_object("Sure! {'Grade': 4,} I hope that helps.", ["grade"])
    {'grade': 4}
    """
    if len(text) > MAX_CHARS:
        raise ReplyError(f"the reply has more than {MAX_CHARS} characters")
    objects = _objects(text, required)
    items = islice(objects, 1) if first else objects
    answers: list[dict[str, Any]] = []
    others = 0
    for item in items:
        answer = _answer_in(item, required, optional)
        if answer is None:
            others += 1
        elif not answers:
            answers.append(answer)
        elif not _same(answer, answers[0]):
            raise ReplyError("the reply contains several different answers")
    if answers:
        return answers[0]
    if others:
        raise ReplyError(f"the reply's JSON lacks {', '.join(map(repr, required))}")
    raise ReplyError("the reply contains no JSON object")


def read_objects(text: str) -> list[dict[str, Any]]:
    """Returns the first list of objects in a reply.

    Brackets in prose and lists of other values are skipped. Raises ReplyError if the
    reply has no such list, or if the list is malformed or incomplete.

    >>> read_objects("Plan [1, 2]: [{'step': 1,}]")
    [{'step': 1}]
    """
    if len(text) > MAX_CHARS:
        raise ReplyError(f"the reply has more than {MAX_CHARS} characters")
    end = 0
    while (at := text.find("[", end)) >= 0:
        reader = _Reader(text, at)
        try:
            items = reader.items(0)
        except _NotJsonError:
            if _LISTED.match(text, at):
                raise ReplyError(_MALFORMED) from None
            end = max(reader.at, at + 1)
            continue
        if items and all(isinstance(item, dict) for item in items):
            return items
        end = reader.at
    raise ReplyError("the reply contains no list of JSON objects")


def accepts(read: Callable[[str], object]) -> Callable[[Response], str]:
    """Returns a function for ``Call.accept``.

    The function returns the message of the ReplyError that ``read`` raises.
    """

    def fault(response: Response) -> str:
        try:
            read(response.text)
        except ReplyError as error:
            return str(error)
        return ""

    return fault


def strict_json(text: str) -> Any:
    """Returns the value of a string that is JSON, or None for other strings."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _folded(key: str) -> str:
    """Returns a key in the normalized form that is used to compare keys."""
    return _GAP.sub("_", key.strip()).casefold()


def _answer_in(
    item: dict[str, Any], required: Collection[str], optional: Collection[str]
) -> dict[str, Any] | None:
    """Returns the object with all required keys.

    The object is ``item`` itself, or the only such object inside ``item``. The result
    is None if neither has all required keys.

    The keys of the result have the requested spelling. Raises ReplyError if there are
    several such objects.
    """
    answers: list[dict[str, Any]] = []
    waiting: deque[Any] = deque([item])
    while waiting:
        value = waiting.popleft()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            spelled = _spelled(value, required, optional)
            if spelled.keys() >= set(required):
                answers.append(spelled)
            else:
                waiting.extend(value.values())
    if len(answers) > 1:
        raise ReplyError("the reply contains several different answers")
    return answers[0] if answers else None


def _spelled(
    item: dict[str, Any], required: Collection[str], optional: Collection[str]
) -> dict[str, Any]:
    """Returns the object with the requested spelling of its keys.

    If a key occurs in several spellings, the value under the requested spelling is
    used, else the first value. Raises ReplyError if the values of a required key
    differ.
    """
    spelling_of = {_folded(key): key for key in (*optional, *required)}
    spelled: dict[str, Any] = {}
    for key, value in item.items():
        name = spelling_of.get(_folded(key), key)
        if name in required and not _same(spelled.get(name, value), value):
            raise ReplyError(f"the reply has two values of {name!r}")
        if name not in spelled or key == name:
            spelled[name] = value
    return spelled


def _same(first: Any, second: Any) -> bool:
    """Returns True if values are equal.

    True and 1 are not equal, and the order of keys does not matter.
    """
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _objects(
    text: str,
    required: Collection[str],
) -> Iterator[dict[str, Any]]:
    """Yields the outermost objects in order.

    A malformed object is read only once, so that the time is linear.

    Raises ReplyError if a required key has a value in a malformed object, or outside of
    all objects.
    """
    spellings = [_GAP.sub("[_ -]", re.escape(key)) for key in required]
    keys = "|".join(spellings) or "(?!)"  # "(?!)" matches nothing.
    inside = re.compile(rf"(?<!\w)(?:{keys})\\*+[\"']?\\*+\s*+:", re.IGNORECASE)
    outside = re.compile(rf"[\"'](?:{keys})\\*+[\"']\s*+:", re.IGNORECASE)
    end = 0
    while True:
        at = text.find("{", end)
        if outside.search(text, end, at if at >= 0 else len(text)):
            raise ReplyError(_MALFORMED)
        if at < 0:
            return
        reader = _Reader(text, at)
        try:
            yield reader.object(0)
            end = reader.at
        except _NotJsonError:
            end = max(reader.at, at + 1)
            if _KEYED.match(text, at):
                # A quotation mark in a malformed object may or may not begin a string.
                # Braces are counted with and without those in strings. The later end
                # is used, so that no part of the object is read as an object.
                plain_end = _balanced(_BRACE, text, at)
                end = max(plain_end, _balanced(_BRACE_OR_TEXT, text, at))
                if inside.search(text, at, end):
                    raise ReplyError(_MALFORMED) from None


def _balanced(
    tokens: re.Pattern[str],
    text: str,
    at: int,
) -> int:
    """Returns the end of the object that begins at ``at``.

    If the object is not closed, this is the end of the text.
    """
    depth = 0
    for token in tokens.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if not depth:
            return token.end()
    return len(text)


class _Reader:
    """Reads one value from a position. ``at`` is the position after the value."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        result: dict[str, Any] = {}
        while self._next() != "}":
            key = self._string()
            if self._next() != ":":
                raise _NotJsonError
            self.at += 1
            if key in result:
                raise ReplyError(f"the key {key[:40]!r} occurs twice in the reply")
            result[key] = self._value(depth + 1)
            self._comma("}")
        self.at += 1
        return result

    def items(self, depth: int) -> list[Any]:
        self.at += 1
        result: list[Any] = []
        while self._next() != "]":
            result.append(self._value(depth + 1))
            self._comma("]")
        self.at += 1
        return result

    def _value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ReplyError(f"the reply's JSON is nested deeper than {MAX_DEPTH}")
        start = self._next()
        if start == "{":
            return self.object(depth)
        if start == "[":
            return self.items(depth)
        if start in "\"'":
            return self._string()
        if start not in "-0123456789":
            word = _WORD.match(self.text, self.at, self.at + MAX_NUMBER_CHARS)
            if word is None or word[0] not in _WORDS:
                raise _NotJsonError
            self.at = word.end()
            return _WORDS[word[0]]
        ratio = _RATIO.match(self.text, self.at)
        if ratio:
            self.at = ratio.end()
            return ratio[0]
        return self._number()

    def _comma(self, closing: str) -> None:
        """Reads a comma, which may be missing before the closing bracket."""
        after = self._next()
        if after == ",":
            self.at += 1
        elif after != closing:
            raise _NotJsonError

    def _next(self) -> str:
        """Returns the next character that is not white space."""
        blank = _BLANK.match(self.text, self.at)
        assert blank is not None  # The pattern also matches an empty string.
        self.at = blank.end()
        if self.at == len(self.text):
            raise ReplyError("the reply ends in the middle of its JSON")
        return self.text[self.at]

    def _string(self) -> str:
        if self._next() not in "\"'":
            raise _NotJsonError
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise ReplyError("the reply ends in the middle of its JSON")
        self.at = match.end()
        content = match[2] if match[1] is None else match[1]
        return _ESCAPE.sub(_unescaped, content)

    def _number(self) -> int | float:
        match = _NUMBER.match(self.text, self.at, self.at + MAX_NUMBER_CHARS)
        if match is None:
            raise _NotJsonError
        self.at = match.end()
        if match[0].lstrip("-").isdigit():
            return int(match[0])
        number = float(match[0])
        if not math.isfinite(number):
            raise ReplyError(
                f"the reply contains a number that is too large: {match[0]}"
            )
        return number


def _unescaped(match: re.Match[str]) -> str:
    """Returns the character of an escape.

    Unknown escapes, as in LaTeX, remain unchanged.
    """
    code = match[1]
    if code[0] != "u" or len(code) == 1:
        unknown = code if code in "\"'\\/" else f"\\{code}"
        return _ESCAPED.get(code, unknown)
    if len(code) > 5:
        return bytes.fromhex(code[1:5] + code[7:11]).decode("utf-16-be")
    letter = chr(int(code[1:], 16))
    return "\ufffd" if "\ud800" <= letter <= "\udfff" else letter
