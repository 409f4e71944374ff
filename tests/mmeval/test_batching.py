from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from mmeval import batching as batching_module
from mmeval.batching import SHORT_WAIT, Batcher, answer_batch
from mmeval.records import Request, Response
from tests.support.in_loop import in_loop
from tests.support.toy import ToyLocal, request


@contextmanager
def batching(backend: ToyLocal, live: int, size: int = 0) -> Iterator[Batcher]:
    batcher = Batcher(backend, lambda: live, size)
    try:
        yield batcher
    finally:
        batcher.close()


async def asked(batcher: Batcher, *texts: str, trial: str = "") -> list[str]:
    """Ask at the same time, each text for a trial of its own unless one is given."""
    calls = [batcher.ask(request(text), trial or f"trial {i}") for i, text in enumerate(texts)]
    return [said(response) for response in await asyncio.gather(*calls)]


async def asked_behind(batcher: Batcher, backend: ToyLocal, first: str, *texts: str) -> None:
    """Ask the texts while the first one is being answered."""
    backend.gate.clear()
    tasks = [asyncio.create_task(asked(batcher, first))]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(asked(batcher, *texts)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    backend.gate.set()
    await asyncio.gather(*tasks)


def said(response: Response) -> str:
    return response.text if response.error is None else f"{response.error.kind}: {response.error.message}"


def answered(backend: ToyLocal, *texts: str) -> dict[str, str]:
    """All texts as one batch."""
    found: dict[str, str] = {}
    answer_batch(
        backend, [request(text) for text in texts], lambda i, response: found.__setitem__(texts[i], said(response))
    )
    return found


@in_loop
async def test_a_full_batch_goes_at_once() -> None:
    backend = ToyLocal(max_batch_size=3)
    with batching(backend, live=100) as batcher:
        assert await asked(batcher, "question 1", "question 2", "question 3") == ["answer 1", "answer 2", "answer 3"]

    assert [len(batch) for batch in backend.batches] == [3]


@in_loop
async def test_a_smaller_batch_can_be_asked_for_but_not_a_larger_one() -> None:
    for size, batches in ((2, [2, 2]), (9, [4])):
        backend = ToyLocal(max_batch_size=4)
        with batching(backend, live=4, size=size) as batcher:
            await asked(batcher, "a", "b", "c", "d")
        assert [len(batch) for batch in backend.batches] == batches


@pytest.fixture
def _no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes, goes for another reason than that it has waited long enough."""
    monkeypatch.setattr(batching_module, "SHORT_WAIT", 1000)


@pytest.mark.usefixtures("_no_timer")
@in_loop
async def test_a_batch_goes_when_every_live_trial_waits() -> None:
    backend = ToyLocal(max_batch_size=64)
    with batching(backend, live=2) as batcher:
        await asked(batcher, "a", "b")

    assert [len(batch) for batch in backend.batches] == [2]


@pytest.mark.usefixtures("_no_timer")
@in_loop
async def test_calls_of_one_trial_count_it_once() -> None:
    # An agent that asks twice at the same time is one trial: the other may still bring company.
    backend = ToyLocal(max_batch_size=64)
    with batching(backend, live=2) as batcher:
        first = asyncio.create_task(asked(batcher, "a", "b", trial="agent"))
        await asyncio.sleep(0.01)
        await asyncio.gather(first, asked(batcher, "c", trial="other"))

    assert [sorted(batch) for batch in backend.batches] == [["a", "b", "c"]]


@in_loop
async def test_a_call_waits_for_company_only_a_short_time() -> None:
    backend = ToyLocal(max_batch_size=64)
    with batching(backend, live=100) as batcher:
        began = time.monotonic()
        assert await asked(batcher, "question 1") == ["answer 1"]

    assert SHORT_WAIT <= time.monotonic() - began < 1


@in_loop
async def test_what_comes_while_a_batch_is_answered_makes_the_next_one() -> None:
    backend = ToyLocal(max_batch_size=8)
    with batching(backend, live=1) as batcher:
        await asked_behind(batcher, backend, "a", "b", "c", "d")

    assert [sorted(batch) for batch in backend.batches] == [["a"], ["b", "c", "d"]]


@in_loop
async def test_rows_of_like_length_share_a_batch() -> None:
    backend = ToyLocal(max_batch_size=2)
    with batching(backend, live=1) as batcher:
        await asked_behind(batcher, backend, "first", "long" * 9, "s", "long" * 8, "sh")

    assert backend.batches == [["first"], ["s", "sh"], ["long" * 8, "long" * 9]]


def test_a_bad_row_takes_no_neighbour_with_it() -> None:
    found = answered(ToyLocal(), "question 1", "bad", "question 2")

    assert found == {"question 1": "answer 1", "bad": "internal: ValueError: bad row", "question 2": "answer 2"}


def test_a_model_that_leaves_the_process_fails_that_row_alone() -> None:
    class Leaving(ToyLocal):
        def generate_batch(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
            for position, response in super().generate_batch(requests):
                if response.text == "answer 1":
                    sys.exit(0)
                yield position, response

    found = answered(Leaving(), "question 0", "question 1", "question 2")
    assert found == {"question 0": "answer 0", "question 1": "internal: SystemExit: 0", "question 2": "answer 2"}


def test_rows_answered_before_the_error_are_not_asked_again() -> None:
    backend = ToyLocal()
    answered(backend, "bad", "question 1", "question 2")

    assert backend.batches == [["bad", "question 1", "question 2"], ["bad"]]


def test_a_batch_that_does_not_fit_is_halved_until_it_does() -> None:
    backend = ToyLocal(memory=2)
    found = answered(backend, *(f"question {i}" for i in range(7)))

    assert found == {f"question {i}": f"answer {i}" for i in range(7)}
    assert [len(batch) for batch in backend.batches] == [7, 3, 1, 1, 1, 3, 1, 1, 1, 1]


def test_a_single_row_that_does_not_fit_says_so() -> None:
    assert answered(ToyLocal(memory=0), "a", "b") == dict.fromkeys(
        "ab", "out_of_memory: RuntimeError: CUDA out of memory"
    )


class Forgetful(ToyLocal):
    """Leaves out every row but the first of a batch, and tells of one that nobody asked."""

    def generate_batch(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        self.batches.append([])
        yield from list(super().generate_batch(requests))[-1:]
        yield 99, Response.failed("internal", "nobody asked")


def test_rows_that_a_backend_forgets_are_asked_again_alone() -> None:
    assert answered(Forgetful(), "question 1", "question 2") == {"question 1": "answer 1", "question 2": "answer 2"}
