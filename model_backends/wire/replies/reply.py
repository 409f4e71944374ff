"""Reads what a reply states beside its answer: its JSON, usage, and names."""

from __future__ import annotations

from typing import Any

from mmeval.model_backends.wire.failures import bad_reply
from mmeval.model_backends.wire.replies.server_errors import (
    error_in_body,
    error_in_list,
    reported,
)
from mmeval.records import Usage
from mmeval.system import from_line
from mmeval.system.wording import shortened

_SHOWN_CHARS = 80
_NAME_CHARS = 200
"""Of what the server calls its model and its configuration: both are recorded with each
answer."""


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
    listed = error_in_list(data)
    if listed is not None:
        raise error_in_body(listed)
    if not isinstance(data, dict):
        raise bad_reply(
            f"the server's answer is a JSON {type(data).__name__}, not an object"
        )
    error = reported(data)
    if error is not None:
        raise error_in_body(error)
    return data


def usage(data: dict[str, Any]) -> Usage:
    """The server's count of tokens, in either spelling; 0 without a valid number."""
    counted = data.get("usage")
    if not isinstance(counted, dict):
        return Usage()
    tokens_in: Any = counted.get("prompt_tokens") or counted.get("input_tokens")
    tokens_out: Any = counted.get("completion_tokens") or counted.get("output_tokens")
    return Usage(tokens_in, tokens_out)  # which counts what is none as 0


def served(data: dict[str, Any]) -> str:
    """The model that the server reports."""
    return _name(data.get("model"))


def fingerprint(data: dict[str, Any]) -> str:
    """The server's name of its configuration; empty if not reported."""
    return _name(data.get("system_fingerprint"))


def _name(value: object) -> str:
    return shortened(value, _NAME_CHARS) if isinstance(value, str) else ""
