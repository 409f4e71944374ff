import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mmeval.broker.runtime import BackendRuntime
from mmeval.broker.server_batcher import LONG_QUIET, QUIET
from mmeval.errors import BackendDownError, StoppedError
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.store.call_context import CallContext
from tests.support.engine import now
from tests.support.toy import Toy, asked_text, reply, request

HOURS = 7200.0


class Batches:
    """Answers after hours, in words that tell the batch; ``left_out`` are failures by
    the request's words."""

    def __init__(
        self, max_rows: int = 100, **left_out: Response | BaseException
    ) -> None:
        self.max_rows, self.left_out = max_rows, left_out
        self.sent: list[tuple[float, int]] = []

    def takes(self, asked: Request) -> bool:
        return "picture" not in asked.messages[0].content.text

    async def answer(
        self,
        requests: Sequence[Request],
        notes: Path,
        deliver: Callable[[int, Response], None],
        report: Callable[[str], None],
    ) -> None:
        self.sent.append((now(), len(requests)))
        report("a batch")
        await asyncio.sleep(HOURS)
        for position, asked in enumerate(requests):
            failed = self.left_out.get(asked.messages[0].content.text)
            if isinstance(failed, BaseException):
                raise failed
            deliver(position, failed or reply("batched"))


class Server(Toy):
    def __init__(self, batches: Batches) -> None:
        super().__init__()
        self.batches = batches


def runtime(batches: Batches, live: int, retries: int = 0) -> BackendRuntime:
    return BackendRuntime(
        Server(batches),
        limit=2,
        retries=retries,
        live=lambda: live,
        notes=Path("notes"),
    )


async def ask(role: BackendRuntime, *words: str) -> list[Response | BaseException]:
    calls = (
        role.ask(request(word), CallContext(f"t{i}")) for i, word in enumerate(words)
    )
    found = await asyncio.gather(*calls, return_exceptions=True)
    return [one if isinstance(one, BaseException) else one[0] for one in found]


@pytest.mark.parametrize(("live", "quiet"), [(3, QUIET), (4, LONG_QUIET)])
async def test_calls_of_all_kinds_go_together_once_no_more_come(
    live: int, quiet: float
) -> None:
    role = runtime(batches := Batches(), live)
    said: list[str] = []
    role.observer.waiting = said.append
    early = asyncio.create_task(ask(role, "a", "b"))
    await asyncio.sleep(QUIET / 2)
    late = asyncio.create_task(
        role.ask(request("c", temperature=1.0), CallContext("t2"))
    )
    await asyncio.gather(early, late)
    assert batches.sent == [(pytest.approx(QUIET / 2 + quiet), 3)]
    assert said == ["a batch", ""]


async def test_more_calls_than_a_batch_holds_go_at_once_in_several() -> None:
    role = runtime(batches := Batches(max_rows=2), live=5)
    await ask(role, *"abcde")
    assert [count for _, count in batches.sent] == [2, 2, 1]
    assert batches.sent[0][0] == batches.sent[1][0] == 0


async def test_what_a_batch_leaves_out_or_does_not_take_is_asked_alone_without_a_failed_try() -> (
    None
):
    lost = Response.failed("server", "expired")
    refused = Response.failed("bad_request", "no")
    role = runtime(batches := Batches(b=lost, c=refused), live=4)
    a, b, c, d = await ask(role, "a", "b", "c", "picture")
    assert isinstance(role.backend, Server)
    assert [
        one if isinstance(one, BaseException) else one.error for one in (a, b, c, d)
    ] == [
        None,
        None,
        refused.error,
        None,
    ]
    assert list(map(asked_text, role.backend.asked)) == ["picture", "b"]
    assert [count for _, count in batches.sent] == [3]


async def test_what_ends_a_batch_ends_each_of_its_calls() -> None:
    down = BackendDownError("gone", "bring it up")
    assert await ask(runtime(Batches(a=down), live=2), "a", "b") == [down, down]
    [first, second] = await ask(runtime(Batches(b=ValueError("odd")), live=2), "a", "b")
    assert (
        isinstance(first, Response)
        and isinstance(second, Response)
        and second.error is not None
    )
    assert (first.text, second.error.kind) == ("batched", "internal")


async def test_a_stop_leaves_a_batch_at_its_server_at_once_and_a_later_call_is_refused() -> (
    None
):
    role = runtime(batches := Batches(), live=2)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ask(role, "d", "e"), QUIET / 2)
    await asyncio.sleep(100)
    calls = asyncio.create_task(ask(role, "a", "b"))
    await asyncio.sleep(100)
    waiting = asyncio.create_task(ask(role, "c"))
    await asyncio.sleep(0)
    role.stop()
    assert role.role.batcher is not None
    late = asyncio.create_task(role.role.batcher.ask(request("f"), CallContext("t0")))
    assert [type(one) for one in (*await calls, *await waiting)] == [StoppedError] * 3
    with pytest.raises(StoppedError):
        await late
    assert (role.role.in_flight, now(), [count for _, count in batches.sent]) == (
        0,
        200 + QUIET / 2,
        [2],
    )
    await role.close()
