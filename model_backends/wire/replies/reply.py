"""Reads a reply's JSON, usage, and names of the model and its configuration."""

from __future__ import annotations

from typing import Any

from mmeval.model_backends.wire.failures import bad_reply
from mmeval.model_backends.wire.replies.server_errors import (
    error_in_body,
    error_in_list,
    reported_error,
)
from mmeval.records import Usage
from mmeval.system import from_line
from mmeval.system.wording import shortened

_SHOWN_CHARS = 80
_NAME_CHARS = 200
"""Maximum length of the server's names of its model and configuration, which are
recorded with each answer."""


def json_object(body: bytes) -> dict[str, Any]:
    """Returns the JSON object of a reply with a status of success.

    Raises CallError: ``bad_reply`` without an object, or the error that the reply
    reports.
    """
    try:
        data = from_line(body)
    except (ValueError, RecursionError):
        shown = body[:_SHOWN_CHARS].decode("utf-8", "replace")
        raise bad_reply(
            f"the server's answer is not JSON: {shown!r} (is base_url right?)"
        ) from None
    listed = error_in_list(data)
    if listed is not None:
        raise error_in_body(listed)
    if not isinstance(data, dict):
        raise bad_reply(
            f"the server's answer is a JSON {type(data).__name__}, not an object"
        )
    error = reported_error(data)
    if error is not None:
        raise error_in_body(error)
    return data


def usage(data: dict[str, Any]) -> Usage:
    """Returns the server's token counts, in either naming; 0 without a valid number."""
    counted = data.get("usage")
    if not isinstance(counted, dict):
        return Usage()
    tokens_in: Any = counted.get("prompt_tokens") or counted.get("input_tokens")
    tokens_out: Any = counted.get("completion_tokens") or counted.get("output_tokens")
    return Usage(tokens_in, tokens_out)  # Usage turns invalid numbers into 0


def served(data: dict[str, Any]) -> str:
    """Returns the model that the server reports."""
    return _name(data.get("model"))


def fingerprint(data: dict[str, Any]) -> str:
    """Returns the server's fingerprint of its configuration, or an empty string if not reported."""
    return _name(data.get("system_fingerprint"))


def _name(value: object) -> str:
    return shortened(value, _NAME_CHARS) if isinstance(value, str) else ""
