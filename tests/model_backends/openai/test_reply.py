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
        pytest.param({"type": "image_url", "image_url": {"url": URI}}, id="image_url object"),
        pytest.param({"type": "output_image", "image_url": URI}, id="image_url string"),
        pytest.param({"image_url": {"url": URI}}, id="no type"),
        pytest.param({"url": URI}, id="url"),
        pytest.param({"b64_json": BASE64}, id="b64_json"),
        pytest.param({"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}}, id="data"),
        pytest.param({"type": "file", "file": {"file_data": URI}}, id="file_data"),
        pytest.param({"b64_json": URI}, id="a data URI where base64 was promised"),
        pytest.param(URI, id="plain string"),
        pytest.param(URI.replace("data:", "DATA:"), id="scheme in capitals"),
    ],
)
def test_a_medium_is_found_in_every_spelling(item: object) -> None:
    assert medium(item).read() == PNG


def test_a_data_uri_without_base64_is_percent_encoded() -> None:
    assert medium("data:image/svg+xml,%3Csvg/%3E").read() == b"<svg/>"


@pytest.mark.parametrize(
    ("item", "said"),
    [
        pytest.param("https://cdn/picture.png", "not fetched.*b64_json", id="link"),
        pytest.param("file:///etc/passwd", "not fetched", id="file"),
        pytest.param("data:image/png;base64", "cut off", id="cut before the data"),
        pytest.param(URI[:-3], "damaged", id="cut in the data"),
        pytest.param("data:image/png;base64,@@@@", "damaged", id="no base64"),
        pytest.param({"b64_json": "äöü"}, "damaged", id="no ascii"),
        pytest.param("data:,", "empty", id="empty"),
        pytest.param({"type": "widget"}, "no data", id="nothing known"),
        pytest.param(17, "no data", id="number"),
        pytest.param(None, "no data", id="null"),
        pytest.param({"url": {"url": {"url": {"url": URI}}}}, "no data", id="nested too deep"),
    ],
)
def test_a_medium_that_cannot_be_had_is_a_bad_reply(item: object, said: str) -> None:
    with pytest.raises(CallError, match=said) as caught:
        medium(item)
    assert caught.value.kind == "bad_reply"


def test_base64_with_line_breaks_is_read() -> None:
    assert decoded(base64.encodebytes(PNG * 20).decode()) == PNG * 20


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>sign in</html>",
        b'{"choices": [',
        b"[]",
        b"null",
        b"\xff\xfe",
        pytest.param(b"[" * 100_000, id="deep nesting"),
    ],
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


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({"prompt_tokens": 3, "completion_tokens": 5}, Usage(3, 5), id="chat"),
        pytest.param({"input_tokens": 3, "output_tokens": 5}, Usage(3, 5), id="images"),
        pytest.param({"prompt_tokens": -1, "completion_tokens": True}, Usage(), id="nonsense"),
        pytest.param(None, Usage(), id="null"),
        pytest.param("12", Usage(), id="string"),
    ],
)
def test_usage_is_read_in_both_spellings(data: Any, expected: Usage) -> None:
    assert usage({"usage": data}) == expected


def test_the_served_model_is_what_the_server_says() -> None:
    assert served({"model": "m-2024"}) == "m-2024"
    assert served({"model": None}) == ""


def test_the_state_of_its_software_is_what_the_server_says() -> None:
    assert fingerprint({"system_fingerprint": "fp_1"}) == "fp_1"
    assert fingerprint({"system_fingerprint": None}) == ""
