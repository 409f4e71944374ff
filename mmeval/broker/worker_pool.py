"""Workers: copies of a local model that answer batches from one queue, each at a place
of its own.

A worker is a process of this machine (:mod:`mmeval.broker.worker`) or an actor of Ray
(:mod:`mmeval.broker.ray_worker`). The core knows nothing of what it loads: a backend
declares by its ``workers`` in which arguments the copies differ. A worker that dies is
started again, and the rows that it had not answered are asked once more; a place where
that does not help is left out.
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
from mmeval.broker.worker_desk import AnswerRow, WorkerJob, WorkerStartError
from mmeval.errors import BackendDownError, MmevalError, StoppedError, message_of
from mmeval.records.digests import digest
from mmeval.store.journal import Journal
from mmeval.store.writer_lock import WORKERS
from mmeval.system.wording import file_name

log = logging.getLogger(__name__)

DEATHS_IN_A_ROW = 10
"""So many deaths without one answer in between mean that no worker can answer at a
place."""


class Worker(Protocol):
    """One place of a pool: a copy of the backend, which has one batch at a time."""

    job: WorkerJob
    segment: Path
    """Where it writes its answers, once it is started."""
    open_rows: Mapping[int, BatchRow]
    """What it was given and has not reported yet."""

    async def start(self) -> None:
        """Start it, or start it again. Raises what keeps it from that, and
        PlaceLostError where its machine is gone."""

    async def answer(
        self, batch: Sequence[BatchRow], reported: Callable[[AnswerRow], None]
    ) -> int:
        """Answer a batch; ``reported`` is called in the loop's thread, for each row.
        Raises ModelDiedError, and StorageError where the worker cannot write."""

    async def end(self) -> None:
        """Let it end, or end it where its work was given up."""

    def kill(self) -> None:
        """End it, at once and for good."""


def worker_jobs(
    role: str, backend: AnyBackend, name: str, args: Mapping[str, Any], run: Path
) -> list[WorkerJob]:
    """What the copies of a backend are, in a run folder; one where it declares none."""
    entries = workers_of(backend) or [{}]
    processors = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # those that this process may use
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
    """Answers batches by workers, as many at once as are ready."""

    def __init__(self, workers: Sequence[Worker], journal: Journal) -> None:
        self.on_places: Callable[[], None] = lambda: None
        """Called when a place is ready."""
        self._workers = list(workers)
        self._journal = journal
        self._ready: set[Worker] = set()
        self._free: asyncio.Queue[Worker | None] = asyncio.Queue()
        self._starts: dict[Worker, asyncio.Task[None]] = {}
        self._deaths: Counter[Worker] = Counter()
        """By place, how many in a row without an answer."""
        self._left_out: list[str] = []
        """Why places are, as far as that is not reported."""
        self._lost: MmevalError | None = None
        # whatever way this process leaves by, Python's own would wait for them
        atexit.register(self._kill)

    @property
    def places(self) -> int:
        return max(1, len(self._ready))

    async def start(self) -> None:
        """Start all workers, and wait for the first. Raises the last one's error where
        none can be started."""
        for worker in self._workers:
            self._begin(worker)
        while not self._ready and self._lost is None:
            await asyncio.wait(
                self._starts.values(), return_when=asyncio.FIRST_COMPLETED
            )
        if self._lost is not None:
            raise self._lost

    async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
        """Have the next free worker answer a batch.
        Raises ModelDiedError, BackendDownError, and StorageError."""
        worker = None
        while worker is None:
            if self._lost is not None:
                raise self._lost
            worker = await self._free.get()
            if worker is None:
                self._free.put_nowait(None)  # for the others that wait
        worker.open_rows = open_rows = dict(enumerate(batch))

        def reported(row: AnswerRow) -> None:
            asked = open_rows.pop(row.position)
            self._deaths[worker] = 0
            if row.written is not None:
                self._journal.adopt(
                    asked.context, asked.request.digest, worker.segment, row.written
                )
            deliver(row.position, row.response)

        try:
            most = await worker.answer(batch, reported)
        except ModelDiedError as death:
            # deliver what the dead worker had written and not reported
            calls = {row.context.key: row.request.digest for row in open_rows.values()}
            found = self._journal.recover(worker.segment, calls)
            for position, row in list(open_rows.items()):
                if row.context.key in found:
                    del open_rows[position]
                    self._deaths[worker] = 0
                    deliver(position, found[row.context.key])
            self._ready.discard(worker)
            if self._lost is None:
                self._replace(worker, str(death), len(open_rows))
            raise
        except Exception:  # the worker is well, and waits for the next batch
            self._free.put_nowait(worker)
            raise
        self._free.put_nowait(worker)
        return most

    async def close(self) -> None:
        """End the workers: at once those whose work was given up."""
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
            worker.kill()  # it may be alive without its model, and hold a device
            in_a_row = (
                f"{death}. It has died {self._deaths[worker]} times in a row without "
                "an answer"
            )
            self._leave_out(
                f"{worker.job.name} is left out: {in_a_row}",
                BackendDownError(in_a_row, "mend that"),
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
        # Ray has many; after one that is not handled the run would wait for ever
        except Exception as error:
            del self._starts[worker]
            why = (
                f"{worker.job.name} cannot be started{'' if first else ' again'}: "
                f"{message_of(error)}"
            )
            if not first:
                error = BackendDownError(why, "mend that")
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
        """Go on without a place; where it was the last, no batch is answered any
        more."""
        self._left_out.append(why)
        if self._ready:
            self._report()
        elif not self._starts:
            self._lose(error)

    def _report(self) -> None:
        for why in self._left_out:
            log.warning("%s. The others go on without it", why)
        self._left_out.clear()

    def _lose(self, error: MmevalError) -> None:
        """From now on no batch is answered."""
        self._lost = self._lost or error
        self._free.put_nowait(None)

    def _kill(self) -> None:
        for worker in self._workers:
            worker.kill()
