"""Reads bytes in the strings of a reply: base64 in any variant, data URIs and links."""

from __future__ import annotations

import base64
import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from mmeval.media import DATA_URI, SNIFF_BYTES, UNKNOWN_MIME, base64_bytes, sniff_mime

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_RELATIVE = ("/", "./", "../")
LEAST_LETTERS = 64
_RUN = re.compile(rf"[A-Za-z0-9+/_-]{{{LEAST_LETTERS + 1},}}={{0,2}}")
_LONGEST_PATH = 200
"""Maximum length of a relative address.

A longer string that begins with a slash is read as base64.
"""
_LEAST_DIFFERENT = 4
"""Minimum number of distinct characters in base64. Text with fewer is filler."""


class EncodedBytes(NamedTuple):
    """Bytes that a reply contains as text, and their declared MIME type."""

    data: bytes
    mime: str = ""


class Link(NamedTuple):
    """An address that a reply contains instead of bytes."""

    address: str


def read_encoded(text: str, *, only_data: bool = False) -> EncodedBytes | Link | None:
    """Reads a medium's field. Returns None if it contains neither bytes nor an address.

    ``only_data`` is True for a field that contains only data. Base64 without the prefix
    of a data URI counts in such a field, or if it decodes to a known file type.
    """
    head = _whole_head(text)
    if head is not None:
        body = text[head.end :]
        if head.is_base64:
            data = _base64_or_none(body)
            return EncodedBytes(data, head.mime) if data else None
        plain = unquote_to_bytes(body)
        if not known_mime(plain):
            # some servers omit ";base64" before base64
            data = _base64_or_none(body)
            if data and known_mime(data):
                return EncodedBytes(data, head.mime)
        return EncodedBytes(plain, head.mime) if plain else None
    data = _base64_or_none(text)
    if data and known_mime(data):
        return EncodedBytes(data)
    address = text.strip()
    is_path = address.startswith(_RELATIVE) and len(address) < _LONGEST_PATH
    if _ADDRESS.match(address) or is_path:
        return Link(address)
    return EncodedBytes(data) if data and only_data else None


def known_mime(data: bytes) -> str:
    """Returns the MIME type of bytes by their signature.

    Returns an empty string for text and unknown types.
    """
    mime = sniff_mime(data[:SNIFF_BYTES], size=len(data))
    has_no_signature = mime.startswith("text/") or mime in (UNKNOWN_MIME, "model/obj")
    return "" if has_no_signature else mime


class Amount(NamedTuple):
    """The amount of base64 in a text.

    ``size`` is the decoded size in bytes. ``letters`` is the number of base64
    characters.
    """

    size: int
    letters: int = 0


def encoded_amount(text: str) -> Amount:
    """Returns the amount of base64 in a text.

    Only data URIs and base64 longer than ``LEAST_LETTERS`` are counted.
    """
    if _whole_head(text) is not None:
        encoded = read_encoded(text)
        if isinstance(encoded, EncodedBytes):
            return Amount(len(encoded.data), len(text))
    count = letters = 0
    for run in _RUN.findall(text.replace("\n", "")):
        if len(set(run)) < _LEAST_DIFFERENT:
            continue
        data = _base64_or_none(run)
        if data is not None:
            count += len(data)
            letters += len(run)
    return Amount(count, letters)


class _Head(NamedTuple):
    """The head of a data URI: its first declared type, and the offset of its end."""

    mime: str
    is_base64: bool
    end: int


def _whole_head(text: str) -> _Head | None:
    """Returns the head of a text that is a data URI, or None for other texts.

    Some gateways write the head twice.
    """
    start = 0
    if text[:1].isspace():
        start = len(text) - len(text.lstrip())
    head: _Head | None = None
    while uri := DATA_URI.match(text, start):
        parameters = uri["parameters"]
        declared = (uri["mime"] or "") + parameters.lower().removesuffix(";base64")
        mime = head.mime if head else declared
        head = _Head(mime, parameters.lower().endswith(";base64"), uri.end())
        start = uri.end()
    return head


def _base64_or_none(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        pass
    if "%" in text:
        text = unquote_to_bytes(text).decode("latin-1")
    try:
        return base64_bytes(text)
    except ValueError:
        return None
