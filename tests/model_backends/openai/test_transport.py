from __future__ import annotations

import asyncio
import gzip
import json
import os
import socket
from typing import Any

import pytest

from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.transport import LARGE_BODY, environment_proxy
from mmeval.records.response import ErrorInfo
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import PNG, data_uri, generate, generate_all, medium, request
from tests.support.scripted_server import Scripted, ScriptedServer, saying

KEY = "key-0123456789-abcdef"


def failure(url: str, **arguments: Any) -> ErrorInfo:
    response = generate(url, request("q"), **arguments)
    assert response.error is not None
    assert response.output is None
    return response.error


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        pytest.param({"rate_429": 1.0}, "rate_limit", id="429"),
        pytest.param({"rate_500": 1.0}, "server", id="500"),
        pytest.param({"rate_timeout": 1.0, "hang": 30.0}, "timeout", id="silence"),
        pytest.param({"rate_slow": 1.0, "hang": 30.0}, "timeout", id="trickle"),
        pytest.param({"rate_disconnect": 1.0}, "connection", id="disconnect"),
        pytest.param({"rate_truncated": 1.0}, "connection", id="truncated"),
        pytest.param({"rate_malformed": 1.0}, "bad_reply", id="malformed"),
    ],
)
def test_a_fault_has_its_kind_of_error(fault: dict[str, float], kind: str) -> None:
    with MockServer(**fault) as server:
        assert failure(server.url, timeout=0.3).kind == kind
        assert server.stats()["requests"] == 1  # nothing is asked again here


def test_retry_after_reaches_the_caller() -> None:
    with MockServer(rate_429=1.0, retry_after=1.5) as server:
        assert failure(server.url).retry_after == 1.5


def test_a_server_that_is_not_there_is_unreachable_and_named() -> None:
    with ScriptedServer(Scripted()) as server:
        url = server.url
    error = failure(url)
    address = url.removeprefix("http://").removesuffix("/v1")
    assert (error.kind, error.message) == ("unreachable", f"{address} cannot be reached (Connection refused)")


def test_a_host_that_does_not_exist_is_unreachable_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    error = failure("http://no-such-host.invalid/v1")
    assert (error.kind, "no-such-host.invalid" in error.message) == ("unreachable", True)


def test_a_host_that_takes_no_connection_in_time_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.model_backends.openai.transport.CONNECT_TIMEOUT", 0.1)
    with socket.socket() as full:  # a queue of one that is never emptied: the system drops what comes after
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname()), socket.socket() as second:
            second.setblocking(False)
            second.connect_ex(full.getsockname())
            error = failure(f"http://127.0.0.1:{full.getsockname()[1]}/v1", timeout=30)
    assert error.kind == "unreachable"


def test_a_connection_closed_before_any_answer_is_a_connection_error() -> None:
    with ScriptedServer(Scripted(cut=0)) as server:
        assert failure(server.url).kind == "connection"


def test_a_reply_that_is_no_http_is_a_bad_reply() -> None:
    with ScriptedServer(Scripted(b"x", headers={"Content-Length": "minus one"})) as server:
        assert failure(server.url).kind == "bad_reply"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Scripted(b"x" * 2000), id="declared"),
        pytest.param(Scripted(b"x" * 2000, endless=True), id="not declared"),
        pytest.param(Scripted(gzip.compress(b"x" * 9000), headers={"Content-Encoding": "gzip"}), id="packed"),
    ],
)
def test_a_reply_above_the_limit_is_refused(answer: Scripted) -> None:
    with ScriptedServer(answer) as server:
        error = failure(server.url, max_reply_bytes=1000)
    assert (error.kind, "1000 bytes" in error.message) == ("bad_reply", True)


def test_replies_without_length_and_packed_replies_are_read() -> None:
    said = saying(content="hello")
    packed = Scripted(gzip.compress(said.payload), headers={"Content-Encoding": "gzip"})
    with ScriptedServer(Scripted(said.body, endless=True), packed) as server:
        assert [r.text for r in generate_all(server.url, [request("q"), request("q")])] == ["hello", "hello"]


def test_a_body_above_the_size_of_one_piece_arrives_whole() -> None:
    picture = PNG + os.urandom(LARGE_BODY)
    with ScriptedServer(saying(content="seen", images=[data_uri(picture, "image/png")])) as server:
        response = generate(server.url, request(medium(picture)))
    url = server.seen[0].json["messages"][0]["content"][0]["image_url"]["url"]
    assert url == data_uri(picture, "image/png")
    assert response.output is not None
    assert response.output.media()[0].read() == picture


def test_a_redirect_is_not_followed() -> None:
    with ScriptedServer(Scripted(status=307, headers={"Location": "http://localhost:1/elsewhere"})) as server:
        error = failure(server.url)
    assert (error.kind, "localhost:1/elsewhere" in error.message) == ("bad_request", True)
    assert len(server.seen) == 1


def test_the_headers_carry_key_and_organization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ScriptedServer(saying(content="x")) as server:
        generate(server.url, request("q"), organization="org-1", project="proj-1")
    headers = server.seen[0].headers
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert (headers["OpenAI-Organization"], headers["OpenAI-Project"]) == ("org-1", "proj-1")
    assert (headers["Content-Type"], headers["Accept-Encoding"]) == ("application/json", "identity")


def test_without_a_key_no_authorization_is_sent() -> None:
    with ScriptedServer(saying(content="x")) as server:
        generate(server.url, request("q"))
    assert "Authorization" not in server.seen[0].headers


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_a_server_that_echoes_the_key_gets_it_into_no_record(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    echo = {"choices": [{"message": {"content": f"you sent Bearer {KEY}"}}], "model": KEY}
    error = {"error": {"message": f"headers: {{'Authorization': 'Bearer {KEY}'}}", "code": KEY}}
    with ScriptedServer(Scripted(echo if status == 200 else error, status=status)) as server:
        response = generate(server.url, request("q"))
    assert KEY not in json.dumps(response.to_json())
    assert KEY not in repr(response)


def test_a_stand_in_key_may_be_a_word_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    with ScriptedServer(saying(content="the EMPTY set")) as server:
        assert generate(server.url, request("q")).text == "the EMPTY set"


def test_the_proxy_of_the_environment_is_used_but_not_for_local_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "direct.example.com")
    assert environment_proxy("https://api.openai.com/v1") == "http://proxy:3128"
    assert environment_proxy("https://direct.example.com/v1") is None
    assert environment_proxy("https://localhost/v1") is None


@pytest.mark.parametrize("endless", [False, True], ids=["declared length", "no length"])
def test_a_cancelled_call_leaves_no_connection_behind(endless: bool) -> None:
    """The reply stops half-way; the caller gives up while it is being read."""

    async def give_up(url: str) -> int:
        backend = OpenAIBackend(model="m", base_url=url)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(backend.generate(request("q")), 0.2)
        connector = backend._transport._session.connector  # type: ignore[union-attr]  # made by the call
        left = len(connector._acquired)  # type: ignore[union-attr]
        await backend.close()
        return left

    with ScriptedServer(Scripted(b"x" * 100, cut=50, endless=endless, linger=1.0)) as server:
        assert asyncio.run(give_up(server.url)) == 0
