import os
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmeval.backend.contract import ModelDiedError
from mmeval.broker import worker as module
from mmeval.broker.batcher import BatchRow
from mmeval.broker.worker import END_SECONDS, WorkerProcess
from mmeval.broker.worker_service import (
    AnswerRow,
    BatchDone,
    WorkerJob,
    WorkerMessage,
    WorkerStartError,
)
from mmeval.errors import StorageError
from mmeval.store.call_context import CallContext
from tests.support.toy import reply, request

READY, ROW, DONE = Path("segment"), AnswerRow(0, reply("answer"), None), BatchDone(3)
WARNING = WorkerMessage(30, "a warning")
GARBLED, END = b"nothing that can be read", None
BATCH = [BatchRow(request(), CallContext("t"))]


class Process:
    """Stands for a process that sends ``script`` at once; at an ``END`` it is gone,
    with exit status 3."""

    script: Sequence[object] = ()
    made: list["Process"]

    def __init__(
        self,
        *,
        target: Callable[..., None],
        args: tuple[WorkerJob, Connection],
        name: str,
    ) -> None:
        self.exitcode: int | None = None
        self.line = Connection(os.dup(args[1].fileno()))
        # the clock of these tests jumps: the loop may kill it while its thread does
        self.kill_lock = threading.Lock()
        self.made.append(self)

    def start(self) -> None:
        for message in self.script:
            if message is END:
                self.exitcode = 3
                self.line.close()
            elif isinstance(message, bytes):
                self.line.send_bytes(message)
            else:
                self.line.send(message if isinstance(message, list) else [message])

    def kill(self) -> None:
        with self.kill_lock:
            self.exitcode = -9
            self.line.close()

    def join(self, _seconds: float | None = None) -> None: ...


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> WorkerProcess:
    monkeypatch.setattr(Process, "made", [], raising=False)
    monkeypatch.setattr("mmeval.broker.worker_service._logged", set())
    monkeypatch.setattr(
        module, "FreshContext", lambda: SimpleNamespace(Process=Process)
    )
    folder = Path("unused")
    return WorkerProcess(
        WorkerJob(
            "worker 1", "toy", {}, "", folder, folder, folder, folder / "1.log", 1
        )
    )


async def test_a_worker_is_started_answers_and_is_ended(
    worker: WorkerProcess, monkeypatch: Any, caplog: Any
) -> None:
    monkeypatch.setattr(
        Process, "script", (WARNING, READY, WARNING, ROW, [ROW, ROW, DONE])
    )
    await worker.start()
    rows: list[Any] = []
    assert (await worker.answer(BATCH, rows.append), rows, worker.segment) == (
        3,
        [ROW] * 3,
        Path("segment"),
    )
    assert caplog.messages == ["a warning"], "copies of one backend warn of the same"
    (process,) = Process.made
    assert process.line.recv() == BATCH
    await worker.end()
    assert process.exitcode == -9, "it has not ended by itself"


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        (WorkerStartError("no weights", 4), 4, "no weights"),
        (END, 1, "worker 1 .*status 3.*1.log"),
        (GARBLED, 1, "worker 1 .*Error.*1.log"),
    ],
    ids=["refused", "dead", "garbled"],
)
async def test_a_start_that_fails(
    script: object, code: int, words: str, worker: WorkerProcess, monkeypatch: Any
) -> None:
    monkeypatch.setattr(Process, "script", [script])
    with pytest.raises(WorkerStartError, match=words) as lost:
        await worker.start()
    assert lost.value.exit_code == code
    await worker.end()


@pytest.mark.parametrize(
    ("script", "error", "words", "exitcode"),
    [
        ([[ROW, StorageError("disk full")]], StorageError, "disk full", None),
        ([ROW, END], ModelDiedError, "status 3", 3),
        (
            [[ROW, ModelDiedError("its program ended")]],
            ModelDiedError,
            "its program ended; .*1.log",
            None,
        ),
        ([ROW, GARBLED], ModelDiedError, "1.log", -9),
    ],
    ids=["cannot write", "dies", "its model dies", "garbled"],
)
async def test_a_batch_that_cannot_be_answered_raises(
    script: Sequence[object],
    error: type[Exception],
    words: str,
    exitcode: int | None,
    worker: WorkerProcess,
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(Process, "script", (READY, *script))
    await worker.start()
    rows: list[Any] = []
    with pytest.raises(error, match=words):
        await worker.answer(BATCH, rows.append)
    assert Process.made[0].exitcode == exitcode
    assert rows == ([] if END in script else [ROW]), (
        "one that was gone before it was asked has told nothing"
    )
    await worker.end()


@pytest.mark.parametrize("early", [True, False])
async def test_a_worker_that_is_given_up_is_killed(
    early: bool, worker: WorkerProcess, monkeypatch: Any
) -> None:
    monkeypatch.setattr(Process, "script", (READY,))
    if early:
        worker.kill()
    await worker.start()
    assert Process.made[0].exitcode == (-9 if early else None)
    worker.open_rows = dict(enumerate(BATCH))
    await worker.end()
    assert (Process.made[0].exitcode, END_SECONDS) == (-9, 5)
