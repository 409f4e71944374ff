import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.contract import ModelDiedError, PlaceLostError
from mmeval.broker.batcher import BatchRow
from mmeval.broker.worker_pool import WorkerPool, worker_jobs
from mmeval.broker.worker_service import AnswerRow, WorkerJob, WorkerStartError
from mmeval.errors import BackendDownError, StoppedError, StorageError
from mmeval.records.digests import digest
from mmeval.records.response import Response
from mmeval.store.call_context import CallContext
from tests.support.engine import now
from tests.support.parallel import ToyParallel
from tests.support.toy import asked_text, reply, request


class Worker:
    """A worker that is no process. A batch that ``meets`` has an error for ends with it
    after its first row; the first row is written, the others are not."""

    meets: Mapping[str, Exception] = {
        **{mark: ModelDiedError("it was killed") for mark in ("deadly", "silent")},
        "full": StorageError("disk full"),
    }
    starts: Sequence[Exception | None] = ()
    """What the starts of the first worker meet, one after the other."""
    made: list["Worker"]

    def __init__(self, job: WorkerJob) -> None:
        self.job, self.segment = job, Path()
        self.open_rows: Mapping[int, BatchRow] = {}
        self.batches: list[list[str]] = []
        self.started = 0
        self.load_seconds, self.always = 1.0, ""
        self.killed = self.ended = False
        self.made.append(self)

    async def start(self) -> None:
        self.started += 1
        self.segment = Path(f"segment of {self.job.name}")
        await asyncio.sleep(self.load_seconds)
        error = (
            self.starts[self.started - 1] if self.started <= len(self.starts) else None
        )
        if error is not None and self.job.name.startswith("worker 1"):
            raise error

    async def answer(
        self, batch: Sequence[BatchRow], deliver: Callable[[AnswerRow], None]
    ) -> int:
        texts = [self.always or asked_text(row.request) for row in batch]
        self.batches.append(texts)
        await asyncio.sleep(1)
        error = next(
            (error for mark, error in self.meets.items() if mark in texts[0]), None
        )
        for position, text in enumerate(
            texts[: 1 if error and "silent" not in texts[0] else None]
        ):
            if "silent" not in text:
                written: Any = "a line" if position == 0 else None
                deliver(
                    AnswerRow(
                        position, reply(text.replace("question", "answer")), written
                    )
                )
        if error is not None:
            raise error
        return 3

    async def end(self) -> None:
        self.ended = True

    def kill(self) -> None:
        self.killed = True


class Notes:
    """Stands for the journal: what it adopts, and what it finds that dead workers have
    written."""

    def __init__(self, found: Mapping[str, Response] | None = None) -> None:
        self.adopted: list[tuple[str, str]] = []
        self._found = found or {}

    def adopt(
        self, context: CallContext, request_digest: str, segment: Path, written: object
    ) -> None:
        self.adopted.append((context.key, segment.name))

    def recover(self, segment: Path, calls: Mapping[str, str]) -> dict[str, Response]:
        return {key: response for key, response in self._found.items() if key in calls}


@pytest.fixture(autouse=True)
def _none_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "made", [], raising=False)


def pool(folder: Path, journal: Notes, copies: int = 1) -> WorkerPool:
    backend = ToyParallel(folder=str(folder), copies=copies)
    jobs = worker_jobs(
        "model", backend, "toy_parallel", {"folder": str(folder)}, folder / "run"
    )
    return WorkerPool([Worker(job) for job in jobs], journal)  # type: ignore[arg-type]  # what it asks of a journal


async def answered(of: WorkerPool, *texts: str) -> dict[int, str]:
    """The answers to a batch by their place; the error under -1."""
    found: dict[int, str] = {}
    batch = [
        BatchRow(request(text), CallContext("t", f"key of {text}")) for text in texts
    ]
    try:
        assert (
            await of.answer(
                batch, lambda row, response: found.update({row: response.text})
            )
            == 3
        )
    except Exception as error:
        found[-1] = type(error).__name__
    return found


def test_jobs_share_the_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(5)), raising=False)
    backend = ToyParallel(folder="f", copies=2)
    one, two = worker_jobs(
        "judge/a", backend, "toy_parallel", {"folder": "f"}, tmp_path
    )
    assert one == WorkerJob(
        "worker 1 of 2 (judge/a)",
        "toy_parallel",
        {"folder": "f", "copy": 1},
        digest(backend.identity),
        tmp_path,
        tmp_path / "journal",
        tmp_path / "media",
        tmp_path / "workers" / "judge__a-1.log",
        2,
    )
    assert (two.name, two.args, two.log.name) == (
        "worker 2 of 2 (judge/a)",
        {"folder": "f", "copy": 2},
        "judge__a-2.log",
    )
    many = worker_jobs(
        "m", ToyParallel(folder="f", copies=9), "toy_parallel", {}, tmp_path
    )
    assert {job.threads for job in many} == {1}


async def test_batches_go_to_the_next_free_worker_and_what_was_written_is_adopted(
    tmp_path: Path,
) -> None:
    journal = Notes()
    made = pool(tmp_path, journal, copies=2)
    await made.start()
    found = await asyncio.gather(
        *(answered(made, f"question {i}", "question 9") for i in range(3))
    )
    assert found == [{0: f"answer {i}", 1: "answer 9"} for i in range(3)]
    assert (made.places, [len(worker.batches) for worker in Worker.made]) == (2, [2, 1])
    assert journal.adopted[0] == (
        "key of question 0",
        "segment of worker 1 of 2 (model)",
    )
    await made.close()
    assert [(worker.ended, worker.killed) for worker in Worker.made] == [
        (True, False)
    ] * 2
    assert await answered(made, "question 1") == {-1: "StoppedError"}


async def test_what_a_dead_worker_had_written_is_delivered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = pool(tmp_path, Notes({"key of b": reply("found")}))
    await made.start()
    assert await answered(made, "deadly", "b", "c") == {
        0: "deadly",
        1: "found",
        -1: "ModelDiedError",
    }
    assert await answered(made, "question 1") == {0: "answer 1"}
    assert await answered(made, "deadly", "b") == {
        0: "deadly",
        1: "found",
        -1: "ModelDiedError",
    }
    assert await answered(made, "deadly", "c", "d") == {
        0: "deadly",
        -1: "ModelDiedError",
    }
    calls = [message.partition("; ")[2] for message in caplog.messages]
    assert calls == ["calls to send again: 1", "", "calls to send again: 2"]
    assert Worker.made[0].started == 3


async def test_a_pool_begins_with_the_first_worker_and_leaves_those_out_that_cannot_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Worker, "starts", [WorkerStartError("no weights", 4)])
    places = list[int]()
    made = pool(tmp_path, Notes(), copies=3)
    made.on_places = lambda: places.append(made.places)
    for number, worker in enumerate(Worker.made):
        worker.load_seconds = 1.0 + number
    await made.start()
    assert (now(), made.places) == (2.0, 1)
    (warning,) = caplog.messages
    assert "worker 1 of 3" in warning
    assert "no weights" in warning
    found = await asyncio.gather(*(answered(made, f"question {i}") for i in range(3)))
    assert found == [{0: f"answer {i}"} for i in range(3)]
    assert (places, [len(worker.batches) for worker in Worker.made]) == (
        [1, 2],
        [0, 2, 1],
    )
    await made.close()


async def test_a_place_that_dies_again_and_again_is_left_out_and_the_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = pool(tmp_path, Notes(), copies=2)
    Worker.made[0].always = "silent"
    await made.start()
    found = [await answered(made, f"question {i}") for i in range(30)]
    assert sum(-1 in answers for answers in found) == 10
    assert (Worker.made[0].started, Worker.made[0].killed, made.places) == (10, True, 1)
    for words in ("worker 1 of 2", "10 times"):
        assert words in caplog.messages[-1]


async def test_a_worker_whose_machine_is_lost_while_it_loads_is_started_again(
    tmp_path: Path, caplog: Any
) -> None:
    made = pool(tmp_path, Notes())
    Worker.made[0].starts = [
        PlaceLostError("its node is gone"),
        PlaceLostError("its node is gone"),
    ]
    await made.start()
    assert (await answered(made, "question 1"), Worker.made[0].started) == (
        {0: "answer 1"},
        3,
    )
    assert [message.partition(".")[0] for message in caplog.messages] == [
        "its node is gone"
    ] * 2
    await made.close()


async def test_ten_deaths_in_a_row_without_an_answer_end_the_role(
    tmp_path: Path,
) -> None:
    made = pool(tmp_path, Notes({"key of silent b": reply("found")}))
    await made.start()
    for _ in range(9):
        assert await answered(made, "silent") == {-1: "ModelDiedError"}
    assert await answered(made, "silent", "silent b") == {
        1: "found",
        -1: "ModelDiedError",
    }, "that is an answer, too"
    for _ in range(8):
        assert await answered(made, "silent") == {-1: "ModelDiedError"}
    assert await answered(made, "question 1") == {0: "answer 1"}
    for _ in range(10):
        assert await answered(made, "silent") == {-1: "ModelDiedError"}
    waiting = asyncio.gather(*(answered(made, f"question {i}") for i in range(3)))
    assert await waiting == [{-1: "BackendDownError"}] * 3
    with pytest.raises(BackendDownError, match="10 times"):
        await made.answer([], lambda _row, _response: None)


@pytest.mark.parametrize(
    "error", [WorkerStartError("no weights"), RuntimeError("no memory")], ids=repr
)
async def test_a_worker_that_cannot_be_started_again_ends_the_role(
    error: Exception, tmp_path: Path
) -> None:
    made = pool(tmp_path, Notes())
    await made.start()
    Worker.made[0].starts = [None, error]
    await answered(made, "deadly")
    with pytest.raises(BackendDownError, match=str(error)):
        await made.answer([], lambda _row, _response: None)
    await made.close()


@pytest.mark.parametrize(
    ("error", "code"),
    [(WorkerStartError("no weights", 4), 4), (RuntimeError("no weights"), 1)],
)
async def test_where_no_worker_can_be_started_the_error_says_why(
    error: Exception,
    code: int,
    tmp_path: Path,
    monkeypatch: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(Worker, "starts", [error])
    with pytest.raises(WorkerStartError, match="no weights") as lost:
        await pool(tmp_path, Notes()).start()
    assert (lost.value.exit_code, caplog.messages) == (code, [])


async def test_closing_ends_the_calls_that_wait_for_a_worker_and_starts_none_again(
    tmp_path: Path,
) -> None:
    made = pool(tmp_path, Notes())
    await made.start()
    # A worker that cannot write is well, and waits for the next batch.
    assert await answered(made, "full") == {0: "full", -1: "StorageError"}
    assert (await answered(made, "question 1"), Worker.made[0].started) == (
        {0: "answer 1"},
        1,
    )
    await answered(made, "deadly")
    waiting = asyncio.ensure_future(made.answer([], lambda _row, _response: None))
    await asyncio.sleep(0.5)
    await made.close()
    with pytest.raises(StoppedError):
        await waiting
