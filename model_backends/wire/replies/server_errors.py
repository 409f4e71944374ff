"""Reads the errors of servers in any form.

An error consists of a message, a kind, a time to wait before a retry, and a hint for
the user.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.replies.events import Event, events, is_stream
from mmeval.model_backends.wire.replies.refusals import is_refusal
from mmeval.records import ErrorKind
from mmeval.system.wording import shortened

MAX_DESCRIBED_BYTES = 65_536
_SHOWN_CHARS = 350
"""Maximum length of the server's message, so that a hint fits after it."""
MAX_RETRY_AFTER = 86_400.0
"""Maximum wait in seconds: one day."""

_QUOTA_OF_0 = "quota_of_0"
"""mmeval's own code for a quota of 0 at Google."""
_QUOTA_CODES = frozenset(("insufficient_quota", "api_key_invalid", _QUOTA_OF_0))
_LONG_CODES = frozenset(
    (
        "context_length_exceeded",
        "exceed_context_size_error",
        "string_above_max_length",
    )
)
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|window|size)|max_model_len"
    r"|maximum (?:model|sequence|input) length|longer than the model's"
    r"|too many (?:input |prompt )?tokens"
    r"|(?:prompt|input|request)(?: content| context)? (?:is |was )?too (?:long|large)"
    r"|input token count[^.]{0,80}(?:exceeds|only supports)"
    r"|string_above_max_length|reduce the length"
    r"|must be <= \d+\. given|payload size exceeds",
    re.IGNORECASE,
)
_LONG_STATUSES = (400, 413, 422, 500)
_LIMIT = re.compile(
    r"\blimit:? ([\d,]+),(?: used:? [\d,]+,)? requested:? ([\d,]+)", re.IGNORECASE
)
_USED_UP = re.compile(r"per_?day|\blimit: 0(?!\.?\d)", re.IGNORECASE)
"""Matches Google's messages and quota names for a daily quota or a quota of 0."""
_KEY_REFUSED = re.compile(r"api key (?:not valid|expired|not found)", re.IGNORECASE)
_TOO_LARGE = re.compile(r"request too large", re.IGNORECASE)
_TRY_AGAIN = re.compile(
    r"(?:try again|retry) in ((?:[\d.]+\s*(?:ms|h|m|s)\s*)+)", re.IGNORECASE
)
_DURATION = re.compile(r"([\d.]{1,20})\s{0,8}(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_STATUS = re.compile(r"[45]\d\d")
_STATUS_OF_CODE: Mapping[str, int] = {
    "authentication_error": 401,
    "bad_request": 400,
    "badrequesterror": 400,
    "data_residency_mismatch": 400,
    "empty_image_file": 400,
    "failed_to_download_image": 400,
    "image_file_not_found": 400,
    "image_file_too_large": 400,
    "image_parse_error": 400,
    "image_too_large": 400,
    "image_too_small": 400,
    "invalid_base64_image": 400,
    "invalid_image": 400,
    "invalid_image_format": 400,
    "invalid_image_mode": 400,
    "invalid_image_url": 400,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 503,
    "permission_error": 403,
    "insufficient_quota": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "unsupported_image_media_type": 400,
    "vector_store_timeout": 500,
    # statuses of Google
    "aborted": 409,
    "deadline_exceeded": 504,
    "failed_precondition": 400,
    "invalid_argument": 400,
    "not_found": 404,
    "permission_denied": 403,
    "resource_exhausted": 429,
    "unauthenticated": 401,
    "unavailable": 503,
}
_KIND_BY_STATUS: Mapping[int, ErrorKind] = {
    401: "auth",
    402: "auth",
    403: "auth",
    408: "timeout",
    # the server is still processing a call with the same idempotency key
    409: "rate_limit",
    413: "too_long",
    429: "rate_limit",
    504: "timeout",
}
_HINTS: tuple[tuple[str, str], ...] = (
    (
        r"max_tokens(?!_)|use .?max_completion_tokens.? instead",
        "set max_tokens_field=max_completion_tokens, or leave it out with "
        "--gen_kwargs max_gen_toks=none",
    ),
    (
        r"max_completion_tokens|max_?output_?tokens",
        "leave it out with --gen_kwargs max_gen_toks=none",
    ),
    (r"temperature", "leave it out with --gen_kwargs temperature=none"),
    (r"top_?p", "leave it out with --gen_kwargs top_p=none"),
    (r"top_?k", "leave it out with --gen_kwargs top_k=none"),
    (r"seed", "set send_seed=false"),
    (r"stop(?:_?sequences)?", "leave it out with --gen_kwargs until=none"),
    (
        r"thinking_?config|include_?thoughts|thinking_?summaries"
        r"|thinking is not (?:enabled|supported)",
        "set thoughts=false",
    ),
    (r"image_?(?:config|size)|aspect_?ratio", "leave out the options image.*"),
    (r"speech_?config|voice_?name", "name a voice of the model with voice=NAME"),
    (r"response_?modalities", "declare the model's output kinds with outputs"),
    (
        r"response_format",
        "leave out image_response_format (for pictures) or response_format (for chats)",
    ),
    (r"encrypted[_ ]content", "set extra_body={include: null}"),
    (r"image_generation", "declare the model's output kinds with outputs"),
    (r"stream_options", "set extra_body={stream_options: null}"),
    (r"modalit(?:y|ies)", "declare the model's output kinds with outputs"),
)
"""Patterns for fields that a server refuses, with hints. The first match is used."""
_ANSWER_FIELDS = frozenset(
    ("candidates", "choices", "data", "images", "output", "steps")
)
"""Fields that occur only in a reply with an answer."""
_NOT_STREAMED = re.compile(
    r"non[- ]?stream|only (?:supports? )?stream|stream(?:ing)? (?:mode )?only"
    r"|stream must be (?:set to )?true|must be streamed",
    re.IGNORECASE,
)
_LOST_ANSWER = re.compile(r"previous[_ ]response|response with id", re.IGNORECASE)
_COMMON_WORDS = ("seed", "stop")
_FIELD_WORDS = re.compile(
    r"unsupported|not support|unknown|unrecognized|unexpected|not (?:allowed|permitted)"
    r"|invalid|extra|refus|must|should|cannot|deprecated|only",
    re.IGNORECASE,
)
"""Words near the name of a refused field.

They are required if the name is a common word.
"""


@dataclass(slots=True)
class ServerError:
    """An error as a server states it.

    It consists of a message, codes, the refused field ``param``, and the ``delay`` in
    seconds before a retry. ``moderated`` is True if moderation is the cause.
    """

    message: str = ""
    codes: dict[str, None] = field(default_factory=dict)
    """The codes in order. Those of the outer error come first."""
    param: str = ""
    delay: float | None = None
    moderated: bool = False

    @property
    def status(self) -> int | None:
        """The HTTP status that the codes state.

        It is used for an error in a reply with status 200.
        """
        for code in self.codes:
            if _STATUS.fullmatch(code):
                return int(code)
        for code in self.codes:
            if code in _STATUS_OF_CODE:
                return _STATUS_OF_CODE[code]
        return None


def http_error(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    keyed: bool = False,
    key_name: str = "",
) -> CallError:
    """Returns the error of a reply with a status outside 200-299.

    ``keyed`` is True if a key was sent. ``key_name`` is the variable with the key.
    """
    body = body[:MAX_DESCRIBED_BYTES]
    if is_stream(body, ""):
        error = read_error([_json_or_text(event.data) for event in events(body)])
    else:
        error = read_error(_json_or_text(body.decode("utf-8", "replace").strip()))
    text = f"HTTP {status}"
    if error.message:
        text = shortened(f"{text}: {error.message}", _SHOWN_CHARS)
    wait = retry_after(headers, error)
    if is_refusal(status, error.codes, error.message, moderated=error.moderated):
        return _refused(text)
    kind = _kind(status, error, wait)
    hint = _hint(status, error)
    # Google answers 400 to an unknown key
    is_about_key = status == 401 or (status == 400 and kind == "auth")
    if hint:
        return CallError(kind, text + hint, wait)
    if is_about_key and keyed:
        hint = f" (the server refuses the key of {key_name} or api_key_file)"
    elif is_about_key:
        hint = f" (set {key_name} or api_key_file=FILE)"
    elif status in (404, 405):
        hint = " (check base_url and model)"
    elif 300 <= status < 400:
        location = headers.get("Location", "nowhere")
        hint = f" (redirected to {location!r}; set base_url to the final address)"
    return CallError(kind, text + hint, wait)


def error_in_body(value: object) -> CallError:
    """Returns the error in a reply with status 200, which some gateways send."""
    error = read_error(value)
    text = shortened(f"the server reports an error: {error.message}", _SHOWN_CHARS)
    wait = retry_after({}, error)
    stated = error.status or 200
    if is_refusal(stated, error.codes, error.message, moderated=error.moderated):
        return _refused(text)
    status = error.status or 500
    kind = _kind(status, error, wait)
    return CallError(kind, text + _hint(status, error), wait)


def _refused(text: str) -> CallError:
    return CallError("refused", f"the service refused the request ({text})")


def reported_error(data: Mapping[str, Any]) -> object:
    """Returns the error in the JSON of a reply with status 200, or None for an answer.

    The object may also be the error itself.
    """
    if data.get("error"):
        return data["error"]
    if data.get("object") == "error" or data.get("type") == "error":
        return data
    if data.keys() & _ANSWER_FIELDS:
        return None
    words = data.get("message") or data.get("detail")
    is_error = isinstance(words, list) or (isinstance(words, str) and words)
    return data if is_error else None


def event_object(event: Event) -> dict[str, Any] | None:
    """Returns the JSON object of an event, or None if its data is not an object.

    Raises CallError for an event that contains an error.
    """
    row = event.json()
    error = error_in_list(event.data) if row is None else reported_error(row)
    if error is None and event.name == "error":
        error = row or event.data
    if error is not None:
        raise error_in_body(error)
    return row


def missing_end(content: str, cut_reason: str) -> CallError:
    """Returns the error for a stream without an end.

    ``cut_reason`` states why the end is missing, if this is known.
    """
    reason = cut_reason or "the connection was closed"
    return CallError("connection", f"the stream of {content} has no end ({reason})")


def error_in_list(value: object) -> object:
    """Returns the error in a list or in the JSON of a list, or None without one."""
    if isinstance(value, str):
        value = _json_or_text(value)
    if not isinstance(value, list):
        return None
    for item in value:
        if isinstance(item, dict):
            error = reported_error(item)
            if error is not None:
                return error
    return None


def _kind(
    status: int,
    error: ServerError,
    wait: float | None,
) -> ErrorKind:
    is_long = error.codes.keys() & _LONG_CODES or _TOO_LONG.search(error.message)
    if status in _LONG_STATUSES and is_long:
        return "too_long"
    if status == 429 and _has_no_credit(error):
        return "auth"  # a retry does not help
    if status == 429:
        # a single request above the limit can never succeed
        numbers = _LIMIT.search(error.message)
        is_above_limit = False
        if numbers is not None:
            limit = int(numbers[1].replace(",", "") or 0)
            requested = int(numbers[2].replace(",", "") or 0)
            is_above_limit = limit < requested
        if is_above_limit or _TOO_LARGE.search(error.message):
            return "too_long"
    is_refused = "api_key_invalid" in error.codes or _KEY_REFUSED.search(error.message)
    if status == 400 and is_refused:
        return "auth"
    if status in (402, 503) and wait is not None:
        return "rate_limit"
    return _KIND_BY_STATUS.get(status, "server" if status >= 500 else "bad_request")


def _has_no_credit(error: ServerError) -> bool:
    """Returns True if a quota is used up and is not renewed soon."""
    if error.codes.keys() & _QUOTA_CODES:
        return True
    if any(code.startswith("billing_") for code in error.codes):
        return True
    words = " ".join((error.message, *error.codes))
    return _USED_UP.search(words) is not None


def _hint(status: int, error: ServerError) -> str:
    """Returns a hint for a field of the request that the server refuses."""
    if status in (400, 404) and _LOST_ANSWER.search(f"{error.param} {error.message}"):
        return (
            " (the server did not keep the earlier answer, or has deleted it: set "
            "state=items, or start a new run with --run_id)"
        )
    if status not in (400, 422):
        return ""
    if _NOT_STREAMED.search(error.message):
        return " (set stream=true)"
    is_about_fields = _FIELD_WORDS.search(error.message) is not None
    for name, hint in _HINTS:
        words = error.param
        if is_about_fields or name not in _COMMON_WORDS:
            words += f" {error.message}"
        if re.search(rf"(?<![A-Za-z_]){name}(?![A-Za-z])", words, re.IGNORECASE):
            return f" ({hint})"
    return ""


# --- when to retry --------------------------------------------------------------------


def retry_after(
    headers: Mapping[str, str],
    error: ServerError | None = None,
    now: datetime | None = None,
) -> float | None:
    """Returns the seconds to wait, or None if they are not stated.

    The headers or the error's message may state the seconds.
    """
    seconds = _number(headers.get("retry-after-ms", ""), 0.001)
    if seconds is None:
        seconds = _seconds_or_date(headers.get("Retry-After", "").strip(), now)
    if seconds is None:
        seconds = _longest_reset(headers)
    if seconds is None and error is not None:
        seconds = error.delay
        again_in = _TRY_AGAIN.search(error.message)
        if seconds is None and again_in is not None:
            seconds = _duration(again_in[1])
    if seconds is None:
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)


def _number(text: str, unit: float = 1.0) -> float | None:
    try:
        seconds = float(text) * unit
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _seconds_or_date(text: str, now: datetime | None) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        return seconds if math.isfinite(seconds) else None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return (date - (now or datetime.now(UTC))).total_seconds()


def _longest_reset(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds until the used-up limits are reset, or None.

    Replies always state both limits. None means that none of them is used up.
    """
    waits = []
    for name in ("requests", "tokens"):
        wait = _duration(headers.get(f"x-ratelimit-reset-{name}", ""))
        if wait is None:
            continue
        if headers.get(f"x-ratelimit-remaining-{name}", "0").strip() == "0":
            waits.append(wait)
    return max(waits, default=None)


def _duration(text: str) -> float | None:
    """Converts a duration such as ``20ms``, ``1m2s`` or ``1.5`` to seconds."""
    pieces = _DURATION.findall(text)
    if not pieces:
        return _number(text)
    seconds = 0.0
    for count, unit in pieces:
        seconds += _number(count, _SECONDS[unit]) or 0.0
    return seconds


# --- forms of errors ------------------------------------------------------------------


def read_error(value: object) -> ServerError:
    """Reads an error that is an object, a string, or a list of these."""
    error = ServerError()
    messages = dict.fromkeys(_messages(value, error, 0))
    error.message = "; ".join(messages)
    return error


def _messages(
    value: object,
    error: ServerError,
    depth: int,
) -> Iterator[str]:
    """Yields the messages in an error, and adds its codes to ``error``."""
    if depth > 6:
        return
    if isinstance(value, str):
        inner = _json_or_text(value)
        if inner is value or not isinstance(inner, dict | list):
            yield value
        else:
            yield from _messages(inner, error, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _messages(item, error, depth + 1)
    elif isinstance(value, dict):
        yield from _messages_of_object(value, error, depth)
    elif value is not None:
        yield str(value)


def _messages_of_object(
    row: Mapping[str, Any], error: ServerError, depth: int
) -> Iterator[str]:
    _add_codes(row, error)
    before = len(error.codes)
    has_words = False
    for name in ("error", "message", "msg", "detail", "error_description", "errors"):
        if row.get(name) in (None, "", [], {}):
            continue
        for text in _messages(row[name], error, depth + 1):
            has_words = True
            location = row.get("loc") if name == "msg" else None
            yield f"{_path(location)}: {text}" if location else text
    metadata = row.get("metadata")
    if isinstance(metadata, dict):
        if metadata.get("reasons") or metadata.get("flagged_input"):
            error.moderated = True
        raw = metadata.get("raw")
        if raw:
            has_words = True
            yield from _messages(raw, error, depth + 1)
    for name in ("innererror", "details"):
        inner = row.get(name)
        items = inner if isinstance(inner, list) else [inner]
        for item in items:
            if isinstance(item, dict):
                _add_codes(item, error)
                _add_quotas(item, error)
    if not has_words and len(error.codes) == before:
        plain = [
            f"{name}: {value}"
            for name, value in row.items()
            if isinstance(value, str | int | float)
        ]
        if plain:
            yield ", ".join(plain)


def _add_codes(row: Mapping[str, Any], error: ServerError) -> None:
    for name in ("code", "type", "status", "reason"):
        value = row.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            error.codes.setdefault(str(value).lower())
    param = row.get("param")
    if isinstance(param, str):
        error.param = error.param or param
    error.param = error.param or _path(row.get("loc", ""))
    delay = row.get("retryDelay")
    if isinstance(delay, str) and error.delay is None:
        error.delay = _duration(delay)


def _add_quotas(row: Mapping[str, Any], error: ServerError) -> None:
    """Adds the names of used-up quotas as codes."""
    violations = row.get("violations")
    if not isinstance(violations, list):
        return
    for violation in violations:
        if not isinstance(violation, dict):
            continue
        name = violation.get("quotaId")
        if isinstance(name, str):
            error.codes.setdefault(name.lower())
        if str(violation.get("quotaValue")) == "0":
            error.codes.setdefault(_QUOTA_OF_0)


def _path(location: object) -> str:
    """Returns the path of a field.

    For example, the path of ``["body", "temperature"]`` is ``temperature``.
    """
    if not isinstance(location, list):
        return str(location)
    names = [str(name) for name in location if name != "body"]
    return ".".join(names) or "body"


def _json_or_text(text: str) -> Any:
    """Returns the value of a string that is JSON or a Python literal, else the string.

    Some gateways print their provider's error as a Python object.
    """
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
