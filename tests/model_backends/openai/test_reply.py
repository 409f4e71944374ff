from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mmeval.model_backends.openai.failures import CallError
from mmeval.model_backends.openai.reply import decoded, fingerprint, json_object, medium, served, usage
from mmeval.records.response import Usage
from tests.support.openai_calls import PNG, data_uri

URI = data_uri(PNG, "image/png")
BASE64 = base64.b64encode(PNG).decode()


@pytest.mark.parametrize(
    "item",
    [
        {"type": "image_url", "image_url": {"url": URI}},
        {"type": "output_image", "image_url": URI},
        {"image_url": {"url": URI}},
        {"url": URI},
        {"b64_json": BASE64},
        {"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}},
        {"type": "file", "file": {"file_data": URI}},
        {"b64_json": URI},
        URI,
        URI.replace("data:", "DATA:"),
    ],
    ids=str,
)
def test_a_medium_is_found_in_every_spelling(item: object) -> None:
    assert medium(item).read() == PNG


def test_a_data_uri_without_base64_is_percent_encoded_and_base64_may_have_line_breaks() -> None:
    assert medium("data:image/svg+xml,%3Csvg/%3E").read() == b"<svg/>"
    assert decoded(base64.encodebytes(PNG * 20).decode()) == PNG * 20


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("https://cdn/picture.png", "not fetched.*b64_json"),
        ("file:///etc/passwd", "not fetched"),
        ("data:image/png;base64", "cut off"),
        (URI[:-3], "damaged"),
        ("data:image/png;base64,@@@@", "damaged"),
        ({"b64_json": "äöü"}, "damaged"),
        ("data:,", "empty"),
        ({"type": "widget"}, "no data"),
        (17, "no data"),
        (None, "no data"),
        ({"url": {"url": {"url": {"url": URI}}}}, "no data"),
    ],
    ids=str,
)
def test_a_medium_that_cannot_be_had_is_a_bad_reply(item: object, reason: str) -> None:
    with pytest.raises(CallError, match=reason) as caught:
        medium(item)
    assert caught.value.kind == "bad_reply"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>sign in</html>", b'{"choices": [', b"[]", b"null", b"\xff\xfe", b"[" * 100_000],
    ids=["empty", "html", "cut", "list", "null", "binary", "deep nesting"],
)
def test_a_body_that_is_no_json_object_is_a_bad_reply(body: bytes) -> None:
    with pytest.raises(CallError) as caught:
        json_object(body)
    assert caught.value.kind == "bad_reply"
    assert len(str(caught.value)) < 300


def test_an_error_in_a_successful_reply_is_raised_with_its_kind() -> None:
    with pytest.raises(CallError, match="busy") as caught:
        json_object(json.dumps({"error": {"code": 429, "message": "busy"}}).encode())
    assert caught.value.kind == "rate_limit"
    assert json_object(b'{"error": null, "data": 1}') == {"error": None, "data": 1}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 0}, Usage(3, 0)),
        ({"input_tokens": 3, "output_tokens": 5}, Usage(3, 5)),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        (None, Usage()),
        ("12", Usage()),
    ],
)
def test_usage_is_read_in_both_spellings(data: Any, expected: Usage) -> None:
    assert usage({"usage": data}) == expected


def test_the_model_and_the_state_of_its_software_are_what_the_server_reports() -> None:
    assert (served({"model": "m-2024"}), served({"model": None})) == ("m-2024", "")
    assert (fingerprint({"system_fingerprint": "fp_1"}), fingerprint({"system_fingerprint": None})) == ("fp_1", "")
