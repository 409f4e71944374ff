from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from mmeval.broker import batcher as batching_module
from mmeval.broker.batch_answer import ThisProcess
from mmeval.broker.batcher import (
    GROW_AFTER,
    MEDIUM_WEIGHT,
    SHORT_WAIT,
    AnswererDiedError,
    Batcher,
    BatchRow,
    Deliver,
    least_padded,
    length,
    likeness,
)
from mmeval.errors import StoppedError, StorageError, UsageError
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.store.ticket import Ticket
from tests.support.in_loop import in_loop
from tests.support.toy import ToyLocal, asked_text, picture, reply, request


@asynccontextmanager
async def batching(backend: ToyLocal, live: int, size: int = 0, growths: int = 0) -> AsyncIterator[Batcher]:
    batcher = Batcher(ThisProcess(backend), lambda: live, size or backend.max_batch_size, growths=growths)
    try:
        yield batcher
    finally:
        await batcher.close()


async def asked(batcher: Batcher, *texts: str | Request, trial: str = "") -> list[str]:
    """Ask at the same time, each text for a trial of its own unless one is given."""
    requests = [request(text) if isinstance(text, str) else text for text in texts]
    calls = [batcher.ask(one, Ticket(trial or f"trial {id(one)}")) for one in requests]
    return [said(response) for response in await asyncio.gather(*calls)]


async def asked_behind(batcher: Batcher, backend: ToyLocal, first: str, *texts: str | Request) -> None:
    """Ask the texts while the first one is being answered."""
    backend.gate.clear()
    tasks = [asyncio.create_task(asked(batcher, first))]
    await asyncio.sleep(0.05)
    tasks.append(asyncio.create_task(asked(batcher, *texts)))
    await asyncio.sleep(0.01)
    backend.gate.set()
    await asyncio.gather(*tasks)


def said(response: Response) -> str:
    return response.text if response.error is None else f"{response.error.kind}: {response.error.message}"


@in_loop
async def test_a_full_batch_goes_at_once() -> None:
    backend = ToyLocal(max_batch_size=3)
    async with batching(backend, live=100) as batcher:
        assert await asked(batcher, "question 1", "question 2", "question 3") == ["answer 1", "answer 2", "answer 3"]

    assert [len(batch) for batch in backend.batches] == [3]


@pytest.fixture
def _no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes, goes for another reason than that it has waited long enough."""
    monkeypatch.setattr(batching_module, "SHORT_WAIT", 1000)


@pytest.mark.usefixtures("_no_timer")
@in_loop
async def test_a_batch_goes_when_every_live_trial_waits() -> None:
    backend = ToyLocal(max_batch_size=64)
    async with batching(backend, live=2) as batcher:
        await asked(batcher, "a", "b")

    assert [len(batch) for batch in backend.batches] == [2]


@pytest.mark.usefixtures("_no_timer")
@in_loop
async def test_calls_of_one_trial_count_it_once() -> None:
    # An agent that asks twice at the same time is one trial: the other may still bring company.
    backend = ToyLocal(max_batch_size=64)
    async with batching(backend, live=2) as batcher:
        first = asyncio.create_task(asked(batcher, "a", "b", trial="agent"))
        await asyncio.sleep(0.01)
        await asyncio.gather(first, asked(batcher, "c", trial="other"))

    assert [sorted(batch) for batch in backend.batches] == [["a", "b", "c"]]


@in_loop
async def test_a_call_waits_for_company_only_a_short_time() -> None:
    backend = ToyLocal(max_batch_size=64)
    async with batching(backend, live=100) as batcher:
        began = time.monotonic()
        assert await asked(batcher, "question 1") == ["answer 1"]

    assert SHORT_WAIT <= time.monotonic() - began < 1


@in_loop
async def test_what_comes_while_a_batch_is_answered_makes_the_next_one() -> None:
    backend = ToyLocal(max_batch_size=8)
    async with batching(backend, live=1) as batcher:
        await asked_behind(batcher, backend, "a", "b", "c", "d")

    assert [sorted(batch) for batch in backend.batches] == [["a"], ["b", "c", "d"]]


@in_loop
async def test_the_call_that_has_waited_longest_is_answered_next_among_calls_of_its_length() -> None:
    backend = ToyLocal(max_batch_size=2)
    async with batching(backend, live=1) as batcher:
        await asked_behind(batcher, backend, "first", "long" * 9, "s", "long" * 8, "sh")

    assert backend.batches == [["first"], ["long" * 8, "long" * 9], ["s", "sh"]]


@in_loop
async def test_a_medium_counts_as_a_long_text() -> None:
    backend = ToyLocal(max_batch_size=2)
    seen, long = request("see", picture()), "x" * 3900
    async with batching(backend, live=1) as batcher:
        await asked_behind(batcher, backend, "first", long, "s", seen, "sh")

    assert backend.batches == [["first"], [long, "see"], ["s", "sh"]]


@in_loop
async def test_no_call_waits_for_ever_because_others_have_its_neighbours() -> None:
    backend = ToyLocal(max_batch_size=2)
    words = ["x" * length for length in (50, 1, 2, 3, 4, 5, 6)]
    async with batching(backend, live=1) as batcher:
        await asked_behind(batcher, backend, "first", *words)

    assert "x" * 50 in backend.batches[1]
    assert sorted(len(text) for batch in backend.batches[1:] for text in batch) == [1, 2, 3, 4, 5, 6, 50]


@in_loop
async def test_rows_of_a_batch_want_the_same_by_the_same_parameters() -> None:
    backend = ToyLocal(max_batch_size=8)
    cold = [request(f"cold {i}", temperature=0.0, options={"image.size": "1x1"}) for i in range(2)]
    seen = [replace(request(f"seen {i}"), wants=("image",)) for i in range(2)]
    async with batching(backend, live=1) as batcher:
        await asked_behind(batcher, backend, "first", *cold, "plain 0", *seen, "plain 1")

    assert sorted(sorted(batch) for batch in backend.batches[1:]) == [
        ["cold 0", "cold 1"],
        ["plain 0", "plain 1"],
        ["seen 0", "seen 1"],
    ]


@pytest.mark.usefixtures("_no_timer")
@in_loop
async def test_full_batches_go_before_a_call_that_waits_for_company_but_only_once() -> None:
    backend = ToyLocal(max_batch_size=2)
    warm = [request(f"warm {i}", temperature=1.0) for i in range(4)]
    async with batching(backend, live=100) as batcher:
        lonely = asyncio.create_task(asked(batcher, "lonely"))
        await asyncio.sleep(0)
        await asked(batcher, *warm)
        await lonely

    assert backend.batches == [["warm 0", "warm 1"], ["lonely"], ["warm 2", "warm 3"]]


@in_loop
async def test_nobody_waits_for_company_while_enough_calls_wait() -> None:
    backend = ToyLocal(max_batch_size=4)
    async with batching(backend, live=100) as batcher:
        began = time.monotonic()
        await asked(batcher, *(f"question {i}" for i in range(200)))

    assert [len(batch) for batch in backend.batches] == [4] * 50
    assert time.monotonic() - began < 50 * SHORT_WAIT


@in_loop
async def test_calls_that_were_given_up_are_in_no_batch() -> None:
    backend = ToyLocal(max_batch_size=8)
    async with batching(backend, live=1) as batcher:
        backend.gate.clear()
        tasks = [asyncio.create_task(asked(batcher, text)) for text in ("first", "given up", "waits")]
        await asyncio.sleep(0.05)
        tasks[1].cancel()
        await asyncio.sleep(0)
        backend.gate.set()
        await asyncio.gather(*tasks, return_exceptions=True)

    assert backend.batches == [["first"], ["waits"]]


@in_loop
async def test_when_it_stops_what_waits_is_told_so_and_what_is_under_way_is_answered() -> None:
    backend = ToyLocal(max_batch_size=1)
    async with batching(backend, live=1) as batcher:
        backend.gate.clear()
        tasks = [asyncio.create_task(asked(batcher, f"question {i}")) for i in range(2)]
        await asyncio.sleep(0.05)
        batcher.stop(StoppedError("stopped"))
        backend.gate.set()
        first, second = await asyncio.gather(*tasks, return_exceptions=True)

    assert (first, repr(second)) == (["answer 0"], "StoppedError('stopped')")


@in_loop
async def test_calls_are_in_flight_while_their_batch_is_under_way_and_not_before() -> None:
    seen: list[int] = []

    def looking(texts: list[str]) -> Exception | None:
        seen.append(batcher.in_flight)
        return killed_by("deadly")(texts)

    mortal = Scripted(looking)
    batcher = Batcher(mortal, lambda: 5, 3)
    await asked(batcher, "question 1", "deadly", "question 2", "question 3", "question 4")

    assert (seen[:4], batcher.in_flight) == ([3, 1, 1, 1], 0)


# --- memory ------------------------------------------------------------------------------------------------------


@in_loop
async def test_batches_stay_as_small_as_memory_allows(caplog: pytest.LogCaptureFixture) -> None:
    backend = ToyLocal(max_batch_size=8, memory=3)
    async with batching(backend, live=100) as batcher:
        await asked(batcher, *(f"question {i}" for i in range(16)))

    assert [len(batch) for batch in backend.batches][:7] == [8, 4, 2, 2, 4, 2, 2]
    assert {len(batch) for batch in backend.batches[7:]} == {2}
    assert [record.getMessage() for record in caplog.records] == [
        "a batch of 8 ran out of memory: batches have at most 2 rows from now on (--batch_size 2 begins with that)"
    ]


@in_loop
async def test_one_row_that_is_too_large_by_itself_does_not_make_batches_smaller() -> None:
    class Small(ToyLocal):
        def generate_batch(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
            self._memory = 0 if any("giant" in asked_text(one) for one in requests) else 100
            return super().generate_batch(requests)

    backend = Small(max_batch_size=4)
    async with batching(backend, live=100) as batcher:
        found = await asked(batcher, "a", "b", "c", "giant", *"efgh")

    assert [text for text in found if "out of memory" in text] == ["out_of_memory: RuntimeError: CUDA out of memory"]
    assert len(backend.batches[-1]) == 4


@pytest.mark.parametrize(("growths", "largest"), [(0, 1), (1, 2), (5, 4)])
@in_loop
async def test_a_size_that_ran_out_of_memory_is_tried_again_as_often_as_asked(growths: int, largest: int) -> None:
    backend = ToyLocal(max_batch_size=4, memory=1)
    async with batching(backend, live=100, growths=growths) as batcher:
        await asked(batcher, *"abcd")
        backend._memory, count = 100, len(backend.batches)
        await asked(batcher, *(f"question {i}" for i in range(4 * GROW_AFTER)))

    assert max(len(batch) for batch in backend.batches[count:]) == largest


# --- answerers ---------------------------------------------------------------------------------------------------


class Scripted:
    """Answers batches by a function; ``most`` is how many it has had at once."""

    def __init__(self, answer: Callable[[list[str]], Exception | None], places: int = 1, seconds: float = 0.01) -> None:
        self.places, self.most, self.batches = places, 0, list[list[str]]()
        self._answer, self._seconds, self._at_work = answer, seconds, 0

    async def start(self) -> None: ...

    async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
        texts = [asked_text(row.request) for row in batch]
        self.batches.append(texts)
        self._at_work += 1
        self.most = max(self.most, self._at_work)
        await asyncio.sleep(self._seconds)
        self._at_work -= 1
        if (error := self._answer(texts)) is not None:
            raise error
        for position, text in enumerate(texts):
            deliver(position, reply(text.replace("question", "answer")))
        return 0

    async def close(self) -> None: ...


def killed_by(mark: str) -> Callable[[list[str]], Exception | None]:
    return lambda texts: AnswererDiedError("it died") if any(mark in text for text in texts) else None


@in_loop
async def test_a_row_that_was_answered_keeps_its_answer_when_the_role_is_lost_in_the_same_moment() -> None:
    class LostAfterOne(Scripted):
        async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
            deliver(0, reply("answer"))
            raise UsageError("nobody answers any more")

    batcher = Batcher(LostAfterOne(lambda _texts: None), lambda: 2, 2)
    calls = (batcher.ask(request(text), Ticket(text)) for text in ("first", "second"))
    first, second = await asyncio.gather(*calls, return_exceptions=True)

    assert isinstance(first, Response)
    assert (first.text, str(second)) == ("answer", "nobody answers any more")


@in_loop
async def test_as_many_batches_are_under_way_as_there_are_places_and_each_gets_its_share() -> None:
    several = Scripted(lambda _: None, places=3)
    await asked(Batcher(several, lambda: 6, 64), *(f"question {i}" for i in range(6)))

    assert several.most > 1
    assert sum(len(batch) for batch in several.batches) == 6


@in_loop
async def test_trials_that_were_just_answered_may_bring_the_next_company_however_long_a_batch_took() -> None:
    # Three of four come back with a second call as soon as they have their first answer.
    slow = Scripted(lambda _: None, seconds=2 * SHORT_WAIT)
    batcher = Batcher(slow, lambda: 4, 3)

    async def twice(trial: str) -> None:
        for turn in ("one", "two"):
            await batcher.ask(request(f"{trial} {turn}"), Ticket(trial))

    await asyncio.gather(*map(twice, "abcd"))
    assert [len(batch) for batch in slow.batches] == [3, 3, 2]


@in_loop
async def test_after_a_death_each_row_is_asked_once_more_alone_and_the_one_to_blame_fails() -> None:
    mortal = Scripted(killed_by("deadly"))
    found = await asked(Batcher(mortal, lambda: 3, 8), "question 1", "deadly", "question 2")

    blamed = "internal: it died; it was answering this request, as it was when it died before"
    assert found == ["answer 1", blamed, "answer 2"]
    assert [len(batch) for batch in mortal.batches] == [3, 1, 1, 1]


@in_loop
async def test_what_ends_every_call_is_raised_and_anything_else_is_recorded() -> None:
    full = Batcher(Scripted(lambda _: StorageError("the disk is full")), lambda: 1, 8)
    odd = Batcher(Scripted(lambda _: ValueError("odd")), lambda: 1, 8)

    with pytest.raises(StorageError, match="the disk is full"):
        await asked(full, "question 1")
    assert await asked(odd, "question 1") == ["internal: ValueError: odd"]


class Leaving(ToyLocal):
    """Leaves in a way that no ``except Exception`` sees."""

    def generate_batch(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        raise KeyboardInterrupt("a signal in the wrong thread")


@in_loop
async def test_a_thread_that_is_left_in_the_rudest_way_fails_its_calls_and_hangs_nobody() -> None:
    async with batching(Leaving(), live=1) as batcher:
        [said] = await asked(batcher, "a")
        assert said.startswith("internal: KeyboardInterrupt: a signal in the wrong thread (test_batcher.py:")


def test_a_request_is_as_long_as_its_words_and_a_medium_counts_for_many() -> None:
    assert (length(request("four")), length(request("four", picture()))) == (4, 4 + MEDIUM_WEIGHT)


def test_requests_are_alike_that_want_the_same_by_the_same_parameters() -> None:
    one, other = request("a", temperature=0.5, options={"image.size": "1x1"}), request("b", temperature=0.5)
    assert likeness(other) == likeness(request("c", temperature=0.5)) != likeness(one)
    assert likeness(replace(other, wants=("image",))) != likeness(other)


@pytest.mark.parametrize(
    ("lengths", "wanted", "count", "begin"),
    [
        ([1, 1, 1, 9, 9], 2, 3, 0),
        ([1, 1, 8, 9, 9], 2, 3, 2),
        ([1, 2, 3], 0, 2, 0),
        ([1, 2, 3], 2, 2, 1),
        ([5], 0, 4, 0),
        ([1, 9], 1, 4, 0),
    ],
)
def test_a_slice_holds_who_is_wanted_and_needs_the_least_padding(
    lengths: list[int], wanted: int, count: int, begin: int
) -> None:
    assert least_padded(lengths, wanted, count) == begin
