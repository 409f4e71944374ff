from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from mmeval.model_backends.openai.failures import CallError, error_in_body, http_error, redacted, retry_after

KEY = "key-0123456789-abcdef"


def body(**error: Any) -> bytes:
    return json.dumps({"error": error}).encode()


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        pytest.param(400, body(message="no such field"), "bad_request", id="400"),
        pytest.param(400, body(message="x", code="context_length_exceeded"), "too_long", id="context by code"),
        pytest.param(400, body(message="maximum context length is 4096 tokens"), "too_long", id="context by words"),
        pytest.param(422, b'{"detail": [{"msg": "prompt is too long"}]}', "too_long", id="context by detail"),
        pytest.param(401, body(message="bad key"), "auth", id="401"),
        pytest.param(402, b"", "auth", id="402"),
        pytest.param(403, b"", "auth", id="403"),
        pytest.param(404, body(message="no model m"), "bad_request", id="404"),
        pytest.param(408, b"", "timeout", id="408"),
        pytest.param(413, b"", "too_long", id="413"),
        pytest.param(429, body(message="slow down", code="rate_limit_exceeded"), "rate_limit", id="429"),
        pytest.param(429, body(message="pay", code="insufficient_quota"), "auth", id="quota by code"),
        pytest.param(429, body(message="pay", type="insufficient_quota"), "auth", id="quota by type"),
        pytest.param(302, b"", "bad_request", id="redirect"),
        pytest.param(500, body(message="oops"), "server", id="500"),
        pytest.param(503, b"<html>busy</html>", "server", id="503"),
        pytest.param(529, b"", "server", id="529"),
    ],
)
def test_a_status_has_its_kind_of_error(status: int, content: bytes, kind: str) -> None:
    assert http_error(status, {}, content).kind == kind


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"error": {"message": "the reason"}}', id="object"),
        pytest.param(b'{"error": "the reason"}', id="string"),
        pytest.param(b'{"object": "error", "message": "the reason", "code": 400}', id="flat"),
        pytest.param(b'{"detail": "the reason"}', id="detail"),
        pytest.param(b"the reason", id="plain text"),
        pytest.param(b'["the reason"]', id="list"),
    ],
)
def test_the_servers_words_are_kept_whatever_their_shape(content: bytes) -> None:
    assert "HTTP 400: " in http_error(400, {}, content).text
    assert "the reason" in http_error(400, {}, content).text


def test_a_key_that_was_sent_is_said_to_be_refused() -> None:
    assert "the server refuses the key" in http_error(401, {}, b"", keyed=True).text


@pytest.mark.parametrize(
    ("status", "headers", "advice"),
    [
        (401, {}, "OPENAI_API_KEY"),
        (404, {}, "check base_url and model"),
        (307, {"Location": "https://other/v1"}, "https://other/v1"),
    ],
)
def test_an_error_that_the_user_can_mend_says_how(status: int, headers: dict[str, str], advice: str) -> None:
    assert advice in http_error(status, headers, b"").text


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("2", 2.0, id="seconds"),
        pytest.param("0.1", 0.1, id="fraction"),
        pytest.param("-5", 0.0, id="negative"),
        pytest.param("1e9", 86_400.0, id="years"),
        pytest.param("nan", None, id="not a number"),
        pytest.param("Wed, 01 Jan 2025 00:00:30 GMT", 30.0, id="date"),
        pytest.param("Wed, 01 Jan 2025 00:00:30 -0000", 30.0, id="date without zone"),
        pytest.param("Tue, 31 Dec 2024 23:59:00 GMT", 0.0, id="date gone by"),
        pytest.param("soon", None, id="words"),
        pytest.param("", None, id="empty"),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": value}, datetime(2025, 1, 1, tzinfo=UTC)) == seconds


def test_retry_after_is_carried_by_the_error() -> None:
    assert http_error(429, {"Retry-After": "3"}, b"").retry_after == 3.0
    assert http_error(429, {}, b"").retry_after is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param({"code": 429, "message": "busy upstream"}, "rate_limit", id="code"),
        pytest.param({"code": "server_error", "message": "oops"}, "server", id="word"),
        pytest.param("oops", "server", id="string"),
    ],
)
def test_an_error_inside_a_successful_reply_has_its_kind(error: object, kind: str) -> None:
    assert error_in_body(error).kind == kind


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"Incorrect API key provided: {KEY}", id="the key"),
        pytest.param("you sent Authorization: Bearer something.else", id="a bearer"),
        pytest.param("you sent 'Bearer something.else' today", id="a quoted bearer"),
        pytest.param("sk-something.else of another", id="a key by its looks"),
    ],
)
def test_no_key_stays_in_a_message(text: str) -> None:
    clean = redacted(text, KEY)
    assert "[redacted]" in clean
    assert KEY not in clean
    assert "something" not in clean


def test_a_key_across_the_cut_of_a_long_message_leaves_no_half() -> None:
    clean = redacted("x" * 490 + KEY + "y" * 100, KEY)
    assert KEY[:4] not in clean
    assert len(clean) < 510


def test_an_error_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(CallError("rate_limit", "busy", 2.0)))
    assert (copy.kind, copy.text, copy.retry_after) == ("rate_limit", "busy", 2.0)
