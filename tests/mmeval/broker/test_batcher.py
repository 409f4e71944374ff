import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from mmeval.backend.contract import ModelDiedError, PlaceLostError
from mmeval.broker import batcher as module
from mmeval.broker.batch_answer import ThreadAnswerer
from mmeval.broker.batcher import Batcher, BatchRow, Deliver, least_padded, length
from mmeval.errors import StoppedError, StorageError
from mmeval.records.request import Request
from mmeval.store.call_context import CallContext
from tests.support.engine import now
from tests.support.toy import ToyLocal, asked_text, picture, reply, request


class Answers:
    """Answers batches within ``seconds``, by a function that may give an error instead.
    ``most`` is how many it has had at once."""

    def __init__(
        self,
        answer: Callable[[list[str]], Exception | None] = lambda _: None,
        places: int = 1,
        seconds: float = 0.01,
    ) -> None:
        self.places, self.most, self.batches = places, 0, list[list[str]]()
        self._answer, self._seconds, self._at_work = answer, seconds, 0
        self.on_places: Callable[[], None] = lambda: None

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


async def asked(batcher: Batcher, *texts: str | Request, trial: str = "") -> list[str]:
    """Ask at the same time, each text for a trial of its own unless one is given."""
    requests = [request(text) if isinstance(text, str) else text for text in texts]
    calls = [
        batcher.ask(one, CallContext(trial or f"trial {id(one)}")) for one in requests
    ]
    return [
        f"{response.error.kind}: {response.error.message}"
        if response.error
        else response.text
        for response in await asyncio.gather(*calls)
    ]


async def asked_behind(size: int, first: str, *texts: str | Request) -> list[list[str]]:
    """The batches where the texts are asked while the first one is answered, and no
    other trial is live."""
    backend = Answers(seconds=1)
    batcher = Batcher(backend, lambda: 1, size)
    calls = [asyncio.create_task(asked(batcher, first))]
    await asyncio.sleep(0.5)
    await asyncio.gather(*calls, asked(batcher, *texts))
    return backend.batches


async def test_a_full_batch_goes_at_once_and_a_call_waits_for_company_only_a_short_time() -> (
    None
):
    backend = Answers(seconds=1)
    batcher = Batcher(backend, lambda: 100, 3)
    texts = [f"question {i}" for i in range(4)]
    assert await asked(batcher, *texts[:3]) == ["answer 0", "answer 1", "answer 2"]
    assert now() == pytest.approx(1)
    assert await asked(batcher, texts[3]) == ["answer 3"]
    assert now() == pytest.approx(2 + module.SHORT_WAIT)
    assert (backend.batches, batcher.in_flight, module.SHORT_WAIT) == (
        [texts[:3], texts[3:]],
        0,
        0.02,
    )


async def test_a_batch_goes_when_every_live_trial_waits_and_an_agents_calls_are_those_of_one_trial() -> (
    None
):
    backend = Answers(seconds=1)
    batcher = Batcher(backend, lambda: 2, 64)
    await asked(batcher, "a", "b")
    assert now() == pytest.approx(1)
    first = asyncio.create_task(asked(batcher, "a", "b", trial="agent"))
    await asyncio.sleep(0.01)  # the other trial may still bring company
    await asyncio.gather(first, asked(batcher, "c", trial="other"))
    assert (backend.batches, now()) == (
        [["a", "b"], ["a", "b", "c"]],
        pytest.approx(2.01),
    )


async def test_calls_that_come_while_a_batch_is_answered_make_the_next_ones() -> None:
    assert await asked_behind(8, "a", "b", "c", "d") == [["a"], ["b", "c", "d"]]
    # The call that has waited longest is answered next, among calls of its length.
    assert await asked_behind(2, "first", "long" * 9, "s", "long" * 8, "sh") == [
        ["first"],
        ["long" * 8, "long" * 9],
        ["s", "sh"],
    ]
    assert (length(request("four")), length(request("four", picture()))) == (
        4,
        4 + 4000,
    )
    seen, long = request("see", picture()), "x" * 3900
    assert await asked_behind(2, "first", long, "s", seen, "sh") == [
        ["first"],
        [long, "see"],
        ["s", "sh"],
    ]


async def test_the_next_batch_begins_before_the_answers_of_the_last_one_are_read() -> (
    None
):
    class Thread(Answers):
        async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
            most = await super().answer(batch, deliver)
            # a thread reports its last row, and then that it is done
            await asyncio.sleep(0)
            return most

    async def trial(text: str) -> int:
        await batcher.ask(request(text), CallContext(text))
        return len(backend.batches)

    backend = Thread()
    batcher = Batcher(backend, lambda: 3, 1)
    assert await asyncio.gather(*(trial(f"question {i}") for i in range(3))) == [
        2,
        3,
        3,
    ]


async def test_rows_of_a_batch_want_the_same_by_the_same_parameters() -> None:
    cold = [
        request(f"cold {i}", temperature=0.0, options={"image.size": "1x1"})
        for i in range(2)
    ]
    seen = [replace(request(f"seen {i}"), wants=("image",)) for i in range(2)]
    batches = await asked_behind(8, "first", *cold, "plain 0", *seen, "plain 1")
    assert sorted(batches[1:]) == [
        ["cold 0", "cold 1"],
        ["plain 0", "plain 1"],
        ["seen 0", "seen 1"],
    ]


async def test_full_batches_go_before_a_call_that_waits_for_company_but_only_once() -> (
    None
):
    backend = Answers()
    batcher = Batcher(backend, lambda: 100, 2)
    lonely = asyncio.create_task(asked(batcher, "lonely"))
    await asyncio.sleep(0)
    await asked(batcher, *(request(f"warm {i}", temperature=1.0) for i in range(4)))
    await lonely
    assert backend.batches == [["warm 0", "warm 1"], ["lonely"], ["warm 2", "warm 3"]]


async def test_calls_that_were_given_up_are_in_no_batch_and_a_stop_ends_those_that_wait() -> (
    None
):
    backend = Answers(seconds=1)
    batcher = Batcher(backend, lambda: 1, 8)
    calls = [
        asyncio.create_task(asked(batcher, text))
        for text in ("first", "given up", "waits")
    ]
    await asyncio.sleep(0.5)
    calls[1].cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert backend.batches == [["first"], ["waits"]]
    calls = [asyncio.create_task(asked(batcher, f"question {i}")) for i in range(2)]
    await asyncio.sleep(0.5)
    batcher.stop(StoppedError("stopped"))
    first, second = await asyncio.gather(*calls, return_exceptions=True)
    assert (first, repr(second)) == (["answer 0"], "StoppedError('stopped')")


async def test_after_closing_no_call_goes_because_it_has_waited_long_enough() -> None:
    backend = Answers()
    batcher = Batcher(backend, lambda: 100, 8)
    waiting = asyncio.create_task(asked(batcher, "lonely"))
    await asyncio.sleep(0.01)
    await batcher.close()
    await asyncio.sleep(1)
    assert (backend.batches, waiting.cancel()) == ([], True)


async def test_after_a_death_each_row_is_asked_once_more_alone_and_the_one_to_blame_fails() -> (
    None
):
    seen: list[int] = []

    def mortal(texts: list[str]) -> Exception | None:
        seen.append(batcher.in_flight)
        return ModelDiedError("it died") if "deadly" in texts else None

    backend = Answers(mortal)
    batcher = Batcher(backend, lambda: 5, 3)
    found = await asked(
        batcher, "question 1", "deadly", "question 2", "question 3", "question 4"
    )
    assert found == ["answer 1", found[1], "answer 2", "answer 3", "answer 4"]
    assert found[1].startswith("internal: it died; ")
    assert [len(batch) for batch in backend.batches[:4]] == [3, 1, 1, 1]
    assert (seen[:4], batcher.in_flight) == ([3, 1, 1, 1], 0), (
        "in flight while its batch is under way"
    )


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (StorageError("full"), "StorageError('full')"),
        (ModelDiedError("died"), "answer"),
        (ValueError("odd"), "internal: ValueError: odd"),
    ],
    ids=repr,
)
async def test_an_answered_row_keeps_its_answer_when_its_batch_is_lost(
    error: Exception, end: str
) -> None:
    class LostAfterOne(Answers):
        async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
            deliver(0, reply("answer"))
            raise error

    batcher = Batcher(LostAfterOne(), lambda: 2, 2)
    answers = await asyncio.gather(
        asked(batcher, "first"), asked(batcher, "second"), return_exceptions=True
    )
    assert [
        repr(one) if isinstance(one, BaseException) else one[0] for one in answers
    ] == ["answer", end]


async def test_as_many_batches_are_under_way_as_there_are_places_and_each_gets_its_share() -> (
    None
):
    several = Answers(places=3)
    batcher = Batcher(several, lambda: 6, 64)
    await asked(batcher, *(f"question {i}" for i in range(6)))
    assert (several.most, list(map(len, several.batches))) == (3, [2, 2, 2])
    assert (batcher.width, module.WINDOW) == ((3 + 3) * 64, 4)


async def test_a_place_that_is_new_gets_a_batch_at_once() -> None:
    growing, widths = Answers(seconds=1), list[int]()
    batcher = Batcher(growing, lambda: 100, 2)
    batcher.on_room = lambda: widths.append(batcher.width)
    waiting = asyncio.create_task(asked(batcher, *(f"question {i}" for i in range(4))))
    await asyncio.sleep(0.5)
    growing.places = 2
    growing.on_places()
    await waiting
    assert (now(), growing.most, widths) == (pytest.approx(1.5), 2, [(2 + 3) * 2])


async def test_the_end_of_a_machine_is_counted_against_no_row() -> None:
    lost = Answers(
        lambda _: PlaceLostError("the node is gone") if len(lost.batches) <= 5 else None
    )
    assert await asked(Batcher(lost, lambda: 1, 1), "question 1") == ["answer 1"]
    assert len(lost.batches) == 6


async def test_trials_that_were_just_answered_may_bring_the_next_company_however_long_a_batch_took() -> (
    None
):
    # Three of four come back with a second call as soon as they have their first
    # answer.
    slow = Answers(seconds=2 * module.SHORT_WAIT)
    batcher = Batcher(slow, lambda: 4, 3)

    async def twice(trial: str) -> None:
        for turn in ("one", "two"):
            await batcher.ask(request(f"{trial} {turn}"), CallContext(trial))

    await asyncio.gather(*map(twice, "abcd"))
    assert list(map(len, slow.batches)) == [3, 3, 2]


async def test_batches_stay_as_small_as_memory_allows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend = ToyLocal(max_batch_size=8, memory=3)
    batcher = Batcher(ThreadAnswerer(backend), lambda: 100, 8)
    await asked(batcher, *(f"question {i}" for i in range(16)))
    await batcher.close()
    assert list(map(len, backend.batches))[:7] == [8, 4, 2, 2, 4, 2, 2]
    assert {len(batch) for batch in backend.batches[7:]} == {2}
    [warned] = caplog.messages
    for words in (" 8 ", " 2 ", "--batch_size 2 "):
        assert words in warned


@pytest.mark.parametrize(("growths", "largest"), [(0, 1), (1, 2), (5, 4)])
async def test_a_size_that_ran_out_of_memory_is_tried_again_as_often_as_asked(
    growths: int, largest: int
) -> None:
    backend = ToyLocal(max_batch_size=4, memory=1)
    batcher = Batcher(ThreadAnswerer(backend), lambda: 100, 4, growths=growths)
    await asked(batcher, *"abcd")
    backend._memory, count = 100, len(backend.batches)
    await asked(batcher, *(f"question {i}" for i in range(4 * module.GROW_AFTER)))
    await batcher.close()
    assert (
        max(len(batch) for batch in backend.batches[count:]),
        module.GROW_AFTER,
    ) == (largest, 16)


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
def test_a_slice_with_a_row_has_the_least_padding(
    lengths: list[int], wanted: int, count: int, begin: int
) -> None:
    assert least_padded(lengths, wanted, count) == begin
