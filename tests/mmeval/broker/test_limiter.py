from __future__ import annotations

import asyncio
import random
import time

import pytest

from mmeval.broker import limiter as limiter_module
from mmeval.broker.limiter import Limiter
from tests.support.in_loop import in_loop


async def workers(limiter: Limiter, count: int) -> list[asyncio.Task[None]]:
    """Calls that want in, after everyone has had a turn."""
    tasks = [asyncio.create_task(limiter.acquire()) for _ in range(count)]
    await turns()
    return tasks


def crowded(limiter: Limiter, retry_after: float) -> None:
    """Most of a round is refused."""
    for _ in range(limiter_module.SMALLEST_ROUND // 2 + 1):
        limiter.refused(retry_after)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def dropped(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@in_loop
async def test_the_whole_limit_is_open_at_once_and_not_one_more() -> None:
    limiter = Limiter(4)

    waiting = await workers(limiter, 6)

    assert [task.done() for task in waiting] == [True] * 4 + [False] * 2
    await dropped(waiting)


@in_loop
async def test_a_released_place_goes_to_the_first_that_waits() -> None:
    limiter = Limiter(1)
    first, second, third = await workers(limiter, 3)

    limiter.release()
    await turns()

    assert (second.done(), third.done(), limiter.in_flight) == (True, False, 1)
    await dropped([first, second, third])


@in_loop
async def test_whoever_comes_back_for_another_place_stands_behind_those_that_wait() -> None:
    limiter = Limiter(1)
    _, second = await workers(limiter, 2)

    limiter.release()
    back = asyncio.create_task(limiter.acquire())  # before the second has had its turn
    await turns()

    assert (second.done(), back.done(), limiter.in_flight) == (True, False, 1)
    await dropped([back])


@in_loop
async def test_a_call_that_is_cancelled_while_it_pauses_gives_its_place_back() -> None:
    limiter = Limiter(1)
    crowded(limiter, 5)
    await dropped(await workers(limiter, 3))

    assert limiter.in_flight == 0


@in_loop
async def test_a_place_given_to_a_call_that_is_cancelled_goes_to_the_next() -> None:
    limiter = Limiter(1)
    _, second, third = await workers(limiter, 3)

    limiter.release()
    second.cancel()  # in the same instant: it was woken, but has not run
    await turns()

    assert (third.done(), limiter.in_flight) == (True, 1)


@in_loop
async def test_one_burst_of_refusals_halves_the_limit_once() -> None:
    limiter = Limiter(64)

    for _ in range(64):
        limiter.refused(0.0)

    assert limiter.allowed == 32


@in_loop
async def test_refusals_that_are_fewer_than_half_of_the_replies_slow_nobody_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limiter_module, "BURST_SECONDS", -1.0)
    limiter = Limiter(64)
    draw = random.Random(0)
    for _ in range(10_000):
        limiter.refused(9.0) if draw.random() < 0.25 else limiter.succeeded()

    assert limiter.allowed > 32


@in_loop
async def test_a_refused_call_waits_as_long_as_the_server_asks() -> None:
    limiter = Limiter(8)

    assert [limiter.refused(asked) for asked in (0.1, None, 1e9)] == [0.1, 1.0, limiter_module.MAX_PAUSE]


@in_loop
async def test_the_limit_never_falls_below_one(monkeypatch: pytest.MonkeyPatch) -> None:
    limiter = Limiter(2)
    for _ in range(4):
        limiter._lowered_at = 0.0
        crowded(limiter, 0.0)

    assert limiter.allowed == 1
    await asyncio.wait_for(limiter.acquire(), 1)


@in_loop
async def test_the_limit_climbs_by_one_for_each_round_of_answers_up_to_where_it_began() -> None:
    limiter = Limiter(8)
    crowded(limiter, 0.0)

    for _ in range(4):
        limiter.succeeded()
    assert 4.8 < limiter.allowed <= 5
    for _ in range(100):
        limiter.succeeded()
    assert limiter.allowed == 8


@in_loop
async def test_where_most_are_refused_everybody_pauses_as_long_as_the_server_asks() -> None:
    limiter = Limiter(4)
    crowded(limiter, 0.1)
    began = time.monotonic()

    await asyncio.gather(limiter.acquire(), limiter.acquire())

    assert 0.1 <= time.monotonic() - began < 0.5


@in_loop
async def test_nobody_pauses_once_there_is_nothing_more_to_send() -> None:
    limiter = Limiter(1)
    crowded(limiter, 60)
    waiting = await workers(limiter, 3)

    limiter.stop()
    crowded(limiter, 60)  # by calls that were in flight
    for call in waiting:
        await asyncio.wait_for(call, 1)
        limiter.release()


@in_loop
async def test_those_who_wait_for_a_place_pause_too() -> None:
    limiter = Limiter(1)
    _, second = await workers(limiter, 2)
    crowded(limiter, 0.05)

    limiter.release()
    await turns()
    assert not second.done()
    await asyncio.wait_for(second, 1)


@in_loop
async def test_a_server_that_asks_for_ages_is_asked_again_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limiter_module, "MAX_PAUSE", 0.02)
    limiter = Limiter(1)
    crowded(limiter, 1e9)

    await asyncio.wait_for(limiter.acquire(), 1)
