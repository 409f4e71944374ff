"""A pool of workers: copies of a local model that answer batches from one queue.

A worker is a process of this machine (:mod:`mmeval.broker.worker`) or a Ray actor
(:mod:`mmeval.broker.ray_worker`). The property ``workers`` of a backend declares the
arguments in which the copies differ, such as the device. A worker that dies is started
again, and its open rows are sent again. A worker that dies repeatedly without an answer
is left out.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mmeval.backend.contract import (
    AnyBackend,
    ModelDiedError,
    PlaceLostError,
    workers_of,
)
from mmeval.broker.batcher import BatchRow, Deliver
from mmeval.broker.worker_service import AnswerRow, WorkerJob, WorkerStartError
from mmeval.errors import BackendDownError, MmevalError, StoppedError, message_of
from mmeval.records.digests import digest
from mmeval.store.journal import Journal
from mmeval.store.writer_lock import WORKERS
from mmeval.system.wording import file_name

log = logging.getLogger(__name__)

DEATHS_IN_A_ROW = 10
"""Number of consecutive deaths after which a worker is left out.

The count starts again from 0 after an answer.
"""


class Worker(Protocol):
    """A copy of the backend, which answers one batch at a time."""

    job: WorkerJob
    segment: Path
    """The journal segment of the worker. The path is empty before the worker's first
    start."""
    open_rows: Mapping[int, BatchRow]
    """The rows of the current batch that the worker has not reported yet."""

    async def start(self) -> None:
        """Starts the worker, or starts it again.

        Raises WorkerStartError, or PlaceLostError if its machine is gone.
        """

    async def answer(
        self, batch: Sequence[BatchRow], reported: Callable[[AnswerRow], None]
    ) -> int:
        """Answers a batch, and calls ``reported`` for each row in the loop's thread.

        Raises ModelDiedError, and StorageError if the worker cannot write.
        """

    async def end(self) -> None:
        """Ends the worker.

        The worker finishes its batch first, unless the batch was cancelled.
        """

    def kill(self) -> None:
        """Ends the worker at once. It is not started again."""


def worker_jobs(
    role: str, backend: AnyBackend, name: str, args: Mapping[str, Any], run: Path
) -> list[WorkerJob]:
    """Returns a job for each copy of a backend in a run folder. There is at least one
    job."""
    entries = workers_of(backend) or [{}]
    processors = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # only processors that this process may use
        processors = len(os.sched_getaffinity(0))
    threads = max(1, processors // len(entries))
    return [
        WorkerJob(
            name=f"worker {number} of {len(entries)} ({role})",
            backend=name,
            args={**args, **entry},
            identity=digest(dict(backend.identity)),
            run=run,
            journal=run / "journal",
            media=run / "media",
            log=run / WORKERS / f"{file_name(role)}-{number}.log",
            threads=threads,
        )
        for number, entry in enumerate(entries, 1)
    ]


class WorkerPool:
    """Answers batches with several workers, one batch for each worker that is ready."""

    def __init__(self, workers: Sequence[Worker], journal: Journal) -> None:
        self.on_places: Callable[[], None] = lambda: None
        """Called when a worker is ready."""
        self._workers = list(workers)
        self._journal = journal
        self._ready: set[Worker] = set()
        self._free: asyncio.Queue[Worker | None] = asyncio.Queue()
        self._starts: dict[Worker, asyncio.Task[None]] = {}
        self._deaths: Counter[Worker] = Counter()
        """Number of deaths since the last answer, by worker."""
        self._left_out: list[str] = []
        """The reasons why workers were left out that have not been reported yet."""
        self._lost: MmevalError | None = None
        # at its exit, Python would wait for the processes
        atexit.register(self._kill)

    @property
    def places(self) -> int:
        return max(1, len(self._ready))

    async def start(self) -> None:
        """Starts all workers and waits for the first one.

        Raises the last error if no worker can be started.
        """
        for worker in self._workers:
            self._begin(worker)
        while not self._ready and self._lost is None:
            await asyncio.wait(
                self._starts.values(), return_when=asyncio.FIRST_COMPLETED
            )
        if self._lost is not None:
            raise self._lost

    async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
        """Answers a batch with the next free worker.

        Raises ModelDiedError, BackendDownError and StorageError.
        """
        worker = None
        while worker is None:
            if self._lost is not None:
                raise self._lost
            worker = await self._free.get()
            if worker is None:
                self._free.put_nowait(None)  # wakes the next call that waits
        worker.open_rows = open_rows = dict(enumerate(batch))

        def reported(row: AnswerRow) -> None:
            batch_row = open_rows.pop(row.position)
            self._deaths[worker] = 0
            if row.written is not None:
                self._journal.adopt(
                    batch_row.context,
                    batch_row.request.digest,
                    worker.segment,
                    row.written,
                )
            deliver(row.position, row.response)

        try:
            most = await worker.answer(batch, reported)
        except ModelDiedError as death:
            # deliver the answers that the dead worker had written but not reported
            calls = {row.context.key: row.request.digest for row in open_rows.values()}
            recovered = self._journal.recover(worker.segment, calls)
            for position, row in list(open_rows.items()):
                if row.context.key in recovered:
                    del open_rows[position]
                    self._deaths[worker] = 0
                    deliver(position, recovered[row.context.key])
            self._ready.discard(worker)
            if self._lost is None:
                self._replace(worker, str(death), len(open_rows))
            raise
        except Exception:  # the worker is alive, and can answer the next batch
            self._free.put_nowait(worker)
            raise
        self._free.put_nowait(worker)
        return most

    async def close(self) -> None:
        """Ends the workers. A worker whose batch was cancelled ends at once."""
        self._lose(StoppedError("stopped before the call was made"))
        for start in self._starts.values():
            start.cancel()
        await asyncio.gather(
            *(worker.end() for worker in self._workers), return_exceptions=True
        )
        atexit.unregister(self._kill)

    def _replace(
        self,
        worker: Worker,
        death: str,
        rows: int,
    ) -> None:
        self._deaths[worker] += 1
        if self._deaths[worker] >= DEATHS_IN_A_ROW:
            worker.kill()  # it may be alive without its model, and occupy a device
            in_a_row = (
                f"{death}. It has died {self._deaths[worker]} times in a row without "
                "an answer"
            )
            self._leave_out(
                f"{worker.job.name} is left out: {in_a_row}",
                BackendDownError(in_a_row, "fix the cause"),
            )
            return
        again = f"; calls to send again: {rows}" if rows else ""
        log.warning("%s. It is started again%s", death, again)
        self._begin(worker)

    def _begin(self, worker: Worker) -> None:
        self._starts[worker] = asyncio.get_running_loop().create_task(
            self._start(worker)
        )

    async def _start(self, worker: Worker) -> None:
        first = worker.segment == Path()
        try:
            await worker.start()
        except PlaceLostError as lost:
            log.warning("%s. It is started again", lost)
            self._begin(worker)
            return
        # Ray raises many kinds; after an unhandled one the run would wait forever
        except Exception as error:
            del self._starts[worker]
            why = (
                f"{worker.job.name} cannot be started{'' if first else ' again'}: "
                f"{message_of(error)}"
            )
            if not first:
                error = BackendDownError(why, "fix the cause")
            self._leave_out(
                why,
                error
                if isinstance(error, MmevalError)
                else WorkerStartError(message_of(error)),
            )
            return
        del self._starts[worker]
        self._ready.add(worker)
        self._free.put_nowait(worker)
        self._report()
        self.on_places()

    def _leave_out(self, why: str, error: MmevalError) -> None:
        """Stops using a worker. If no worker is left, every batch fails."""
        self._left_out.append(why)
        if self._ready:
            self._report()
        elif not self._starts:
            self._lose(error)

    def _report(self) -> None:
        for why in self._left_out:
            log.warning("%s. The other workers continue", why)
        self._left_out.clear()

    def _lose(self, error: MmevalError) -> None:
        """Makes every further batch raise this error."""
        self._lost = self._lost or error
        self._free.put_nowait(None)

    def _kill(self) -> None:
        for worker in self._workers:
            worker.kill()
