import asyncio

import pytest

from mmeval.broker import limiter as module
from mmeval.broker.limiter import Limiter
from tests.support.engine import now


async def calls(limiter: Limiter, count: int) -> list[asyncio.Task[None]]:
    """Calls that ask for a place, after each has had a turn."""
    tasks = [asyncio.create_task(limiter.acquire()) for _ in range(count)]
    await turns()
    return tasks


def crowded(limiter: Limiter, retry_after: float) -> None:
    """Most of a round is refused."""
    for _ in range(module.SMALLEST_ROUND // 2 + 1):
        limiter.refused(retry_after)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def dropped(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_whole_limit_is_open_at_once_and_a_released_place_goes_to_the_first_that_waits() -> (
    None
):
    limiter = Limiter(4)
    waiting = await calls(limiter, 6)
    assert [task.done() for task in waiting] == [True] * 4 + [False] * 2
    limiter.release()
    again = asyncio.create_task(limiter.acquire())  # before the fifth has had its turn
    await turns()
    assert ([task.done() for task in [*waiting[4:], again]], limiter.in_flight) == (
        [True, False, False],
        4,
    )
    await dropped([*waiting, again])


async def test_a_cancelled_call_gives_its_place_to_the_next() -> None:
    limiter = Limiter(1)
    _, second, third = await calls(limiter, 3)
    limiter.release()
    second.cancel()  # in the same instant: it was woken, but has not run
    await turns()
    assert (third.done(), limiter.in_flight) == (True, 1)
    pausing = Limiter(1)
    crowded(pausing, 5)
    await dropped(await calls(pausing, 3))
    assert pausing.in_flight == 0


async def test_one_burst_of_refusals_halves_the_limit_once_and_never_below_one() -> (
    None
):
    limiter, allowed = Limiter(5), []
    for seconds in (0, 0.5, 0.1, 0.6, 0.6, 0.6):
        await asyncio.sleep(seconds)
        crowded(limiter, 0.0)
        allowed.append(limiter.allowed)
    assert allowed == [2.5, 2.5, 1.25, 1, 1, 1]
    await limiter.acquire()


@pytest.mark.parametrize(
    ("limit", "refusals", "left"), [(8, 8, 8), (8, 9, 4), (64, 32, 64), (64, 33, 32)]
)
async def test_the_limit_falls_when_more_than_half_of_a_round_is_refused(
    limit: int, refusals: int, left: int
) -> None:
    limiter = Limiter(limit)
    # few refusals among the answers of each round slow no call down
    for _ in range(3 * limit):
        limiter.refused(0.0)
        for _ in range(3):
            limiter.succeeded()
    for _ in range(refusals):
        limiter.refused(0.0)
    assert (limiter.allowed, module.SMALLEST_ROUND, module.BURST_SECONDS) == (
        left,
        16,
        0.5,
    )
    assert [limiter.refused(asked) for asked in (0.1, None, 1e9)] == [0.1, 1.0, 120.0]


async def test_the_limit_climbs_by_one_for_each_round_of_answers_up_to_where_it_began() -> (
    None
):
    limiter = Limiter(8)
    crowded(limiter, 0.0)
    for _ in range(4):
        limiter.succeeded()
    assert 4.8 < limiter.allowed <= 5
    for _ in range(100):
        limiter.succeeded()
    assert limiter.allowed == 8


@pytest.mark.parametrize(
    ("asked", "least", "most"), [(0.1, 0.1, 0.2), (10, 10, 11), (1e9, 120, 121)]
)
async def test_where_most_are_refused_every_call_pauses(
    asked: float, least: float, most: float
) -> None:
    limiter = Limiter(1)
    _, second = await calls(limiter, 2)  # one that waits for its place pauses too
    crowded(limiter, asked)
    limiter.release()
    await second
    assert least <= now() <= most
    paused = now()
    limiter.release()
    await limiter.acquire()
    assert now() == paused


async def test_no_call_pauses_once_there_is_nothing_more_to_send() -> None:
    limiter = Limiter(1)
    crowded(limiter, 60)
    waiting = await calls(limiter, 3)
    limiter.stop()
    crowded(limiter, 60)  # by calls that were in flight
    for call in waiting:
        await call
        limiter.release()
    assert now() == 0
