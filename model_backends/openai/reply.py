"""Reads replies: JSON that may hold anything, and media inside it as data."""

from __future__ import annotations

import base64
import binascii
from typing import Any
from urllib.parse import unquote_to_bytes

from mmeval.content import Media
from mmeval.model_backends.openai.failures import bad_reply, error_in_body
from mmeval.records import Usage
from mmeval.system import from_line
from mmeval.wording import shortened

_SHOWN_CHARS = 80
_NAME_CHARS = 200
"""Of what the server calls its model and its configuration: both are recorded with each
answer."""
_MAX_DEPTH = 3
"""The most objects around the data of a medium: ``{"image_url": {"url": "data:..."}}``
has two."""

_DATA_FIELDS = ("b64_json", "data", "file_data")


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a reply with a status of success.

    Raises CallError ``bad_reply`` without one, or the error that it reports instead of
    an answer.
    """
    try:
        data = from_line(body)
    except (ValueError, RecursionError):
        shown = body[:_SHOWN_CHARS].decode("utf-8", "replace")
        raise bad_reply(
            f"the server's answer is not JSON: {shown!r} (is base_url right?)"
        ) from None
    if not isinstance(data, dict):
        raise bad_reply(
            f"the server's answer is a JSON {type(data).__name__}, not an object"
        )
    if data.get("error"):
        raise error_in_body(data["error"])
    return data


def usage(data: dict[str, Any]) -> Usage:
    """The server's count of tokens, in either spelling; 0 without a valid number."""
    counted = data.get("usage")
    if not isinstance(counted, dict):
        return Usage()
    tokens_in: Any = counted.get("prompt_tokens", counted.get("input_tokens"))
    tokens_out: Any = counted.get("completion_tokens", counted.get("output_tokens"))
    return Usage(tokens_in, tokens_out)  # which counts what is none as 0


def served(data: dict[str, Any]) -> str:
    """The model that the server reports."""
    return _name(data.get("model"))


def fingerprint(data: dict[str, Any]) -> str:
    """The server's name of its configuration; empty if not reported."""
    return _name(data.get("system_fingerprint"))


def _name(value: object) -> str:
    return shortened(value, _NAME_CHARS) if isinstance(value, str) else ""


def medium(item: object) -> Media:
    """The medium of one item of a reply. Such as ``{"image_url": {"url":
    "data:..."}}``, ``{"b64_json": "..."}`` and similar ones.

    Raises CallError ``bad_reply`` for a link (nothing is fetched) and for data that do
    not decode.
    """
    for _ in range(_MAX_DEPTH):
        if isinstance(item, str):
            return _from_address(item)
        if not isinstance(item, dict):
            break
        data = next(
            (item[name] for name in _DATA_FIELDS if isinstance(item.get(name), str)),
            None,
        )
        if data is not None:
            return (
                _from_address(data)
                if data.startswith("data:")
                else Media.from_bytes(decoded(data))
            )
        item = _inner(item)
    raise bad_reply(
        "a medium in the answer has no data that could be read, but "
        f"{str(item)[:_SHOWN_CHARS]!r}"
    )


def _inner(item: dict[str, Any]) -> object:
    """The field with the data: named by ``type``, or the ``url`` or ``..._url``."""
    named = item.get(str(item.get("type")))
    return (
        named
        or item.get("url")
        or next((item[name] for name in item if name.endswith("_url")), None)
    )


def _from_address(address: str) -> Media:
    scheme, _, rest = address.partition(":")
    if scheme.lower() != "data":
        raise bad_reply(
            f"the answer holds a link ({address[:_SHOWN_CHARS]!r}) instead of data; "
            "links are not fetched. Ask the "
            "server for data, for pictures with image_response_format=b64_json"
        )
    head, comma, body = rest.partition(",")
    if not comma:
        raise bad_reply("a data URI in the answer is cut off")
    if head.lower().endswith(";base64"):
        return Media.from_bytes(decoded(body))
    return Media.from_bytes(_not_empty(unquote_to_bytes(body)))


def decoded(text: str) -> bytes:
    """The bytes of base64 text, line breaks allowed. Raises CallError ``bad_reply``."""
    try:
        return _not_empty(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        pass
    try:
        return _not_empty(base64.b64decode("".join(text.split()), validate=True))
    except (binascii.Error, ValueError) as error:
        raise bad_reply(
            f"the base64 data of a medium in the answer is damaged ({error})"
        ) from None


def _not_empty(data: bytes) -> bytes:
    if not data:
        raise bad_reply("a medium in the answer is empty")
    return data
