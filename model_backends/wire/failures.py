"""Typed errors of failed and refused calls, and their responses without secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from mmeval.errors import MmevalError
from mmeval.records import ErrorKind, Response
from mmeval.system.wording import shortened

MAX_MESSAGE_CHARS = 500

REDACTED = "[redacted]"

MIN_SECRET_CHARS = 16
"""Minimum length of a secret that is removed from replies.

Shorter keys are placeholders such as ``EMPTY``, which an answer may contain.
"""

_CREDENTIAL = re.compile(
    r"(?i:\bbearer)[ :]+[^\s\"',;]+|\bsk-[\w-]{6,}|\bAIza[\w-]{16,}"
)


class CallError(MmevalError):
    """The reason why a call has no answer.

    The backend converts it to the error of a ``Response``.
    """

    def __init__(
        self, kind: ErrorKind, text: str, retry_after: float | None = None
    ) -> None:
        self.kind, self.text, self.retry_after = kind, text, retry_after
        super().__init__(f"{kind}: {text}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.kind, self.text, self.retry_after)


def bad_reply(text: str) -> CallError:
    """Returns the error for a complete but unusable reply."""
    return CallError("bad_reply", text)


def failed(
    error: MmevalError, secrets: Collection[str], latency: float = 0.0
) -> Response:
    """Returns the response for an error, without secrets.

    A refusal becomes an answer without parts, because the service wrote its text, not
    the model.
    """
    if isinstance(error, CallError):
        text = redacted(error.text, secrets)
        response = Response.failed(
            error.kind, text, retry_after=error.retry_after, latency=latency
        )
        return response.as_refused() if error.kind == "refused" else response
    # for example, the file of a medium no longer exists
    return Response.failed("internal", redacted(str(error), secrets), latency=latency)


def redacted(text: str, secrets: Collection[str]) -> str:
    """Returns a message without secrets, shortened to the length of a log line.

    Anything that looks like a key is removed too.
    """
    for secret in secrets:
        # shorter keys ("x") are placeholders for local servers, and removing them
        # would only garble the message
        if len(secret) >= 4:
            text = text.replace(secret, REDACTED)
    return shortened(_CREDENTIAL.sub(REDACTED, text), MAX_MESSAGE_CHARS)


def without_secrets(body: bytes, secrets: Sequence[str]) -> bytes:
    """Returns a body without the secrets that the server echoes.

    The secrets may be plain or contain JSON escapes (``sk\\u002d...``). A secret that
    contains another secret must come before that secret.
    """
    for secret in secrets:
        if len(secret) < MIN_SECRET_CHARS:
            continue
        body = body.replace(secret.encode(), REDACTED.encode())
        if b"\\u00" in body or b"\\/" in body:
            body = _key_pattern(secret).sub(rb"\1" + REDACTED.encode(), body)
    return body


def json_without_secrets(value: Any, secrets: Collection[str]) -> Any:
    """Returns a JSON value without the secrets in its strings."""
    if isinstance(value, str):
        for secret in secrets:
            if len(secret) >= MIN_SECRET_CHARS:
                value = value.replace(secret, REDACTED)
        return value
    if isinstance(value, dict):
        return {
            name: json_without_secrets(inner, secrets) for name, inner in value.items()
        }
    if isinstance(value, list):
        return [json_without_secrets(inner, secrets) for inner in value]
    return value


@lru_cache(maxsize=16)
def _key_pattern(key: str) -> re.Pattern[bytes]:
    """Returns a pattern for a key with plain or JSON-escaped characters.

    The pattern's group captures the escaped backslashes before the key's first
    character, if this character is escaped.
    """
    pattern = ""
    for char in key:
        plain = re.escape(char)
        escape = rf"\\u(?i:{ord(char):04x})"
        if char == "/":
            escape += r"|\\/"
        if pattern:
            pattern += f"(?:{plain}|{escape})"
        else:
            pattern = rf"(?:(?<!\\)((?:\\\\)*)(?:{escape})|{plain})"
    return re.compile(pattern.encode())
