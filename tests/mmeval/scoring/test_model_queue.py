"""The model lane: one process that loads each model once, beside the ordinary ones, with real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.metric.bound import bind
from mmeval.scoring import worker
from mmeval.scoring.model_queue import LEAST_MESSAGE, ModelLane
from mmeval.scoring.scorer import Scorer
from mmeval.scoring.trial_rows import ScoringPlan
from mmeval.scoring.worker import Item, Rows
from mmeval.system.json_lines import from_line
from tests.mmeval.scoring.test_trial_rows import answered, plan
from tests.support.task_folder import installed, write_files
from tests.support.toy_weights import BATCH, MODEL, batched, notes, weighed

METRICS = {"batched": batched, "weighed": weighed}
PLUGINS = "\n".join(
    [
        "[mmeval.metrics]",
        "toy_yes = tests.support.toy:toy_yes",
        *(f"{name} = tests.support.toy_weights:{name}" for name in METRICS),
    ]
)


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write_files(tmp_path / "model", MODEL)
    monkeypatch.setenv("TOY_NOTES", str(tmp_path / "notes"))
    with installed(tmp_path / "site", monkeypatch, {"models": {}}, more=PLUGINS):
        yield


class Lane:
    """Plans of a task with a model and of one without, scored by processes; rows as they come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[tuple[int, dict[str, Any]]] = []

    def plan(self, name: str = "batched", *more: str, **switches: Any) -> ScoringPlan:
        bound = bind(METRICS[name], {"model": str(self.folder / "model"), **switches})
        others: tuple[tuple[str, dict[str, Any], str], ...] = tuple((other, {}, "standard") for other in more)
        return plan(metrics=((name, bound.params, "standard"), *others), batch=bound.at_once)

    def deliver(self, position: int, rows: bytes) -> None:
        self.rows += [(position, from_line(row)) for row in rows.splitlines()]

    def scored(
        self, texts: Sequence[tuple[int, str]], *plans: ScoringPlan, workers: int = 1, device: str = "cpu"
    ) -> Any:
        """The rows in the order of the trials, each given as (position of its plan, answer)."""
        scorer = Scorer(plans or [self.plan()], workers, self.deliver, device)
        scorer.start()

        async def score() -> None:
            for i, (position, text) in enumerate(texts):
                await scorer.add(position, answered(text, i))
            await scorer.drain()
            assert scorer.left_to_models == 0

        try:
            asyncio.run(score())
        finally:
            scorer.close()
        return [row for _, row in sorted(self.rows, key=lambda item: item[1]["i"])]

    def scores(self, *texts: str, **options: Any) -> list[dict[str, Any]]:
        return [row["scores"]["batched"] for row in self.scored([(0, text) for text in texts], **options)]

    def notes(self, what: str) -> list[Any]:
        return notes(self.folder / "notes", what)


@pytest.fixture
def lane(tmp_path: Path) -> Lane:
    return Lane(tmp_path)


def values(scores: Sequence[dict[str, Any]]) -> list[float | None]:
    return [score["value"] for score in scores]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_answers_are_scored_in_batches_by_one_process_that_loads_the_model_once(lane: Lane, workers: int) -> None:
    scores = lane.scores(*["yes", "no"] * 20, workers=workers)
    assert values(scores) == [1.0, 0.0] * 20
    (load,) = lane.notes("load")
    batches = lane.notes("batch")
    assert {note.process for note in batches} == {load.process}
    assert (load.process == os.getpid()) is (workers == 0)
    assert max(int(note.more) for note in batches) == BATCH
    assert len(batches) <= 20


def test_rows_are_those_that_an_ordinary_process_would_make(lane: Lane) -> None:
    texts = [(0, "yes"), (0, "raise"), (0, " "), (0, "no")]
    with_rule: dict[str, Any] = {
        "missing_output": 0.5,
        "unavailable": {"clip": "no weights"},
        "labels": ("book",),
        "cluster_key": "book",
    }

    def rows(batch: int) -> Any:
        lane.rows.clear()
        given = lane.plan("batched", "toy_yes")
        return lane.scored(texts, plan(metrics=given.metrics, batch=batch, **with_rule))

    assert rows(BATCH) == rows(0)
    assert [row["scores"]["batched"]["value"] for row in rows(BATCH)] == [1.0, None, 0.5, 0.0]


def test_other_tasks_do_not_wait_behind_a_model(lane: Lane) -> None:
    scorer = Scorer([lane.plan(), plan("toy_yes")], 1, lane.deliver, "cpu")
    scorer.start()

    async def score() -> None:
        await scorer.add(0, answered("yes slow 3", 0))
        async with asyncio.timeout(20):
            while not lane.notes("batch"):
                await asyncio.sleep(0.01)
            for i in range(40):
                await scorer.add(1, answered("yes", i))
            while len(lane.rows) < 40:
                await asyncio.sleep(0.01)
        assert {position for position, _ in lane.rows} == {1}
        await scorer.drain()

    try:
        asyncio.run(score())
    finally:
        scorer.close()
    assert len(lane.rows) == 41


def test_a_metric_that_opens_a_model_but_is_not_batched_is_scored_there_too(lane: Lane) -> None:
    given = lane.plan("weighed", "toy_yes")
    rows = lane.scored([(0, "yes")] * 3, given)
    assert given.batch == 1
    assert [row["scores"]["weighed"]["value"] for row in rows] == [7.0] * 3


def test_an_answer_that_kills_the_process_is_unscored_and_its_neighbours_are_scored(lane: Lane) -> None:
    scores = lane.scores(*("die" if i == 5 else "yes" for i in range(12)))
    assert [i for i, value in enumerate(values(scores)) if value is None] == [5]
    assert scores[5]["reason"].startswith("the scoring process died on this answer")


def test_loading_is_no_answers_time_and_an_answer_that_hangs_costs_itself(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "METRIC_SECONDS", 0.4)
    monkeypatch.setenv("TOY_LOADING", "1.5")
    scores = lane.scores("yes", "hang", "yes")
    assert values(scores) == [1.0, None, 1.0]
    assert "more than 0.4 seconds for one answer" in scores[1]["reason"]
    assert len(lane.notes("load")) == 1


@pytest.mark.parametrize("workers", [0, 1])
def test_models_go_to_the_device_that_was_asked_for(lane: Lane, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.scoring.scorer.require_device", lambda device: None)
    monkeypatch.setenv("MMEVAL_METRIC_DEVICE", "mps")
    lane.scores("yes", workers=workers, device="cpu")
    assert [note.more for note in lane.notes("load")] == ["cpu"]


def test_a_device_that_is_not_there_is_told_before_anything_is_scored(lane: Lane) -> None:
    from mmeval.errors import MissingError

    with pytest.raises(MissingError, match=r"--metric_device cuda:97: torch finds .* give auto or cpu"):
        lane.scores("yes", device="cuda:97")
    assert lane.rows == []


def test_ordinary_processes_have_one_thread_and_the_one_with_models_all(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    scorer = Scorer([lane.plan()], 1, lane.deliver, "cpu")
    scorer.start()
    try:
        assert scorer._model_pool is not None
        found = [pool.compute([threads_allowed])[0] for pool in (scorer._pool, scorer._model_pool) if pool]
    finally:
        scorer.close()
    assert found == ["1", None]


def threads_allowed() -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def test_memory_that_is_short_for_a_batch_is_no_matter(lane: Lane) -> None:
    rows = lane.scored([(0, "yes")] * 8, lane.plan(most=2))
    assert [row["scores"]["batched"]["value"] for row in rows] == [1.0] * 8
    assert [int(note.more) for note in lane.notes("batch")][:2] == [4, 2]


class Noting:
    """Stands for the processes: notes what it is sent, and answers when it is let."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.messages: list[list[Item]] = []
        self.seconds = seconds

    async def rows(self, items: Sequence[Item]) -> Rows:
        self.messages.append(list(items))
        await asyncio.sleep(self.seconds)
        return Rows([b"{}\n"] * len(items), 0.0)


def in_lane(noting: Noting, add: Callable[[ModelLane], Any], *plans: ScoringPlan, **more: Any) -> list[BaseException]:
    failed: list[BaseException] = []
    deliver = more.get("deliver", lambda position, rows: None)

    async def work() -> None:
        lane = ModelLane(plans, noting, deliver, failed.append)
        await add(lane)
        await lane.drain()
        assert lane.left == 0

    asyncio.run(work())
    return failed


def test_a_message_holds_trials_of_one_task_as_many_as_its_metrics_want() -> None:
    noting = Noting(0.01)

    async def add(lane: ModelLane) -> None:
        for i in range(60):
            await lane.add(i % 2, b"line")

    in_lane(noting, add, plan(batch=1), plan(batch=20))
    assert all(len({position for position, _ in message}) == 1 for message in noting.messages)
    assert {(message[0][0], len(message)) for message in noting.messages} <= {
        (0, LEAST_MESSAGE),
        (0, 6),
        (1, 20),
        (1, 10),
    }
    assert sum(map(len, noting.messages)) == 60


def test_a_few_trials_go_soon_although_no_more_come_and_more_may_come_later() -> None:
    noting = Noting()

    async def add(lane: ModelLane) -> None:
        for count in (1, 2):
            await lane.add(0, b"line")
            async with asyncio.timeout(5):
                while len(noting.messages) < count:
                    await asyncio.sleep(0.02)

    in_lane(noting, add, plan(batch=16))
    assert [len(message) for message in noting.messages] == [1, 1]


def test_whoever_brings_trials_waits_only_when_very_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.scoring.model_queue.MOST_WAITING_BYTES", 100)
    noting, added = Noting(0.05), []

    async def add(lane: ModelLane) -> None:
        async def bring() -> None:
            for i in range(100):
                await lane.add(0, b"0123456789")
                added.append(i)

        task = asyncio.create_task(bring())
        await asyncio.sleep(0.02)
        assert 10 < len(added) < 100
        await task

    in_lane(noting, add, plan(batch=8))
    assert sum(map(len, noting.messages)) == 100


def test_rows_that_cannot_be_kept_end_the_lane() -> None:
    def full(position: int, rows: bytes) -> None:
        raise OSError("disk full")

    async def add(lane: ModelLane) -> None:
        for _ in range(100):
            await lane.add(0, b"line")

    noting = Noting(0.01)
    failed = in_lane(noting, add, plan(batch=8), deliver=full)
    assert {str(error) for error in failed} == {"disk full"}
    assert len(noting.messages) <= 3


def test_a_run_that_is_stopped_does_not_wait_for_what_a_model_has_left(lane: Lane) -> None:
    scorer = Scorer([lane.plan()], 1, lane.deliver, "cpu")
    scorer.start()

    async def score() -> None:
        for i in range(12):
            await scorer.add(0, answered("hang", i))
        async with asyncio.timeout(1.5):
            await scorer.drain()

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(score())
    (process,) = {note.process for note in lane.notes("batch")}
    scorer.close()
    assert time.monotonic() - began < 10
    with pytest.raises(ProcessLookupError):
        os.kill(process, signal.SIG_DFL)
    assert json.dumps(lane.rows) == "[]"
