import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.replies.reply import (
    fingerprint,
    json_object,
    served,
    usage,
)
from mmeval.records.response import Usage


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
    assert served({"model": "m-2024"}) == "m-2024"
    assert served({"model": None}) == ""
    assert fingerprint({"system_fingerprint": "fp_1"}) == "fp_1"
    assert fingerprint({"system_fingerprint": None}) == ""
    with pytest.raises(CallError, match="busy") as caught:
        json_object(json.dumps({"error": {"code": 429, "message": "busy"}}).encode())
    assert caught.value.kind == "rate_limit"
    with pytest.raises(CallError, match="busy") as caught:
        json_object(b'[{"error": {"code": 429, "message": "busy"}}]')
    assert caught.value.kind == "rate_limit"
    assert json_object(b'{"error": null, "data": 1}') == {"error": None, "data": 1}


@pytest.mark.parametrize("read", [served, fingerprint])
def test_a_name_that_the_server_reports_is_short(
    read: Callable[[dict[str, Any]], str],
) -> None:
    names = {"model": "m" * 10**6, "system_fingerprint": "f" * 10**6}
    assert 0 < len(read(names)) < 300


@pytest.mark.parametrize(
    "body",
    [
        b'[{"error": {"message": "busy", "code": 503}}]',
        b'{"detail": "busy"}',
        b'{"detail": [{"loc": ["body", "n"], "msg": "busy"}]}',
        b'{"message": "busy"}',
    ],
)
def test_an_error_of_status_200_has_its_words(body: bytes) -> None:
    with pytest.raises(CallError, match="busy") as caught:
        json_object(body)
    assert caught.value.kind == "server"


def test_a_count_that_is_null_is_read_in_the_other_spelling() -> None:
    counted = {"prompt_tokens": None, "input_tokens": 3, "output_tokens": 4}
    assert usage({"usage": counted}) == Usage(3, 4)
