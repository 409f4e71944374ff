"""JSON cut at its outer fields: each value as it is written, for what a server wants
back byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def raw_fields(data: bytes) -> dict[str, bytes]:
    """The fields of an object, each with the bytes of its value. Raises ValueError for
    what is no object, RecursionError for what is too deep."""
    text = _text(data)
    fields = {}
    for key, value in _cut(text, "{", "}"):
        fields[json.loads(key)] = _bytes(value)
    return fields


def raw_items(data: bytes) -> list[bytes]:
    """The items of a list, each with its bytes. Raises ValueError for what is no list,
    RecursionError for what is too deep."""
    return [_bytes(value) for _, value in _cut(_text(data), "[", "]")]


def _cut(text: str, opening: str, closing: str) -> Iterator[tuple[str, str]]:
    """The keys and values between two brackets, as they are written."""
    at = _after_blanks(text, 0)
    if text[at : at + 1] != opening:
        raise ValueError(f"it does not begin with {opening}")
    at = _after_blanks(text, at + 1)
    if text[at : at + 1] == closing:
        return
    while True:
        key = ""
        if opening == "{":
            start = at
            _, at = _DECODER.raw_decode(text, at)
            key = text[start:at]
            at = _after_blanks(text, at)
            if key[:1] != '"' or text[at : at + 1] != ":":
                raise ValueError("a field lacks its name or its value")
            at = _after_blanks(text, at + 1)
        start = at
        _, at = _DECODER.raw_decode(text, at)
        yield key, text[start:at]
        at = _after_blanks(text, at)
        mark = text[at : at + 1]
        at = _after_blanks(text, at + 1)
        if mark == closing:
            return
        if mark != ",":
            raise ValueError(f"{closing} is missing")


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return at if match is None else match.end()


def _text(data: bytes) -> str:
    # a broken tokenizer writes bytes that are no UTF-8; they are given back as well
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
