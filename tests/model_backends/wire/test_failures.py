import json
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from mmeval.media import Interleaved
from mmeval.model_backends.wire.failures import (
    MAX_MESSAGE_CHARS,
    REDACTED,
    CallError,
    failed,
    redacted,
)
from mmeval.model_backends.wire.replies.server_errors import (
    error_in_body,
    http_error,
    retry_after,
)
from mmeval.records import Response

KEY = "key-0123456789-abcdef"


def body(**error: Any) -> bytes:
    return json.dumps({"error": error}).encode()


LONG = body(message="the context length is 4096")
COUNT = body(message="The input token count (9) exceeds the maximum number of tokens")
SUM = body(message="`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000")
PAY = body(message="pay", type="insufficient_quota")


def test_a_refusal_is_an_answer_without_parts() -> None:
    error = http_error(400, {}, body(code="content_filter", message="filtered"))
    found = failed(error, KEY, latency=1.5)
    assert found == Response(
        Interleaved(()),
        finish_reason="refused",
        latency=1.5,
        warnings=("the service refused the request (HTTP 400: filtered)",),
    )


def test_a_refusal_behind_a_failing_server_is_a_failure_of_the_server() -> None:
    error = http_error(500, {}, body(message="rejected by the safety system"))
    assert error.kind == "server"


@pytest.mark.parametrize(
    ("kind", "replies"),
    [
        (
            "bad_request",
            [(400, body(message="no such field")), (400, PAY), (404, LONG), (404, b"")],
        ),
        ("bad_request", [(302, b""), (499, b"")]),
        (
            "too_long",
            [
                (400, body(code="context_length_exceeded")),
                (400, LONG),
                (422, LONG),
                (413, b""),
            ],
        ),
        ("too_long", [(422, b'{"detail": [{"msg": "prompt is too long"}]}')]),
        ("too_long", [(500, LONG), (400, COUNT), (422, SUM)]),
        ("auth", [(401, body(message="bad key")), (402, b""), (403, b""), (429, PAY)]),
        ("auth", [(429, body(code="insufficient_quota"))]),
        ("timeout", [(408, b"")]),
        (
            "rate_limit",
            [(429, body(message="slow down", code="rate_limit_exceeded")), (409, b"")],
        ),
        (
            "server",
            [(500, body(message="oops")), (503, b"<html>busy</html>"), (529, b"")],
        ),
    ],
)
def test_a_status_has_its_kind_of_error(
    kind: str, replies: list[tuple[int, bytes]]
) -> None:
    found = {http_error(status, {}, content).kind for status, content in replies}
    assert found == {kind}


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


def test_an_error_has_its_kind_and_advice_where_the_user_can_mend_it() -> None:
    assert "refuses the key" in http_error(401, {}, b"", keyed=True).text
    assert "(set MY_KEY" in http_error(401, {}, b"", key_name="MY_KEY").text
    assert all("base_url" in http_error(status, {}, b"").text for status in (404, 405))
    assert (
        "https://other/v1"
        in http_error(307, {"Location": "https://other/v1"}, b"").text
    )
    assert all("nowhere" in http_error(status, {}, b"").text for status in (300, 399))
    assert [http_error(status, {}, b"").text for status in (400, 500)] == [
        "HTTP 400",
        "HTTP 500",
    ]
    errors = [
        {"code": 429, "message": "busy upstream"},
        {"code": "server_error", "message": "oops"},
        "oops",
    ]
    assert [error_in_body(error).kind for error in errors] == [
        "rate_limit",
        "server",
        "server",
    ]
    copy = pickle.loads(pickle.dumps(CallError("rate_limit", "busy", 2.0)))
    assert copy.kind == "rate_limit"
    assert copy.text == "busy"
    assert copy.retry_after == 2.0


@pytest.mark.parametrize(
    ("content", "argument"),
    [
        (
            body(message="Use 'max_completion_tokens' instead."),
            "max_tokens_field=max_completion_tokens",
        ),
        (b'[{"error": {"message": "Unknown name \\"seed\\""}}]', "send_seed=false"),
        (b'{"detail": [{"loc": ["body", "seed"]}]}', "send_seed=false"),
        (body(message="Invalid 'max_output_tokens'"), "max_gen_toks=none"),
        (body(message="Encrypted content is not supported"), "include: null"),
        (body(message="Tool 'image_generation' is not supported"), "outputs"),
    ],
)
def test_a_field_that_a_server_refuses_points_to_its_argument(
    content: bytes, argument: str
) -> None:
    assert argument in http_error(400, {}, content).text
    assert argument not in http_error(500, {}, content).text


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Previous response with id 'resp_1' not found."),
        (404, "Response with id 'resp_1' not found."),
    ],
)
def test_an_answer_that_the_server_has_forgotten_comes_with_the_way_out(
    status: int, message: str
) -> None:
    error = http_error(status, {}, body(message=message))
    assert error.kind == "bad_request"
    assert "state=items" in error.text


def test_retry_after_is_seconds_or_a_date_and_carried_by_the_error() -> None:
    now, day = datetime(2025, 1, 1, tzinfo=UTC), "Wed, 01 Jan 2025 00:00:30"
    given = {
        "2": 2.0,
        "0.1": 0.1,
        "-5": 0.0,
        "1e9": 86_400.0,
        "nan": None,
        "soon": None,
        "": None,
    }
    dates = {
        f"{day} GMT": 30.0,
        f"{day} -0000": 30.0,
        "Tue, 31 Dec 2024 23:59:00 GMT": 0.0,
    }
    for value, seconds in {**given, **dates}.items():
        assert retry_after({"Retry-After": value}, now=now) == seconds, value
    for headers, seconds in (({"Retry-After": "3"}, 3.0), ({}, None)):
        error = http_error(429, headers, b"")
        assert isinstance(error, CallError)
        assert error.retry_after == seconds


WORDS = body(message="Please try again in 1m2s.")
RESET = {
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "20ms",
    "x-ratelimit-remaining-tokens": "5",
    "x-ratelimit-reset-tokens": "6m0s",
}
INFO = json.dumps(
    {"error": {"message": "x", "details": [{"retryDelay": "1.5s"}]}}
).encode()


@pytest.mark.parametrize(
    ("headers", "content", "seconds"),
    [
        ({"retry-after-ms": "20", "Retry-After": "9"}, WORDS, 0.02),
        ({"Retry-After": "9", **RESET}, WORDS, 9.0),
        (RESET, WORDS, 0.02),
        ({}, INFO, 1.5),
        ({}, WORDS, 62.0),
    ],
    ids=["milliseconds", "Retry-After", "reset", "RetryInfo", "words"],
)
def test_the_seconds_to_wait_are_those_of_the_first_that_states_them(
    headers: dict[str, str], content: bytes, seconds: float
) -> None:
    error = http_error(429, headers, content)
    assert isinstance(error, CallError)
    assert error.retry_after == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("too_long", 500, {"message": "exceeds the available context size"}),
        ("too_long", 429, {"message": "Request too large for m: Limit 3, ..."}),
        ("too_long", 429, {"message": "Limit 30,000, Requested 50,000."}),
        ("rate_limit", 429, {"message": "Limit 30,000, Requested 5,000."}),
        ("auth", 400, {"details": [{"reason": "API_KEY_INVALID"}], "message": "x"}),
        ("auth", 429, {"code": "billing_hard_limit_reached"}),
        ("timeout", 504, {"message": "upstream"}),
    ],
)
def test_errors_that_cannot_pass_are_not_repeated(
    kind: str, status: int, error: dict[str, Any]
) -> None:
    assert http_error(status, {}, body(**error)).kind == kind


@pytest.mark.parametrize("status", [402, 503])
def test_a_server_that_says_when_is_asked_again_then(status: int) -> None:
    assert http_error(status, {"Retry-After": "2"}, b"").kind == "rate_limit"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'[{"error": {"message": "no field seed", "status": "X"}}]', "no field seed"),
        (
            b'{"detail": [{"loc": ["body", "top_p"], "msg": "is too large"}]}',
            "top_p: is too large",
        ),
        (
            b'{"error": {"message": "Provider error", "metadata": '
            b'{"raw": "{\\"error\\": {\\"message\\": \\"no seed\\"}}"}}}',
            "Provider error; no seed",
        ),
        (b'data: {"error": {"message": "busy"}}\n\n', "busy"),
        (b'{"error": {"reason": "busy", "load": 7}}', "busy"),
    ],
)
def test_a_message_is_in_plain_words(content: bytes, words: str) -> None:
    text = http_error(418, {}, content).text
    assert words in text
    assert not set("{[]}") & set(text)


def test_no_key_stays_in_a_message_which_is_cut_after_they_are_gone() -> None:
    bearer = (
        "Authorization: Bearer something.else",
        "'Bearer something.else' today",
        "sk-something",
    )
    for text in (f"the key: {KEY}", *bearer):
        clean = redacted(text, [KEY])
        assert REDACTED in clean
        assert KEY not in clean
        assert "something" not in clean
    assert redacted("x" * 490 + KEY + "y" * 100, [KEY]) == "x" * 490 + REDACTED + "..."
    assert redacted("x" * 500, [KEY]) == "x" * 500
    assert redacted("x" * 501, [KEY]) == "x" * 500 + "..."
    assert redacted("abc", ["abc"]) == "abc"
    assert redacted("abcd", ["abcd"]) == REDACTED
    assert MAX_MESSAGE_CHARS == 500


def test_the_way_out_stands_behind_a_long_message() -> None:
    text = http_error(400, {}, body(message="temperature is not supported " * 90)).text
    assert "temperature=none" in redacted(text, [])


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("auth", {"code": "insufficient_quota"}),
        ("rate_limit", {"code": "rate_limit_exceeded", "type": "server_error"}),
        ("server", {"code": "vector_store_timeout"}),
        ("bad_request", {"code": "invalid_image_format", "type": "server_error"}),
        ("refused", {"code": "image_content_policy_violation"}),
    ],
)
def test_the_code_of_an_error_in_a_reply_decides_before_its_type(
    kind: str, error: dict[str, Any]
) -> None:
    assert error_in_body(error).kind == kind


def test_what_is_used_of_a_limit_is_no_part_of_a_request() -> None:
    error = {"message": "Limit 30,000, Used 10, Requested 50,000."}
    assert http_error(429, {}, body(**error)).kind == "too_long"


def test_an_error_as_python_prints_it_is_in_plain_words() -> None:
    printed = "{'error': {'message': 'busy', 'code': None}}"
    assert error_in_body({"message": printed}).text.endswith(": busy")
