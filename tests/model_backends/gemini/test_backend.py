"""The backend: its identity, its key, and the errors of Google."""

from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.create import create_backend
from mmeval.errors import MissingError, MmevalError, UsageError
from mmeval.model_backends.gemini import GeminiBackend
from mmeval.records import ErrorInfo
from mmeval.run.costs.prices import Prices
from tests.support.gemini import exchanged, generated
from tests.support.openai_calls import request
from tests.support.servers import Scripted

KEY = "AIzaSyA-0123456789abcdefghijklmnopqrstu"
OAK = Scripted(generated({"text": "oak"}))
LOCAL = "http://localhost:9"


def refused(status: int, /, **error: Any) -> ErrorInfo:
    """The error that a reply of this status is."""
    reply = Scripted({"error": {"code": status, **error}}, status)
    response, _ = exchanged(request("q"), reply)
    assert response.error is not None
    return response.error


def test_the_key_is_sent_bare_in_its_header(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    monkeypatch.setenv("GOOGLE_API_KEY", "other")
    for arguments, key in (({"api_key_file": str(file)}, KEY), ({}, "other")):
        seen = exchanged(request("q"), OAK, **arguments)[1]
        assert seen.headers["x-goog-api-key"] == key
        assert "Authorization" not in seen.headers


def test_the_official_server_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    with pytest.raises(MissingError, match="GEMINI_API_KEY"):
        GeminiBackend(model="m")


def test_a_key_in_a_message_is_taken_out() -> None:
    assert KEY not in refused(400, message=f"the key {KEY} is odd").message


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"message": "API key expired. Please renew the API key."}, "auth"),
        (429, {"message": "Quota exceeded for metric: x, limit: 0, model: y"}, "auth"),
        (429, {"message": "Quota exceeded for metric: x, limit: 0.\nRetry."}, "auth"),
        (429, {"message": "Quota exceeded for metric: x, limit: 10"}, "rate_limit"),
        (429, {"message": "Quota exceeded for metric: x, limit: 0.5"}, "rate_limit"),
        (429, {"details": [{"violations": [{"quotaValue": "0"}]}]}, "auth"),
        (
            429,
            {"details": [{"violations": [{"quotaId": "RequestsPerDayPerProject"}]}]},
            "auth",
        ),
        (
            400,
            {"message": "input token count is 9 but model only supports up to 8"},
            "too_long",
        ),
        (500, {"message": "The input context is too long."}, "too_long"),
        (
            400,
            {"message": "Request payload size exceeds the limit: 20971520 bytes."},
            "too_long",
        ),
    ],
)
def test_an_error_of_google_is_of_its_kind(
    status: int, error: dict[str, Any], kind: str
) -> None:
    assert refused(status, **error).kind == kind


def test_a_key_that_google_does_not_take_is_named_by_its_variable() -> None:
    error = refused(400, details=[{"reason": "API_KEY_INVALID"}])
    assert "set GEMINI_API_KEY or api_key_file=FILE" in error.message


@pytest.mark.parametrize(
    ("message", "way_out"),
    [
        ("Thinking is not enabled for models/m", "thoughts=false"),
        ("Unknown name 'stopSequences'", "until=none"),
        ("topK must be at most 40", "top_k=none"),
        ("Invalid responseModalities: IMAGE", "outputs"),
        ("Unsupported imageConfig", "image.*"),
    ],
)
def test_a_refused_field_comes_with_the_way_out(message: str, way_out: str) -> None:
    assert way_out in refused(400, message=message).message


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"model": " "}, "model=NAME"),
        ({"api": "chat"}, "generate"),
        ({"base_url": f"{LOCAL}/v1beta"}, "api_version=v1beta"),
        ({"api_version": "v1/models"}, "api_version"),
        ({"outputs": "text+3d"}, "3d"),
        ({"query": "key=abc"}, "GEMINI_API_KEY"),
        ({"extra_body": {"contents": []}}, "contents"),
        ({"image_formats": "jpeg"}, "png"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(
    arguments: dict[str, Any], word: str
) -> None:
    given = {"model": "m", "base_url": LOCAL, **arguments}
    with pytest.raises(MmevalError, match=word.replace("*", r"\*")):
        create_backend("gemini", given)


def test_a_mistyped_argument_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        create_backend("gemini", {"model": "m", "base_url": LOCAL, "thoughts": "x"})


def test_what_can_change_an_answer_is_the_identity() -> None:
    plain = GeminiBackend(model="m", base_url=LOCAL)
    assert plain.identity["api"] == "generate"
    changes: list[dict[str, Any]] = [
        {"api": "interactions"},
        {"thoughts": False},
        {"voice": "Puck"},
        {"extra_body": {"a": 1}},
        {"image_formats": "png"},
    ]
    for arguments in changes:
        other = GeminiBackend(**{"model": "m", "base_url": LOCAL, **arguments})
        assert other.identity != plain.identity
    same = GeminiBackend(model="models/m", base_url=LOCAL, timeout=1)
    assert same.identity == plain.identity


def test_a_version_may_be_missing_in_the_path() -> None:
    seen = exchanged(request("q"), OAK, api_version="", model="tuned/x")[1]
    assert seen.path.endswith("/tuned/x:generateContent")


def test_the_official_address_has_list_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    backend = GeminiBackend(model="gemini-2.5-flash-image")
    address = backend.identity["base_url"]
    price = Prices({}).of_model(backend.identity["model"], address)
    assert price is not None and price.output == 30
