import asyncio
import gzip
import socket
from typing import Any

import pytest

from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.wire.addresses import environment_proxy
from mmeval.model_backends.wire.transport import HttpReply, ReplyMemory, Transport
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import failure, generate, generate_all, request
from tests.support.servers import (
    Exchange,
    Scripted,
    ScriptedServer,
    WireServer,
    reply,
    saying,
)

KEY = "key-0123456789-abcdef"


@pytest.mark.parametrize(
    ("fault", "timeout", "kind"),
    [
        ({"rate_429": 1.0}, 60, "rate_limit"),
        ({"rate_500": 1.0}, 60, "server"),
        ({"rate_timeout": 1.0, "hang": 30.0}, 0.5, "timeout"),
        ({"rate_slow": 1.0, "hang": 30.0}, 0.5, "timeout"),
        ({"rate_disconnect": 1.0}, 60, "connection"),
        ({"rate_truncated": 1.0}, 60, "connection"),
        ({"rate_malformed": 1.0}, 60, "bad_reply"),
    ],
    ids=str,
)
def test_a_fault_has_its_kind_and_is_not_asked_again(
    fault: dict[str, float], timeout: float, kind: str
) -> None:
    with MockServer(**fault, retry_after=1.5) as server:
        error = failure(server.url, timeout=timeout)
        assert error.kind == kind
        assert error.retry_after == (1.5 if kind == "rate_limit" else None)
        # on a busy machine the time may be over before the request is there
        possible = {0, 1} if kind == "timeout" else {1}
        assert server.stats()["requests"] in possible


def test_a_host_that_is_absent_or_takes_no_connection_is_unreachable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with ScriptedServer(Scripted()) as server:
        url = server.url
    for there in (url, "http://no-such-host.invalid/v1"):
        error = failure(there)
        address = there.removeprefix("http://").removesuffix("/v1")
        assert error.kind == "unreachable"
        assert error.message.startswith(address)
    monkeypatch.setattr("mmeval.model_backends.wire.transport.CONNECT_TIMEOUT", 0.1)
    # a queue of one that is never emptied: the system drops what comes after
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname()), socket.socket() as second:
            second.setblocking(False)
            second.connect_ex(full.getsockname())
            error = failure(f"http://127.0.0.1:{full.getsockname()[1]}/v1", timeout=60)
    assert error.kind == "unreachable"
    assert "0.1 s" in error.message


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Scripted(cut=0), "connection"),
        (Scripted(b"x", headers={"Content-Length": "minus one"}), "bad_reply"),
    ],
    ids=["closed at once", "no http"],
)
def test_a_reply_that_is_none_is_an_error(reply: Scripted, kind: str) -> None:
    with ScriptedServer(reply) as server:
        assert failure(server.url).kind == kind


def packed(reply: bytes) -> Scripted:
    return Scripted(gzip.compress(reply), headers={"Content-Encoding": "gzip"})


def forms(size: int) -> list[Scripted]:
    """Replies of this size: with a declared length, without one, and compressed."""
    body = saying(content="x").payload
    body = body[:-1] + b" " * (size - len(body)) + body[-1:]
    return [Scripted(body), Scripted(body, endless=True), packed(body)]


def test_a_redirect_is_not_followed_and_a_reply_is_read_up_to_the_limit() -> None:
    with ScriptedServer(*forms(1000), *forms(1001)) as server:
        replies = generate_all(server.url, [request("q")] * 6, max_reply_bytes=1000)
    assert [reply.text for reply in replies[:3]] == ["x"] * 3
    errors = [reply.error for reply in replies[3:]]
    assert [(e.kind, "1000 bytes" in e.message) if e else None for e in errors] == [
        ("bad_reply", True)
    ] * 3
    with ScriptedServer(
        Scripted(status=307, headers={"Location": "http://localhost:1/elsewhere"})
    ) as server:
        error = failure(server.url)
    assert error.kind == "bad_request"
    assert "localhost:1/elsewhere" in error.message
    assert len(server.seen) == 1


def test_keys_go_in_headers_and_proxies_are_not_for_local_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ScriptedServer(saying(content="x")) as server:
        generate(server.url, request("q"))
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        generate(server.url, request("q"), organization="org-1", project="proj-1")
    assert (
        server.seen[0]
        .headers.keys()
        .isdisjoint(("Authorization", "OpenAI-Organization", "OpenAI-Project"))
    )
    names = (
        "Authorization",
        "OpenAI-Organization",
        "OpenAI-Project",
        "Content-Type",
        "Accept-Encoding",
    )
    values = [f"Bearer {KEY}", "org-1", "proj-1", "application/json", "identity"]
    assert [server.seen[1].headers[name] for name in names] == values
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    with ScriptedServer(saying(content="the EMPTY set")) as server:
        assert generate(server.url, request("q")).text == "the EMPTY set"
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "direct.example.com")
    assert environment_proxy("https://api.openai.com/v1") == "http://proxy:3128"
    assert environment_proxy("https://direct.example.com/v1") is None
    assert environment_proxy("https://localhost/v1") is None


@pytest.mark.parametrize(
    ("limit", "size", "at_once"),
    [(5000, 2000, 2), (1000, 2000, 1)],
    ids=["two have room", "none has room"],
)
@pytest.mark.parametrize("form", [0, 1], ids=["declared length", "no length"])
def test_large_replies_wait_for_room_and_one_is_always_read(
    limit: int, size: int, at_once: int, form: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmeval.model_backends.wire.transport.LARGE_BODY", 100)
    monkeypatch.setattr("mmeval.model_backends.wire.transport.HELD_BYTES", limit)
    held: list[int] = []
    take = ReplyMemory.take

    async def taken(memory: ReplyMemory, size: int) -> None:
        await take(memory, size)
        held.append(memory.held_bytes)

    monkeypatch.setattr(ReplyMemory, "take", taken)

    async def ask(url: str) -> list[str]:
        backend = OpenAIBackend(model="m", base_url=url, max_reply_bytes=2000)
        replies = await asyncio.gather(
            *(backend.generate(request(f"q{i}")) for i in range(6))
        )
        assert backend._transport._memory.held_bytes == 0
        await backend.close()
        return [reply.text for reply in replies]

    with ScriptedServer(forms(size)[form]) as server:
        assert asyncio.run(ask(server.url)) == ["x"] * 6
    assert max(held) <= at_once * size
    assert len(held) == 6


def test_a_call_that_is_cancelled_while_it_waits_for_room_frees_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mmeval.model_backends.wire.transport.LARGE_BODY", 100)
    monkeypatch.setattr("mmeval.model_backends.wire.transport.HELD_BYTES", 1000)
    take = ReplyMemory.take

    async def cancel(url: str) -> int:
        waiting = asyncio.Event()

        async def asked(memory: ReplyMemory, size: int) -> None:
            waiting.set()
            await take(memory, size)

        monkeypatch.setattr(ReplyMemory, "take", asked)
        backend = OpenAIBackend(model="m", base_url=url)
        await backend.generate(
            request("the session, and so its room, is made by the first call")
        )
        waiting.clear()
        memory = backend._transport._memory
        memory.held_bytes = 900
        call = asyncio.ensure_future(backend.generate(request("q")))
        await waiting.wait()
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await backend.close()
        return memory.held_bytes

    with ScriptedServer(forms(500)[0]) as server:
        assert asyncio.run(cancel(server.url)) == 900


ESCAPED = KEY.replace("k", r"\u006B").replace("-", r"\u002d")


@pytest.mark.parametrize(
    "echo",
    [
        KEY,
        ESCAPED,
        KEY.replace("-", r"\u002D", 1),
        rf"\n\\{KEY}\/",
        rf"{KEY} \\{ESCAPED}",
    ],
)
@pytest.mark.parametrize("status", [200, 400])
def test_a_key_that_a_server_echoes_is_in_no_answer_and_no_error(
    echo: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    text = rf"it is \"{echo}\" \\u002d"
    error = f', "error": {{"message": "{text}"}}' if status == 400 else ""
    body = f'{{"choices": [{{"message": {{"content": "{text}"}}}}]{error}}}'
    with ScriptedServer(Scripted(body.encode(), status=status)) as server:
        response = generate(server.url, request("q"))
    said = response.text if response.error is None else response.error.message
    assert KEY not in said
    assert "[redacted]" in said
    assert r"\u002d" in said
    assert 'is "' in said


@pytest.mark.parametrize("endless", [False, True], ids=["declared length", "no length"])
def test_a_cancelled_call_leaves_no_connection_behind(
    endless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply stops half-way; the caller gives up while it is being read."""
    read = Transport._read

    async def give_up(url: str) -> int:
        reading = asyncio.Event()

        async def begun(transport: Transport, response: Any) -> bytes:
            reading.set()
            return await read(transport, response)

        monkeypatch.setattr(Transport, "_read", begun)
        backend = OpenAIBackend(model="m", base_url=url)
        call = asyncio.ensure_future(backend.generate(request("q")))
        await reading.wait()
        await asyncio.sleep(0)  # the call is now waiting for the rest
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        connector = backend._transport._session.connector  # type: ignore[union-attr]  # made by the call
        left = len(connector._acquired)  # type: ignore[union-attr]
        await backend.close()
        return left

    with ScriptedServer(
        Scripted(b"x" * 100, cut=50, endless=endless, linger=60.0)
    ) as server:
        assert asyncio.run(give_up(server.url)) == 0


def fetched(backend: OpenAIBackend, path: str, base_url: str) -> HttpReply:
    async def run() -> HttpReply:
        try:
            return await backend._transport.get(path, base_url)
        finally:
            await backend.close()

    return asyncio.run(run())


def test_what_a_job_has_made_is_fetched_with_the_key_where_it_was_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    job = reply({"status": "completed"})
    there = Exchange("/v1/jobs/1", [job], headers={"Authorization": f"Bearer {KEY}"})
    with WireServer() as other, WireServer(there) as maker:
        backend = OpenAIBackend(model="m", base_url=other.url, replicas=maker.url)
        received = fetched(backend, "jobs/1", maker.url)
    assert received.status == 200
    assert received.body == job.body
    assert received.base_url == maker.url
