import asyncio
from collections.abc import Awaitable

import pytest

from mmeval.broker import outage
from mmeval.broker.outage import Outage
from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import BackendDownError, StoppedError
from mmeval.records.request import Request
from mmeval.records.response import ErrorInfo, ErrorKind, Response
from mmeval.store.call_context import CallContext
from tests.support.engine import now
from tests.support.toy import Toy, asked_text, reply, request

AWAY = ErrorInfo("unreachable", "no such host")
LOOK = 0.001
"""Seconds until a call that tests the backend has failed."""


class Away(Toy):
    """Cannot be reached while ``away``; ``most`` is how many calls tested it at the
    same time."""

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
        await asyncio.sleep(LOOK)
        self._looking -= 1
        return Response.failed(self.kind, "no such host")


def runtime(backend: Toy, *, retries: int = 0, limit: int = 8) -> BackendRuntime:
    return BackendRuntime(backend, limit=limit, retries=retries, live=lambda: 1)


async def asked(
    role: BackendRuntime, count: int
) -> list[asyncio.Task[tuple[Response, int]]]:
    """So many calls, under way for a moment."""
    calls = [
        asyncio.create_task(role.ask(request(f"question {i}"), CallContext(f"t{i}")))
        for i in range(count)
    ]
    await asyncio.sleep(0.03)
    return calls


async def lost(call: Awaitable[object]) -> str:
    with pytest.raises(BackendDownError) as caught:
        await call
    return str(caught.value)


async def test_calls_wait_while_the_backend_is_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend, heard = Away(), list[str]()
    role = runtime(backend)
    role.plays(["judge", "captioner"])
    role.observer.waiting = heard.append
    calls = await asked(role, 20)
    await asyncio.sleep(3)
    assert (any(call.done() for call in calls), heard) == (
        False,
        ["the judge and captioner"],
    )
    assert role.role.limiter.in_flight <= 1, "calls that wait hold no connection"
    backend.away = False
    replies = await asyncio.gather(*calls)
    assert [(response.text, failures) for response, failures in replies] == [
        (f"answer {i}", 0) for i in range(20)
    ]
    assert heard[1:] == [""]
    began, ended = caplog.messages
    assert began.startswith("the judge and captioner: ")
    assert "30 s" in began
    assert ended.startswith("the judge and captioner ")


async def test_one_call_at_a_time_tests_the_backend_and_each_of_them_in_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend = Away()
    calls = await asked(runtime(backend), 4)
    backend.asked.clear()
    backend.most = 0
    await asyncio.sleep(20)
    assert backend.most == 1
    asked_first = sorted(map(asked_text, backend.asked[:4]))
    assert asked_first == ["question 0", "question 1", "question 2", "question 3"]
    calls[0].cancel()
    calls[1].cancel()
    backend.away = False
    assert [(await call)[0].error for call in calls[2:]] == [None, None]
    assert caplog.messages[0].startswith("no such host; "), (
        "a role that has no name is not named"
    )


async def test_the_pauses_double_up_to_the_longest_and_end_with_patience() -> None:
    usual = (
        outage.FIRST_PAUSE,
        outage.LONGEST_PAUSE,
        outage.START_SECONDS,
        outage.OUTAGE_SECONDS,
    )
    assert usual == (0.5, 5, 30, 300)
    found = Outage()
    for _ in range(2):  # the next outage begins with the shortest pause again
        found.note(AWAY)
        for least in (0.5, 1, 2, 4, 5, 5):
            assert least <= found.pause() <= 1.25 * least
            found.note_test(AWAY)
        found.note_test(None)
    for _ in range(3):
        found.note(AWAY)
        await asyncio.sleep(200)
        assert not found.has_expired
        found.note_test(None)
    fresh = Outage()
    fresh.note(AWAY)
    await asyncio.sleep(29.75)
    assert (fresh.pause(), fresh.has_expired) == (pytest.approx(0.25), False)
    await asyncio.sleep(0.25)
    assert (fresh.pause(), fresh.has_expired) == (0, True)


@pytest.mark.parametrize(
    ("error", "pauses"),
    [
        (
            ErrorInfo("server", "no"),
            [(end / 2, end) for end in (0.5, 1, 2, 4, 8, 16, 30, 30)],
        ),
        (
            ErrorInfo("rate_limit", "no", 0.0),
            [(0.05 * 2**i, 1.25 * 0.05 * 2**i) for i in range(8)],
        ),
        (ErrorInfo("rate_limit", "no", 3.0), [(3.0, 3.75)] * 6),
    ],
    ids=str,
)
async def test_a_call_waits_longer_before_each_try(
    error: ErrorInfo, pauses: list[tuple[float, float]]
) -> None:
    times: list[float] = []

    def answer(_: Request) -> Response:
        times.append(now())
        return Response(error=error) if len(times) <= len(pauses) else reply("at last")

    response, tries = await runtime(Toy(answers=answer), retries=len(pauses)).ask(
        request(), CallContext("t")
    )
    assert (response.text, tries) == ("at last", len(pauses))
    for (least, most), before, after in zip(pauses, times, times[1:], strict=False):
        assert least - 1e-9 <= after - before <= most + 1e-9


@pytest.mark.parametrize(
    ("answered", "seconds"),
    [(False, 30), (True, 300)],
    ids=["never answered", "has answered"],
)
async def test_a_backend_that_stays_away_is_given_up_for_every_call(
    answered: bool, seconds: int
) -> None:
    backend = Away(away=False)
    role = runtime(backend)
    if answered:
        assert (await role.ask(request("question 0"), CallContext("before")))[
            0
        ].error is None
    backend.away = True
    reasons = [await lost(call) for call in await asked(role, 5)]
    assert seconds <= now() < seconds + 1
    assert all(
        f" {seconds} s" in reason and ("address" in reason) is not answered
        for reason in reasons
    )
    tries = len(backend.asked)
    await lost(role.ask(request("another"), CallContext("t")))
    assert len(backend.asked) == tries


@pytest.mark.parametrize(("kind", "on"), [("connection", True), ("server", False)])
async def test_a_test_that_is_lost_on_the_way_is_a_failed_try_and_no_sign_of_life(
    kind: ErrorKind, on: bool
) -> None:
    backend, heard = Away(), list[str]()
    role = runtime(backend, retries=2)
    role.observer.waiting = heard.append
    [waiting] = await asked(role, 1)
    backend.kind = kind
    response, tries = await waiting
    assert (response.error and response.error.kind, tries, heard[-1] != "") == (
        kind,
        2,
        on,
    )


@pytest.mark.parametrize(
    ("backend", "retries"),
    [
        (Away(), 0),
        (
            Toy(
                answers=lambda _: Response(
                    error=ErrorInfo("rate_limit", "slow down", retry_after=60.0)
                )
            ),
            0,
        ),
        (Toy(answers=lambda _: Response.failed("server", "no")), 5),
    ],
    ids=["away", "refused", "to be sent again"],
)
async def test_a_call_that_waits_is_stopped_at_once(backend: Toy, retries: int) -> None:
    role = runtime(backend, retries=retries, limit=12)
    calls = [*await asked(role, 12), *await asked(role, 4)]
    resting, before = role.observer.resting, now()
    role.stop()
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(end) for end in ends] == [StoppedError] * 16
    assert (resting > 0, role.observer.resting) == (not isinstance(backend, Away), 0)
    assert now() <= before + LOOK
