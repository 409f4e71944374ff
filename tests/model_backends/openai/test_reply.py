import base64
import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from mmeval.model_backends.openai.failures import CallError
from mmeval.model_backends.openai.reply import (
    decoded,
    fingerprint,
    json_object,
    medium,
    served,
    usage,
)
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


@pytest.mark.parametrize(
    ("reason", "items"),
    [
        ("not fetched.*b64_json", ["https://cdn/picture.png", "file:///etc/passwd"]),
        ("cut off", ["data:image/png;base64"]),
        ("damaged", [URI[:-3], "data:image/png;base64,@@@@", {"b64_json": "äöü"}]),
        ("empty", ["data:,"]),
        (
            "no data",
            [{"type": "widget"}, 17, None, {"url": {"url": {"url": {"url": URI}}}}],
        ),
    ],
)
def test_a_medium_that_cannot_be_had_is_a_bad_reply(
    reason: str, items: list[object]
) -> None:
    for item in items:
        with pytest.raises(CallError, match=reason) as caught:
            medium(item)
        assert caught.value.kind == "bad_reply"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>sign in</html>",
        b'{"choices": [',
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
    ],
    ids=["empty", "html", "cut", "list", "null", "binary", "deep nesting"],
)
def test_a_body_that_is_no_json_object_is_a_bad_reply(body: bytes) -> None:
    with pytest.raises(CallError) as caught:
        json_object(body)
    assert caught.value.kind == "bad_reply"
    assert len(str(caught.value)) < 300


def test_what_the_server_reports_beside_its_answer_is_read() -> None:
    assert usage({"usage": {"prompt_tokens": 3, "completion_tokens": 0}}) == Usage(3, 0)
    assert usage({"usage": {"input_tokens": 3, "output_tokens": 5}}) == Usage(3, 5)
    huge = {"prompt_tokens": 10**399, "completion_tokens": "7"}
    nonsense = (
        {"prompt_tokens": -1, "completion_tokens": True},
        {"input_tokens": math.inf},
        huge,
        None,
        "12",
    )
    assert {usage({"usage": counted}) for counted in nonsense} == {Usage()}
    assert (served({"model": "m-2024"}), served({"model": None})) == ("m-2024", "")
    assert (
        fingerprint({"system_fingerprint": "fp_1"}),
        fingerprint({"system_fingerprint": None}),
    ) == ("fp_1", "")
    with pytest.raises(CallError, match="busy") as caught:
        json_object(json.dumps({"error": {"code": 429, "message": "busy"}}).encode())
    assert caught.value.kind == "rate_limit"
    assert json_object(b'{"error": null, "data": 1}') == {"error": None, "data": 1}
    assert medium("data:image/svg+xml,%3Csvg/%3E").read() == b"<svg/>"
    assert decoded(base64.encodebytes(PNG * 20).decode()) == PNG * 20


@pytest.mark.parametrize("read", [served, fingerprint])
def test_a_name_that_the_server_reports_is_short(
    read: Callable[[dict[str, Any]], str],
) -> None:
    names = {"model": "m" * 10**6, "system_fingerprint": "f" * 10**6}
    assert 0 < len(read(names)) < 300
