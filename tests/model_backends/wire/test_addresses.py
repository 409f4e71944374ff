import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mmeval.errors import MissingError, UsageError
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.wire.addresses import Addresses
from mmeval.records import Response
from tests.support.cli import wait_for
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import request

A, B, C = (f"http://{host}:8000/v1" for host in ("a", "b", "c"))
WARNINGS = "mmeval.model_backends.wire.addresses"


async def ask(backend: OpenAIBackend, count: int) -> list[Response]:
    return await asyncio.gather(
        *(backend.generate(request(f"q{i}")) for i in range(count))
    )


def answers(one: MockServer, other: str, count: int) -> list[Response]:
    async def run() -> list[Response]:
        backend = OpenAIBackend(model="m", base_url=one.url, replicas=other)
        try:
            return await ask(backend, count)
        finally:
            await backend.close()

    return asyncio.run(run())


def test_calls_go_to_the_least_busy_address() -> None:
    with (
        ThreadPoolExecutor(1) as thread,
        MockServer(hold_after=0) as one,
        MockServer(hold_after=0) as other,
    ):
        asked = thread.submit(answers, one, other.url, 8)
        wait_for(lambda: len(one.state.held) == 4, "half of the calls")
        wait_for(lambda: len(other.state.held) == 4, "the other half")
        one.let_go()
        other.let_go()
        assert [response.error for response in asked.result()] == [None] * 8
    addresses = Addresses((A, B, C))
    assert [addresses.next().base_url for _ in range(4)] == [A, B, C, A]
    busy = addresses.next()
    busy.calls = 2
    assert {addresses.next().base_url for _ in range(4)} == {A, C}


def test_an_address_that_is_down_is_left_out_aloud_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with MockServer() as gone:
        pass
    with MockServer() as there, caplog.at_level(logging.WARNING, WARNINGS):
        found = answers(there, gone.url, 8)
        assert there.stats()["answered"] == 8
        assert [response.error for response in found] == [None] * 8
    assert [gone.url.split("/")[2] in said for said in caplog.messages] == [True]


def test_an_address_that_is_down_is_tried_again_later_by_one_call(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    addresses = Addresses((A, B))
    down = addresses.next()
    assert addresses.mark_down(down, "it is down")
    assert {addresses.next().base_url for _ in range(4)} == {B}
    monkeypatch.setattr(
        "mmeval.model_backends.wire.addresses.time.monotonic", lambda: 1e9
    )
    busy = next(one for one in addresses._all if one is not down)
    busy.calls = 1
    assert [addresses.next().base_url for _ in range(3)] == [A, B, B]
    with caplog.at_level(logging.WARNING, WARNINGS):
        caplog.clear()
        addresses.record_status(down, 200)
    assert down.down_until is None
    assert len(caplog.messages) == 1


def test_an_address_that_only_answers_errors_is_left_out() -> None:
    async def run(backend: OpenAIBackend) -> list[Response]:
        try:
            return [*await ask(backend, 8), *await ask(backend, 8)]
        finally:
            await backend.close()

    with MockServer(rate_500=1.0) as broken, MockServer() as there:
        found = asyncio.run(
            run(OpenAIBackend(model="m", base_url=broken.url, replicas=there.url))
        )
        assert [response.error is None for response in found].count(False) == 4
        assert [response.error for response in found[8:]] == [None] * 8
    addresses = Addresses((A, B))
    broken_one = addresses.next()
    for status in (500, 500, 400, 500, 500):
        addresses.record_status(broken_one, status)
    assert broken_one.down_until is None
    addresses.record_status(broken_one, 503)
    assert {addresses.next().base_url for _ in range(4)} == {B}


def test_where_none_can_be_reached_the_call_says_so_and_each_is_tried_in_turn() -> None:
    addresses = Addresses((A, B))
    first, second = addresses.next(), addresses.next()
    assert [addresses.mark_down(one, "it is down") for one in (first, second)] == [
        True,
        False,
    ]
    seen = []
    for _ in range(4):
        seen.append(addresses.next())
        addresses.mark_down(seen[-1], "it is down")
    assert [one.base_url for one in seen] == [A, B, A, B]


def test_replicas_are_no_part_of_the_identity_and_are_checked_like_the_address(
    tmp_path: Path,
) -> None:
    with_them = OpenAIBackend(
        model="m", base_url="http://localhost:1/v1", replicas="http://localhost:2/v1/"
    )
    without = OpenAIBackend(model="m", base_url="http://localhost:1/v1")
    assert with_them.identity == without.identity
    assert with_them.provenance["replicas"] == ["http://localhost:2/v1"]
    with pytest.raises(
        UsageError, match=r"replicas='localhost:2/v1'.*http://localhost:2/v1"
    ):
        OpenAIBackend(
            model="m", base_url="http://localhost:1/v1", replicas="localhost:2/v1"
        )
    with pytest.raises(MissingError, match=r"https://api\.example\.com/v1"):
        OpenAIBackend(
            model="m",
            base_url="http://localhost:1/v1",
            replicas="https://api.example.com/v1",
        )
