from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.contract import ModelBackend
from mmeval.backend.create import create_backend
from mmeval.content.media import Media
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.backend import OFFLOAD_BYTES
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import MP4, PNG, generate, generate_all, medium, request
from tests.support.scripted_server import ScriptedServer, saying

LOCAL = "http://localhost:8000/v1"
KEY = "key-0123456789-abcdef"


def test_the_plugin_name_makes_a_model_backend() -> None:
    backend = create_backend("openai", {"model": "m", "base_url": LOCAL})
    assert isinstance(backend, OpenAIBackend)
    assert isinstance(backend, ModelBackend)


def test_a_text_request_is_answered(mock_server: MockServer) -> None:
    response = generate(mock_server.url, request("hello"))
    assert response.error is None
    assert response.text.startswith("mock ")
    assert (response.served, response.usage.input_tokens > 0, response.latency > 0) == ("m", True, True)


def test_many_calls_run_at_once_over_one_session() -> None:
    with MockServer(latency=0.2) as server:

        async def ask() -> list[str]:
            backend = OpenAIBackend(model="m", base_url=server.url)
            replies = await asyncio.gather(*(backend.generate(request(f"q{i}")) for i in range(50)))
            await backend.close()
            return [reply.text for reply in replies]

        assert len(set(asyncio.run(ask()))) == 50
        assert server.stats()["max_concurrency"] == 50


def test_connections_are_used_again(mock_server: MockServer) -> None:
    peak = 0

    async def ask() -> None:
        nonlocal peak
        backend = OpenAIBackend(model="m", base_url=mock_server.url)
        for number in range(5):
            await backend.generate(request(f"q{number}"))
            peak = max(peak, mock_server.stats()["connections"])
        await backend.close()

    asyncio.run(ask())
    assert peak == 1


def test_a_closed_backend_opens_again(mock_server: MockServer) -> None:
    async def ask() -> str:
        backend = OpenAIBackend(model="m", base_url=mock_server.url)
        await backend.generate(request("one"))
        await backend.close()
        await backend.close()
        reply = await backend.generate(request("two"))
        await backend.close()
        return reply.text

    assert asyncio.run(ask())


@pytest.mark.parametrize(
    ("asked", "kind", "named"),
    [
        pytest.param(request("q", options={"image.sise": 1}), "bad_request", "image.sise", id="unknown option"),
        pytest.param(request("q", wants=("image",)), "unsupported", "image", id="output not declared"),
        pytest.param(request(medium(MP4)), "unsupported", "video", id="input not declared"),
    ],
)
def test_a_request_that_cannot_be_sent_fails_without_being_sent(asked: Any, kind: str, named: str) -> None:
    with ScriptedServer(saying(content="x")) as server:
        response = generate(server.url, asked)
    assert response.error is not None
    assert (response.error.kind, named in response.error.message) == (kind, True)
    assert server.seen == []


def test_a_medium_that_has_gone_fails_its_request_alone(tmp_path: Path, mock_server: MockServer) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(PNG)
    gone = Media.from_path(file)
    assert gone.mime == "image/png"
    file.unlink()
    lost, sound = generate_all(mock_server.url, [request(gone), request("q")])
    assert lost.error is not None
    assert (lost.error.kind, str(file) in lost.error.message) == ("internal", True)
    assert sound.error is None


def test_large_media_are_encoded_and_decoded_as_small_ones_are() -> None:
    picture = PNG + bytes(OFFLOAD_BYTES)
    with ScriptedServer(saying(content="x" * (OFFLOAD_BYTES + 1))) as server:
        response = generate(server.url, request("see", medium(picture)))
    assert len(server.seen[0].json["messages"][0]["content"][1]["image_url"]["url"]) > OFFLOAD_BYTES
    assert len(response.text) == OFFLOAD_BYTES + 1


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        pytest.param({"model": "other"}, False, id="model"),
        pytest.param({"revision": "2"}, False, id="revision"),
        pytest.param({"base_url": "http://localhost:9/v1"}, False, id="server"),
        pytest.param({"endpoint": "auto"}, False, id="endpoint"),
        pytest.param({"outputs": "text+image"}, False, id="outputs"),
        pytest.param({"send_seed": False}, False, id="seed"),
        pytest.param({"max_tokens_field": "max_completion_tokens"}, False, id="limit of tokens"),
        pytest.param({"image_response_format": "b64_json"}, False, id="format of pictures"),
        pytest.param({"timeout": 5}, True, id="timeout"),
        pytest.param({"organization": "org"}, True, id="organization"),
        pytest.param({"inputs": "text"}, True, id="inputs"),
        pytest.param({"base_url": LOCAL + "/"}, True, id="a slash"),
    ],
)
def test_identity_changes_with_what_changes_answers(change: dict[str, Any], kept: bool) -> None:
    before = OpenAIBackend(model="m", base_url=LOCAL)
    after = OpenAIBackend(**{"model": "m", "base_url": LOCAL, **change})
    assert (before.identity == after.identity) is kept
    assert json.loads(json.dumps(before.identity)) == before.identity


def test_the_key_shows_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    backend = OpenAIBackend(model="m", base_url=LOCAL)
    for shown in (repr(backend), repr(backend._settings), str(backend.identity), str(backend.provenance)):
        assert KEY not in shown


def test_provenance_names_the_host_and_the_transport() -> None:
    provenance = OpenAIBackend(model="m", base_url=LOCAL).provenance
    assert provenance["host"] == "localhost"
    assert provenance["aiohttp"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param({"model": ""}, UsageError, id="no model"),
        pytest.param({"base_url": "nonsense"}, UsageError, id="address"),
        pytest.param({"inputs": "text+smell"}, UnknownNameError, id="inputs"),
        pytest.param({"endpoint": "chatt"}, UnknownNameError, id="endpoint"),
        pytest.param({"max_tokens_field": "max"}, UnknownNameError, id="limit of tokens"),
        pytest.param({"timeout": 0}, UsageError, id="timeout"),
        pytest.param({"max_reply_bytes": "many"}, UsageError, id="limit of bytes"),
        pytest.param({"send_seed": "maybe"}, UsageError, id="seed"),
        pytest.param({"organization": "two words"}, UsageError, id="organization"),
        pytest.param({"base_url": ""}, MissingDataError, id="no key for the official server"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_at_once(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        OpenAIBackend(**{"model": "m", "base_url": LOCAL, **arguments})
