from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable

import pytest

from mmeval.broker import outage
from mmeval.broker import runtime as runtime_module
from mmeval.broker.outage import Outage
from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import BackendDownError, StoppedError
from mmeval.records.request import Request
from mmeval.records.response import ErrorInfo, ErrorKind, Response
from mmeval.store.ticket import Ticket
from tests.support.in_loop import in_loop
from tests.support.toy import Toy, asked_text, reply, request

AWAY = ErrorInfo("unreachable", "no such host")


class Away(Toy):
    """Cannot be reached while ``away``; ``most`` is how many calls looked for it at the same time."""

    def __init__(self, *, away: bool = True, kind: ErrorKind = "unreachable") -> None:
        super().__init__()
        self.away, self.kind, self.most = away, kind, 0
        self._looking = 0

    async def generate(self, request: Request) -> Response:
        if not self.away:
            return await super().generate(request)
        self.asked.append(request)
        self._looking += 1
        self.most = max(self.most, self._looking)
        await asyncio.sleep(0.001)
        self._looking -= 1
        return Response.failed(self.kind, "no such host")


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(outage, "LONGEST_PAUSE", 0.02)
    monkeypatch.setattr(runtime_module, "BACKOFF_BASE", 0.001)


def runtime(backend: Toy, *, retries: int = 0, limit: int = 8) -> BackendRuntime:
    return BackendRuntime(backend, limit=limit, retries=retries, live=lambda: 1)


async def asked(role: BackendRuntime, count: int) -> list[asyncio.Task[tuple[Response, int]]]:
    """So many calls, under way for a moment."""
    calls = [asyncio.create_task(role.ask(request(f"question {i}"), Ticket(f"t{i}"))) for i in range(count)]
    await asyncio.sleep(0.03)
    return calls


async def answered(role: BackendRuntime) -> None:
    response, _ = await role.ask(request("question 0"), Ticket("before"))
    assert response.error is None


async def lost(call: Awaitable[object]) -> str:
    with pytest.raises(BackendDownError) as caught:
        await call
    return str(caught.value)


@in_loop
async def test_calls_that_reach_nobody_wait_and_are_answered_when_somebody_is_there() -> None:
    backend = Away()
    role = runtime(backend, retries=0)
    calls = await asked(role, 20)
    assert not any(call.done() for call in calls)

    backend.away = False
    replies = await asyncio.gather(*calls)
    assert [response.text for response, _ in replies] == [f"answer {i}" for i in range(20)]


@in_loop
async def test_a_call_that_was_never_sent_has_not_failed() -> None:
    backend = Away()
    calls = await asked(runtime(backend), 1)
    backend.away = False
    _, failures = await calls[0]

    assert failures == 0


@in_loop
async def test_one_call_at_a_time_looks_and_each_of_them_in_turn() -> None:
    backend = Away()
    calls = await asked(runtime(backend), 4)
    backend.asked.clear()
    backend.most = 0
    await asyncio.sleep(0.15)

    assert backend.most == 1
    looked = [asked_text(asked) for asked in backend.asked]
    assert len(looked) >= 4
    assert sorted(looked[:4]) == [f"question {i}" for i in range(4)]
    backend.away = False
    await asyncio.gather(*calls)


@in_loop
async def test_the_pauses_grow_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "FIRST_PAUSE", 0.5)
    monkeypatch.setattr(outage, "LONGEST_PAUSE", 5.0)
    found = Outage()
    found.note(AWAY)
    pauses = []
    for _ in range(6):
        pauses.append(found.pause())
        found.looked(AWAY)

    for pause, least in zip(pauses, (0.5, 1, 2, 4, 5, 5), strict=True):
        assert least <= pause <= 1.25 * least


@in_loop
async def test_the_next_outage_begins_with_the_shortest_pause_again() -> None:
    found = Outage()
    for _ in range(2):
        found.note(AWAY)
        assert outage.FIRST_PAUSE <= found.pause() <= 1.25 * outage.FIRST_PAUSE
        found.looked(AWAY)
        found.looked(None)


@pytest.mark.parametrize(
    ("error", "pauses"),
    [
        (ErrorInfo("server", "no"), [(end / 2, end) for end in (0.5, 1, 2, 4, 8, 16, 30, 30)]),
        (ErrorInfo("rate_limit", "no", 0.0), [(0.05 * 2**i, 1.25 * 0.05 * 2**i) for i in range(8)]),
        (ErrorInfo("rate_limit", "no", 3.0), [(3.0, 3.75)] * 6),
    ],
    ids=["failed", "refused", "told when"],
)
@in_loop
async def test_a_call_waits_longer_before_each_try(
    error: ErrorInfo, pauses: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def noting(seconds: float, *, unless: asyncio.Event) -> None:
        waits.append(seconds)

    monkeypatch.setattr(runtime_module, "BACKOFF_BASE", 0.5)
    monkeypatch.setattr(runtime_module, "wait", noting)
    model = Toy(answers=lambda r: Response(error=error) if len(waits) < len(pauses) else reply("at last"))
    response, tries = await runtime(model, retries=len(pauses)).ask(request(), Ticket("t"))

    assert (response.text, tries) == ("at last", len(pauses))
    assert all(least <= wait <= most for wait, (least, most) in zip(waits, pauses, strict=True)), waits


@in_loop
async def test_who_has_never_answered_is_given_up_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "START_SECONDS", 0.05)
    role = runtime(Away())
    began = time.monotonic()

    said = await lost(role.ask(request(), Ticket("t")))

    assert "no such host; it has not answered once in 0 s, so its address may be wrong." in said
    assert 0.05 <= time.monotonic() - began < 1


@in_loop
async def test_who_has_answered_is_waited_for_longer_and_then_it_is_gone_for_everybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outage, "START_SECONDS", 0.0)
    monkeypatch.setattr(outage, "OUTAGE_SECONDS", 0.1)
    backend = Away(away=False)
    role = runtime(backend)
    await answered(role)
    backend.away = True
    began = time.monotonic()

    said = [await lost(call) for call in await asked(role, 5)]

    assert 0.1 <= time.monotonic() - began < 1
    assert all("no such host; it has been out of reach for" in one for one in said)
    tries = len(backend.asked)
    await lost(role.ask(request("another"), Ticket("t")))
    assert len(backend.asked) == tries


@in_loop
async def test_an_outage_that_ended_is_forgotten_when_the_next_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "OUTAGE_SECONDS", 0.15)
    backend = Away(away=False)
    role = runtime(backend)
    await answered(role)
    for _ in range(3):
        backend.away = True
        [call] = await asked(role, 1)
        await asyncio.sleep(0.05)
        backend.away = False
        assert (await call)[0].error is None


@pytest.mark.parametrize("kind", ["connection", "timeout"])
@in_loop
async def test_a_look_that_is_lost_on_the_way_is_a_failed_try_and_no_sign_of_life(kind: ErrorKind) -> None:
    backend = Away()
    role = runtime(backend, retries=2)
    [waiting] = await asked(role, 1)
    backend.kind = kind
    response, tries = await waiting

    assert (response.error and response.error.kind, tries) == (kind, 2)
    assert role._outage.on


@pytest.mark.parametrize("kind", ["server", "bad_request", "rate_limit"])
@in_loop
async def test_any_word_of_the_server_ends_an_outage(kind: ErrorKind) -> None:
    found = Outage()
    found.note(AWAY)
    found.looked(ErrorInfo(kind, "no"))

    assert not found.on


@in_loop
async def test_a_single_request_that_fails_costs_itself_alone() -> None:
    def answer(asked: Request) -> Response:
        return Response.failed("server", "no") if asked_text(asked) == "question 3" else reply("fine")

    calls = await asked(runtime(Toy(answers=answer), retries=1), 6)
    kinds = [(await call)[0].error for call in calls]

    assert [i for i, error in enumerate(kinds) if error is not None] == [3]


@in_loop
async def test_an_outage_is_told_once_with_the_role_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    backend, told = Away(), list[str]()
    role = runtime(backend)
    role.plays(["judge", "captioner"])
    role.on_outage = told.append
    calls = await asked(role, 5)
    assert (caplog.messages, told) == (
        [
            "the judge and captioner: no such host; every call waits for up to 30 s until it can be reached",
        ],
        ["the judge and captioner"],
    )

    backend.away = False
    await asyncio.gather(*calls)
    assert caplog.messages[1:] == ["the judge and captioner answers again, after 0 s"]
    assert told[1:] == [""]


@in_loop
async def test_calls_that_wait_for_a_backend_are_not_in_flight() -> None:
    role = runtime(Away(), limit=50)
    calls = await asked(role, 30)
    assert role.limiter.in_flight <= 1

    role.stop()
    await asyncio.gather(*calls, return_exceptions=True)


@in_loop
async def test_who_is_told_to_stop_waits_no_longer() -> None:
    role = runtime(Away())
    calls = await asked(role, 5)
    began = time.monotonic()
    role.stop()
    ends = await asyncio.gather(*calls, return_exceptions=True)

    assert all(isinstance(end, StoppedError) for end in ends)
    assert time.monotonic() - began < 1


@in_loop
async def test_who_waits_because_the_server_refuses_most_calls_can_be_stopped_too() -> None:
    refused = Response(error=ErrorInfo("rate_limit", "slow down", retry_after=60.0))
    role = runtime(Toy(answers=lambda r: refused), limit=12)
    calls = [*await asked(role, 12), *await asked(role, 4)]
    began = time.monotonic()
    role.stop()
    ends = await asyncio.gather(*calls, return_exceptions=True)

    assert all(isinstance(end, StoppedError) for end in ends)
    assert time.monotonic() - began < 1


@in_loop
async def test_a_call_that_waits_to_be_sent_again_can_be_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "BACKOFF_BASE", 60.0)
    role = runtime(Toy(answers=lambda r: Response.failed("server", "no")), retries=5)
    [call] = await asked(role, 1)
    assert role.resting == 1
    role.stop()

    with pytest.raises(StoppedError):
        await call
    assert role.resting == 0


@in_loop
async def test_an_outage_is_said_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    backend = Away()
    calls = await asked(runtime(backend), 3)
    backend.away = False
    await asyncio.gather(*calls)

    assert caplog.messages == [
        "no such host; every call waits for up to 30 s until it can be reached",
        "the backend answers again, after 0 s",
    ]


@in_loop
async def test_a_looking_call_that_is_cancelled_lets_the_next_one_look() -> None:
    backend = Away()
    calls = await asked(runtime(backend), 2)
    calls[0].cancel()
    backend.away = False

    assert (await asyncio.wait_for(calls[1], 1))[0].error is None
