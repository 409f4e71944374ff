import asyncio

import pytest

from mmeval.broker.checks.patience import JudgePatience
from mmeval.errors import UnreadableJudgeError
from mmeval.records.response import ErrorInfo

PROSE = ErrorInfo("bad_reply", "it is not JSON", reply="Certainly!")
AWAY = ErrorInfo("timeout", "too slow")


async def judged(patience: JudgePatience, *errors: ErrorInfo | None) -> None:
    """Verdicts that are requested one after the other, and how they end."""
    for error in errors:
        await patience.admit()
        await patience.settle(error)


async def test_a_metric_stops_after_its_first_unreadable_verdicts() -> None:
    patience = JudgePatience("grade", first=8)
    await judged(patience, *[PROSE] * 8)

    with pytest.raises(UnreadableJudgeError):
        await patience.admit()


async def test_a_metric_continues_until_then() -> None:
    patience = JudgePatience("grade", first=8)
    await judged(patience, *[PROSE] * 7)

    await patience.admit()


async def test_the_error_shows_a_reply() -> None:
    patience = JudgePatience("grade", first=1)
    await judged(patience, PROSE)

    with pytest.raises(UnreadableJudgeError) as caught:
        await patience.admit()

    assert PROSE.reply in caught.value.reason


async def test_a_verdict_that_is_read_ends_the_count_of_first_ones() -> None:
    patience = JudgePatience("grade", first=8)
    await judged(patience, *[PROSE] * 7, None, PROSE)

    await patience.admit()


async def test_a_metric_stops_at_30_percent_of_the_last_50() -> None:
    patience = JudgePatience("grade", first=8)
    await judged(patience, *[None] * 35, *[PROSE] * 15)

    with pytest.raises(UnreadableJudgeError):
        await patience.admit()


async def test_a_metric_continues_below_30_percent() -> None:
    patience = JudgePatience("grade", first=8)
    await judged(patience, *[None] * 36, *[PROSE] * 14)

    await patience.admit()


async def test_older_verdicts_are_forgotten() -> None:
    patience = JudgePatience("grade", first=8)
    await judged(patience, None, *[PROSE] * 14, *[None] * 49, *[PROSE] * 2)

    await patience.admit()


async def test_other_errors_are_not_counted() -> None:
    patience = JudgePatience("grade", first=2)
    await judged(patience, *[AWAY] * 20)

    await patience.admit()


async def test_a_call_that_was_stopped_is_not_a_verdict() -> None:
    patience = JudgePatience("grade", first=1)
    await patience.admit()
    await patience.settle(None, has_reply=False)
    await judged(patience, PROSE)

    with pytest.raises(UnreadableJudgeError):
        await patience.admit()


async def test_no_more_calls_are_in_flight_than_may_be_lost() -> None:
    patience = JudgePatience("grade", first=2)
    await patience.admit()
    await patience.admit()

    third = asyncio.create_task(patience.admit())
    await asyncio.sleep(0.01)

    assert not third.done()
    third.cancel()


async def test_a_readable_verdict_lets_all_others_start() -> None:
    patience = JudgePatience("grade", first=1)
    await patience.admit()
    waiting = [asyncio.create_task(patience.admit()) for _ in range(5)]

    await patience.settle(None)

    await asyncio.wait_for(asyncio.gather(*waiting), timeout=5)


async def test_calls_that_wait_are_not_sent_after_the_end() -> None:
    patience = JudgePatience("grade", first=1)
    await patience.admit()
    waiting = asyncio.create_task(patience.admit())

    await patience.settle(PROSE)

    with pytest.raises(UnreadableJudgeError):
        await waiting
