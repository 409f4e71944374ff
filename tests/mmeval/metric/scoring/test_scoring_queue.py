"""Queues of trials: for the process with models, and for the ordinary ones."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from mmeval.errors import MissingError
from mmeval.metric.scoring import scoring_queue as module
from mmeval.metric.scoring.scorer import Scorer
from mmeval.metric.scoring.scoring_queue import ScoringQueue
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.metric.scoring.worker import QueuedTrial, ScoredRows
from tests.support.scoring import BATCH, MODEL, PLUGINS, ScoringRun, plan, values
from tests.support.task_folder import with_plugins, write_files


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write_files(tmp_path / "model", MODEL)
    monkeypatch.setenv("TOY_NOTES", str(tmp_path / "notes"))
    with with_plugins("models", PLUGINS):
        yield


@pytest.fixture
def run(tmp_path: Path) -> ScoringRun:
    return ScoringRun(tmp_path)


@pytest.mark.parametrize("workers", [0, 2])
def test_answers_are_scored_in_batches_by_one_process_that_loads_the_model_once(
    run: ScoringRun, workers: int
) -> None:
    assert values(run.scores(*["yes", "no"] * 20, workers=workers)) == [1.0, 0.0] * 20
    (load,) = run.notes("load")
    batches = run.notes("batch")
    assert {note.process for note in batches} == {load.process}
    assert (load.process == os.getpid()) is (workers == 0)
    assert max(int(note.more) for note in batches) == BATCH
    assert len(batches) <= 20


def test_a_device_that_is_missing_is_an_error_at_once(
    run: ScoringRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(device: str) -> None:
        raise MissingError(device)

    monkeypatch.setattr("mmeval.metric.scoring.scorer.require_device", missing)
    with pytest.raises(MissingError, match="cuda:97"):
        run.scores("yes", device="cuda:97")
    assert run.rows == []


def test_ordinary_processes_have_one_thread(
    run: ScoringRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    found: list[str | None] = []

    async def ask(scorer: Scorer) -> None:
        threads = partial(os.getenv, "OPENBLAS_NUM_THREADS")
        found.extend(
            pool.compute([threads])[0]
            for pool in (scorer._pool, scorer._model_pool)
            if pool
        )

    run.works(ask)
    assert found == ["1", None]


class Noting:
    """Stands for the processes: notes what it is sent, and answers once its gate is
    open."""

    def __init__(self) -> None:
        self.messages: list[list[QueuedTrial]] = []
        self.gate = asyncio.Event()
        self.came = asyncio.Event()

    async def rows(self, items: Sequence[QueuedTrial]) -> ScoredRows:
        self.messages.append(list(items))
        self.came.set()
        await self.gate.wait()
        return ScoredRows([b"{}\n"] * len(items), 0.0)

    def sizes(self) -> list[tuple[int, int]]:
        """The positions of the messages' plans, and how many trials they hold."""
        assert all(
            len({position for position, _ in message}) == 1 for message in self.messages
        )
        return [(message[0][0], len(message)) for message in self.messages]


def in_queue(
    noting: Noting,
    add: Callable[[ScoringQueue], Awaitable[None]],
    *plans: ScoringPlan,
    deliver: Callable[[int, bytes], None] = lambda position, rows: None,
) -> list[BaseException]:
    failed: list[BaseException] = []

    async def work() -> None:
        queue = ScoringQueue(plans, noting.rows, deliver, failed.append, messages=2)
        await add(queue)
        noting.gate.set()
        await queue.drain()
        assert queue.unfinished == 0

    asyncio.run(work())
    return failed


async def turns() -> None:
    """Let everything go on that waits for nothing outside."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize("idle", [0, 3600])
def test_a_message_goes_when_it_is_full_or_after_a_moment(
    idle: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", idle)
    noting = Noting()
    noting.gate.set()

    async def add(queue: ScoringQueue) -> None:
        for count in (1, 16, 3):
            noting.came.clear()
            for _ in range(count):
                await queue.add(0, b"line")
            await (turns() if idle else asyncio.wait_for(noting.came.wait(), 60))
        assert not idle or noting.sizes() == [(0, 16)]

    in_queue(noting, add, plan(batch=16))
    assert noting.sizes() == ([(0, 16), (0, 4)] if idle else [(0, 1), (0, 16), (0, 3)])


def test_a_message_holds_trials_of_one_task_as_many_as_its_metrics_want() -> None:
    noting = Noting()

    async def add(queue: ScoringQueue) -> None:
        for i in range(60):
            await queue.add(i % 2, b"line")

    in_queue(noting, add, plan(batch=1), plan(batch=20))
    assert noting.sizes() == [(0, 8), (0, 8), (1, 20), (0, 8), (1, 10), (0, 6)]


def test_two_messages_are_under_way_and_adding_waits_when_very_many_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING_BYTES", 100)
    noting, added = Noting(), []

    async def add(queue: ScoringQueue) -> None:
        async def bring() -> None:
            for i in range(100):
                await queue.add(0, b"0123456789")
                added.append(i)

        task = asyncio.create_task(bring())
        await turns()
        # above 100 bytes, then two are taken
        assert (len(added), noting.sizes()) == (11 + 8 + 8, [(0, 8)] * 2)
        noting.gate.set()
        await task

    in_queue(noting, add, plan(batch=8))
    assert noting.sizes() == [(0, 8)] * 12 + [(0, 4)]


def test_rows_that_cannot_be_kept_end_the_queue() -> None:
    def full(position: int, rows: bytes) -> None:
        raise OSError("disk full")

    async def add(queue: ScoringQueue) -> None:
        for _ in range(100):
            await queue.add(0, b"line")

    noting = Noting()
    failed = in_queue(noting, add, plan(batch=8), deliver=full)
    assert {str(error) for error in failed} == {"disk full"}
    assert len(noting.messages) <= 3


def test_rows_come_back_while_a_model_answers_without_a_pause() -> None:
    noting, rows = Noting(), list[bytes]()

    async def add(queue: ScoringQueue) -> None:
        noting.gate.set()
        for _ in range(5000):
            await queue.add(0, b"x" * 1024)
        assert len(b"".join(rows).splitlines()) > 2500

    assert (
        in_queue(
            noting, add, plan("toy_yes"), deliver=lambda _, made: rows.append(made)
        )
        == []
    )
