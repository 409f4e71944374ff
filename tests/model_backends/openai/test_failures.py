from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from mmeval.model_backends.openai.failures import (
    MAX_MESSAGE_CHARS,
    REDACTED,
    CallError,
    error_in_body,
    http_error,
    redacted,
    retry_after,
)

KEY = "key-0123456789-abcdef"


def body(**error: Any) -> bytes:
    return json.dumps({"error": error}).encode()


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (400, body(message="no such field"), "bad_request"),
        (400, body(message="x", code="context_length_exceeded"), "too_long"),
        (400, body(message="the context length is 4096"), "too_long"),
        (404, body(message="the context length is 4096"), "bad_request"),
        (422, b'{"detail": [{"msg": "prompt is too long"}]}', "too_long"),
        (401, body(message="bad key"), "auth"),
        (402, b"", "auth"),
        (403, b"", "auth"),
        (404, body(message="no model m"), "bad_request"),
        (408, b"", "timeout"),
        (413, b"", "too_long"),
        (429, body(message="slow down", code="rate_limit_exceeded"), "rate_limit"),
        (429, body(message="pay", code="insufficient_quota"), "auth"),
        (429, body(message="pay", type="insufficient_quota"), "auth"),
        (400, body(message="pay", type="insufficient_quota"), "bad_request"),
        (302, b"", "bad_request"),
        (499, b"", "bad_request"),
        (500, body(message="oops"), "server"),
        (503, b"<html>busy</html>", "server"),
        (529, b"", "server"),
    ],
)
def test_a_status_has_its_kind_of_error(status: int, content: bytes, kind: str) -> None:
    assert http_error(status, {}, content).kind == kind


@pytest.mark.parametrize(
    "content",
    [
        b'{"error": {"message": "the reason"}}',
        b'{"error": "the reason"}',
        b'{"object": "error", "message": "the reason", "code": 400}',
        b'{"detail": "the reason"}',
        b"the reason",
        b'["the reason"]',
    ],
)
def test_the_words_of_the_server_are_kept_whatever_their_shape(content: bytes) -> None:
    text = http_error(400, {}, content).text
    assert text.startswith("HTTP 400: ")
    assert "the reason" in text


@pytest.mark.parametrize(
    ("status", "keyed", "headers", "advice"),
    [
        (401, True, {}, "refuses the key"),
        (401, False, {}, "(set OPENAI_API_KEY"),
        (404, False, {}, "base_url"),
        (405, False, {}, "base_url"),
        (307, False, {"Location": "https://other/v1"}, "https://other/v1"),
        (399, False, {}, "nowhere"),
        (300, False, {}, "nowhere"),
    ],
)
def test_an_error_that_the_user_can_mend_has_advice(
    status: int, keyed: bool, headers: dict[str, str], advice: str
) -> None:
    assert advice in http_error(status, headers, b"", keyed=keyed).text


def test_any_other_error_has_no_advice() -> None:
    assert [http_error(status, {}, b"").text for status in (400, 500)] == ["HTTP 400", "HTTP 500"]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        ("0.1", 0.1),
        ("-5", 0.0),
        ("1e9", 86_400.0),
        ("nan", None),
        ("Wed, 01 Jan 2025 00:00:30 GMT", 30.0),
        ("Wed, 01 Jan 2025 00:00:30 -0000", 30.0),
        ("Tue, 31 Dec 2024 23:59:00 GMT", 0.0),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": value}, datetime(2025, 1, 1, tzinfo=UTC)) == seconds


def test_retry_after_is_carried_by_the_error() -> None:
    assert [http_error(429, headers, b"").retry_after for headers in ({"Retry-After": "3"}, {})] == [3.0, None]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "busy upstream"}, "rate_limit"),
        ({"code": "server_error", "message": "oops"}, "server"),
        ("oops", "server"),
    ],
)
def test_an_error_inside_a_successful_reply_has_its_kind(error: object, kind: str) -> None:
    assert error_in_body(error).kind == kind


@pytest.mark.parametrize(
    "text", [f"the key: {KEY}", "Authorization: Bearer something.else", "'Bearer something.else' today", "sk-something"]
)
def test_no_key_stays_in_a_message(text: str) -> None:
    clean = redacted(text, KEY)
    assert REDACTED in clean
    assert KEY not in clean
    assert "something" not in clean


def test_a_message_is_cut_after_its_keys_are_gone_and_short_keys_stay() -> None:
    clean = redacted("x" * 490 + KEY + "y" * 100, KEY)
    assert clean == "x" * 490 + REDACTED + "..."
    assert redacted("x" * 500, KEY) == "x" * 500
    assert redacted("x" * 501, KEY) == "x" * 500 + "..."
    assert (redacted("abc", "abc"), redacted("abcd", "abcd"), MAX_MESSAGE_CHARS) == ("abc", REDACTED, 500)


def test_an_error_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(CallError("rate_limit", "busy", 2.0)))
    assert (copy.kind, copy.text, copy.retry_after) == ("rate_limit", "busy", 2.0)
