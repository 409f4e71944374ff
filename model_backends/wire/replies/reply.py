"""Reads the JSON of a reply, its usage, and the names of model and configuration."""

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
"""Maximum length of the server's names for its model and configuration.

They are recorded with each answer.
"""


def json_object(body: bytes) -> dict[str, Any]:
    """Returns the JSON object of a reply with a status in 200-299.

    Raises CallError ``bad_reply`` if there is no object, or the error that the reply
    reports.
    """
    try:
        data = from_line(body)
    except (ValueError, RecursionError):
        shown = body[:_SHOWN_CHARS].decode("utf-8", "replace")
        raise bad_reply(
            f"the server's answer is not JSON: {shown!r} (check base_url)"
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
    """Returns the server's token counts, which have one of two usual sets of names.

    An invalid or missing number becomes 0.
    """
    counted = data.get("usage")
    if not isinstance(counted, dict):
        return Usage()
    tokens_in: Any = counted.get("prompt_tokens") or counted.get("input_tokens")
    tokens_out: Any = counted.get("completion_tokens") or counted.get("output_tokens")
    return Usage(tokens_in, tokens_out)  # Usage converts invalid numbers to 0


def served(data: dict[str, Any]) -> str:
    """Returns the model that the server reports."""
    return _name(data.get("model"))


def fingerprint(data: dict[str, Any]) -> str:
    """Returns the server's fingerprint of its configuration.

    Returns an empty string if the server does not report a fingerprint.
    """
    return _name(data.get("system_fingerprint"))


def _name(value: object) -> str:
    return shortened(value, _NAME_CHARS) if isinstance(value, str) else ""
