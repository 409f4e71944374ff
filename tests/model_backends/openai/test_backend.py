import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from mmeval.broker.scope import Scope
from mmeval.errors import MissingError, UnknownNameError, UsageError
from mmeval.media.media import Media
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.chat import ChatEndpoint
from mmeval.model_backends.wire.backend import OFFLOAD_BYTES
from mmeval.program.calls import MODEL, Call, ask_one
from mmeval.records.response import Response
from tests.support.cli import wait_for
from tests.support.engine import brokered
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import MP4, PNG, failure, generate_all, medium, request
from tests.support.servers import ScriptedServer, saying
from tests.support.toy import sample

LOCAL = "http://localhost:8000/v1"
KEY = "key-0123456789-abcdef"


def test_calls_run_at_once_over_connections_that_are_used_again() -> None:
    """The server answers only when all fifty have arrived. A closed backend opens
    again."""

    async def ask(url: str) -> tuple[int, int]:
        backend = OpenAIBackend(model="m", base_url=url)
        await backend.generate(request("first"))
        await backend.generate(request("second"))
        one = server.stats()["connections"]
        asked = [
            asyncio.create_task(backend.generate(request(f"q{i}"))) for i in range(50)
        ]
        await asyncio.to_thread(
            wait_for, lambda: server.state.in_flight == 50, "fifty calls at once"
        )
        server.let_go()
        replies = await asyncio.gather(*asked)
        await backend.close()
        await backend.close()
        again = await backend.generate(request("again"))
        await backend.close()
        return one, len({reply.text for reply in (*replies, again)})

    with MockServer(hold_after=2) as server:
        assert asyncio.run(ask(server.url)) == (1, 51)
        assert server.stats()["max_concurrency"] == 50


def test_a_request_that_cannot_be_encoded_fails_without_being_sent() -> None:
    with ScriptedServer(saying(content="x")) as server:
        error = failure(server.url, request(medium(MP4)))
    assert error.kind == "unsupported"
    assert "video" in error.message
    assert server.seen == []


def test_a_medium_that_has_gone_fails_its_request_alone(
    tmp_path: Path, mock_server: MockServer
) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(PNG)
    gone = Media.from_path(file)
    assert gone.mime == "image/png"
    file.unlink()
    lost, sound = generate_all(mock_server.url, [request(gone), request("q")])
    assert lost.error is not None
    assert lost.error.kind == "internal"
    assert str(file) in lost.error.message
    assert sound.error is None


def test_large_media_are_encoded_and_decoded_in_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[str] = []
    aside = asyncio.to_thread

    async def seen(function: Any, *args: Any) -> Any:
        threads.append(function.__name__)
        return await aside(function, *args)

    monkeypatch.setattr(asyncio, "to_thread", seen)
    large = request("see", medium(PNG + bytes(OFFLOAD_BYTES)))
    with ScriptedServer(
        saying(content="small"), saying(content="x" * (OFFLOAD_BYTES + 1))
    ) as server:
        small, whole = generate_all(server.url, [request("see", medium(PNG)), large])
    assert (
        len(server.seen[1].json["messages"][0]["content"][1]["image_url"]["url"])
        > OFFLOAD_BYTES
    )
    assert small.text == "small"
    assert len(whole.text) == OFFLOAD_BYTES + 1
    assert threads == ["_encode", "decode"]


def test_a_reply_in_the_connection_is_kept_by_a_run_that_is_left(
    tmp_path: Path,
) -> None:
    """The loop stands still until the server has answered."""

    async def left(server: MockServer) -> int:
        async with brokered(
            tmp_path, model=OpenAIBackend(model="m", base_url=server.url)
        ) as broker:
            call = asyncio.create_task(
                broker.run(ask_one(Call(MODEL, request("q"))), Scope("t", sample("s")))
            )
            await asyncio.to_thread(
                wait_for, lambda: len(server.state.held) == 1, "the call"
            )
            server.let_go()
            wait_for(lambda: server.stats()["answered"] == 1, "the answer")
            server.meanwhile_silent(lambda: None)
            await broker.leave()
            call.cancel()
            await asyncio.wait({call})
            return len(broker.journal)

    with MockServer(hold_after=0) as server:
        assert asyncio.run(left(server)) == 1


def test_a_reply_that_is_being_decoded_is_kept_though_its_call_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on, decode = threading.Event(), threading.Event(), ChatEndpoint.decode

    def slow(*args: Any) -> Response:
        begun.set()
        go_on.wait()
        return decode(*args)

    async def given_up(url: str) -> Response:
        backend = OpenAIBackend(model="m", base_url=url)
        call = asyncio.create_task(backend.generate(request("q")))
        await asyncio.to_thread(begun.wait)
        call.cancel()
        await asyncio.sleep(0)
        go_on.set()
        response = await call
        await backend.close()
        return response

    monkeypatch.setattr(ChatEndpoint, "decode", slow)
    with ScriptedServer(saying(content="x" * OFFLOAD_BYTES)) as server:
        assert asyncio.run(given_up(server.url)).text == "x" * OFFLOAD_BYTES


def test_identity_names_what_changes_answers_and_the_key_shows_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes: list[dict[str, Any]] = [
        {"model": "other"},
        {"revision": "2"},
        {"base_url": "http://localhost:9/v1"},
        {"endpoint": "auto"},
        {"outputs": "text+image"},
        {"send_seed": False},
        {"max_tokens_field": "max_completion_tokens"},
        {"image_response_format": "b64_json"},
        {"image_detail": "low"},
        {"response_format": "json_object"},
        {"stream": True},
        {"extra_body": {"a": 1}},
        {"api_key_header": "api-key"},
        {"query": "a=b"},
        {"image_formats": "png"},
        {"audio_formats": "wav"},
        {"fetch_links": "host"},
        {"images_dialect": "openrouter"},
    ]
    given: dict[str, Any] = {"model": "m", "base_url": LOCAL}
    before = OpenAIBackend(**given).identity
    assert [
        change
        for change in changes
        if OpenAIBackend(**{**given, **change}).identity == before
    ] == []
    later = {"image_detail", "response_format", "stream", "extra_body", "query"}
    assert later & {*before} == set(), "runs of earlier versions go on"
    other = OpenAIBackend(
        model="m",
        base_url=LOCAL + "/",
        timeout=5,
        organization="org",
        inputs="text",
        max_images=1,
    )
    assert other.identity == before == json.loads(json.dumps(before))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    backend = OpenAIBackend(model="m", base_url=LOCAL)
    assert (
        KEY not in f"{backend!r} {backend._settings!r} {backend.identity} "
        f"{backend.provenance}"
    )
    assert backend.provenance["host"] == "localhost"
    assert backend.provenance["aiohttp"]


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (
            UsageError,
            [{"model": ""}, {"max_reply_bytes": "many"}, {"send_seed": "maybe"}],
        ),
        (UsageError, [{"organization": "two words"}, {"project": "ü"}]),
        (UnknownNameError, [{"endpoint": "chatt"}, {"max_tokens_field": "max"}]),
        (UnknownNameError, [{"image_detail": "medium"}, {"response_format": "json"}]),
        (MissingError, [{"base_url": ""}]),
    ],
)
def test_an_unusable_argument_is_refused_at_once(
    error: type[Exception], arguments: list[dict[str, Any]]
) -> None:
    for given in arguments:
        with pytest.raises(error):
            OpenAIBackend(**{"model": "m", "base_url": LOCAL, **given})
