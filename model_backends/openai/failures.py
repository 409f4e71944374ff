"""Turns a failed call's HTTP status or reply into a typed error, without keys."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from mmeval.errors import MmevalError
from mmeval.model_backends.openai.refusals import is_refusal
from mmeval.records import ErrorKind, Response
from mmeval.wording import shortened

MAX_MESSAGE_CHARS = 500
MAX_DESCRIBED_BYTES = 65_536
MAX_RETRY_AFTER = 86_400.0
"""Seconds: a server that asks for more than a day gets a day."""

REDACTED = "[redacted]"

MIN_SECRET_CHARS = 16
"""Shorter keys are dummies such as ``EMPTY``, which may be words of an answer."""

_CREDENTIAL = re.compile(r"(?i:\bbearer)[ :]+[^\s\"',;]+|\bsk-[\w-]{6,}")
_QUOTA_CODES = frozenset(
    ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
)
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|window|size)|max_model_len|maximum "
    r"(?:model|sequence|input) length"
    r"|too many (?:input |prompt )?tokens|(?:prompt|input|request) (?:is |was )?too "
    r"(?:long|large)"
    r"|string_above_max_length|reduce the length",
    re.IGNORECASE,
)
_KIND_BY_STATUS: Mapping[int, ErrorKind] = {
    401: "auth",
    402: "auth",
    403: "auth",
    408: "timeout",
    # the server is still at work on a call with the same idempotency key
    409: "rate_limit",
    413: "too_long",
    429: "rate_limit",
}


class CallError(MmevalError):
    """Why a call has no answer; the backend makes it the error of a ``Response``."""

    def __init__(
        self, kind: ErrorKind, text: str, retry_after: float | None = None
    ) -> None:
        self.kind, self.text, self.retry_after = kind, text, retry_after
        super().__init__(f"{kind}: {text}")

    def __reduce__(self) -> tuple[object, ...]:
        return CallError, (self.kind, self.text, self.retry_after)


def bad_reply(text: str) -> CallError:
    """The error for a complete reply that cannot be used."""
    return CallError("bad_reply", text)


def failed(error: MmevalError, secret: str, latency: float = 0.0) -> Response:
    """The response for an error, without the key. A refusal is an answer: without
    parts, as the words are the service's and not the model's."""
    if isinstance(error, CallError):
        text = redacted(error.text, secret)
        response = Response.failed(
            error.kind, text, retry_after=error.retry_after, latency=latency
        )
        return response.as_refused() if error.kind == "refused" else response
    # such as a medium that is gone
    return Response.failed("internal", redacted(str(error), secret), latency=latency)


def redacted(text: str, secret: str) -> str:
    """A message without the key or anything like one, cut to the length of a log
    line."""
    # shorter ones ("x") are dummies for local servers; removing them would only garble
    # the message
    if len(secret) >= 4:
        text = text.replace(secret, REDACTED)
    return shortened(_CREDENTIAL.sub(REDACTED, text), MAX_MESSAGE_CHARS)


def without_key(body: bytes, key: str) -> bytes:
    """A body without a key that the server echoes in it, also one in the escapes of
    JSON (``sk\\u002d...``)."""
    if len(key) < MIN_SECRET_CHARS:
        return body
    body = body.replace(key.encode(), REDACTED.encode())
    if b"\\u00" not in body and b"\\/" not in body:
        return body
    return _spellings(key).sub(rb"\1" + REDACTED.encode(), body)


@lru_cache(maxsize=16)
def _spellings(key: str) -> re.Pattern[bytes]:
    """A key, each character plain or as an escape of JSON; its group are the escaped
    backslashes before an escape."""
    first, *rest = (
        rf"\\u(?i:{ord(char):04x})" + (r"|\\/" if char == "/" else "") for char in key
    )
    others = "".join(
        f"(?:{re.escape(char)}|{escape})"
        for char, escape in zip(key[1:], rest, strict=True)
    )
    return re.compile(
        rf"(?:(?<!\\)((?:\\\\)*)(?:{first})|{re.escape(key[0])}){others}".encode()
    )


def http_error(
    status: int, headers: Mapping[str, str], body: bytes, *, keyed: bool = False
) -> CallError:
    """The error for a status outside 200-299; ``keyed`` says whether a key was sent."""
    message, codes = _described(body)
    text = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    words = body[:MAX_DESCRIBED_BYTES].decode("utf-8", "replace")
    if 400 <= status < 500 and is_refusal(status, words):
        return CallError("refused", f"the service refused the request ({text})")
    return CallError(
        _kind(status, message, codes),
        text + _hint(status, headers, keyed=keyed),
        retry_after(headers),
    )


def error_in_body(error: object) -> CallError:
    """The error in a reply with status 200, as some gateways send it."""
    message, codes = _message_and_codes(error)
    status = next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), 500)
    text = f"the server reports an error: {message}"
    # Without a status of its own the error has that of the reply.
    reported = status if str(status) in codes else 200
    if is_refusal(reported, error):
        return CallError("refused", f"the service refused the request ({text})")
    return CallError(_kind(status, message, codes), text)


def _kind(status: int, message: str, codes: frozenset[str]) -> ErrorKind:
    if status == 429 and codes & _QUOTA_CODES:
        return "auth"  # waiting does not help: the account needs credit
    if status in (400, 422) and (
        "context_length_exceeded" in codes or _TOO_LONG.search(message)
    ):
        return "too_long"
    return _KIND_BY_STATUS.get(status, "server" if status >= 500 else "bad_request")


def _hint(status: int, headers: Mapping[str, str], *, keyed: bool) -> str:
    if status == 401 and keyed:
        return " (the server refuses the key of OPENAI_API_KEY or api_key_file)"
    if status == 401:
        return " (set OPENAI_API_KEY or give api_key_file=FILE)"
    if status in (404, 405):
        return " (check base_url and model)"
    if 300 <= status < 400:
        return (
            f" (redirected to {headers.get('Location', 'nowhere')!r}; give the final "
            "address as base_url)"
        )
    return ""


def retry_after(
    headers: Mapping[str, str], now: datetime | None = None
) -> float | None:
    """Seconds to wait by ``Retry-After``, in seconds or a date; None without it."""
    text = headers.get("Retry-After", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = _seconds_until(text, now or datetime.now(UTC))
    return min(max(seconds, 0.0), MAX_RETRY_AFTER) if math.isfinite(seconds) else None


def _seconds_until(text: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()


def _described(body: bytes) -> tuple[str, frozenset[str]]:
    """The message and the codes of an error body, in any of the servers' forms."""
    text = body[:MAX_DESCRIBED_BYTES].decode("utf-8", "replace").strip()
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text, frozenset()
    return _message_and_codes(
        data.get("error", data) if isinstance(data, dict) else data
    )


def _message_and_codes(error: object) -> tuple[str, frozenset[str]]:
    if not isinstance(error, dict):
        return str(error), frozenset()
    said = error.get("message") or error.get("detail") or error
    codes = frozenset(
        str(error[name]) for name in ("code", "type") if error.get(name) is not None
    )
    return said if isinstance(said, str) else json.dumps(said), codes
