"""Worker processes: copies of a local model that answer batches from one queue.

The core knows nothing of what a worker loads: a backend declares by its ``workers`` in which arguments the copies
differ. A worker that dies is started again, and the rows that it had not answered are asked once more.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.backend.contract import AnyBackend, ModelDiedError, workers_of
from mmeval.broker.batcher import BatchRow, Deliver
from mmeval.broker.worker import WorkerProcess
from mmeval.broker.worker_process import AnswerRow, WorkerJob
from mmeval.errors import BackendDownError, MmevalError, StoppedError
from mmeval.records.digests import digest
from mmeval.store.journal import Journal
from mmeval.store.writer_lock import WORKERS
from mmeval.wording import file_name

log = logging.getLogger(__name__)

DEATHS_IN_A_ROW = 10
"""So many workers that die without one answer in between mean that no worker can answer."""


def worker_jobs(role: str, backend: AnyBackend, name: str, args: Mapping[str, Any], run: Path) -> list[WorkerJob]:
    """What the copies of a backend are, in a run folder."""
    entries = workers_of(backend)
    threads = max(1, _processors() // len(entries))
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


def _processors() -> int:
    """Those that this process may use, where the system can tell; else all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerPool:
    """Answers batches by worker processes, as many at once as there are of them."""

    def __init__(self, jobs: Sequence[WorkerJob], journal: Journal) -> None:
        self._workers = [WorkerProcess(job) for job in jobs]
        self._journal = journal
        self._free: asyncio.Queue[WorkerProcess | None] = asyncio.Queue()
        self._lost: MmevalError | None = None
        self._deaths = 0
        self._restarts: set[asyncio.Task[None]] = set()
        atexit.register(self._kill)  # whatever way this process leaves by, Python's own would wait for them

    @property
    def places(self) -> int:
        return len(self._workers)

    async def start(self) -> None:
        """Start all workers. Raises WorkerStartError when one of them cannot."""
        starts = [asyncio.create_task(worker.start()) for worker in self._workers]
        started = False
        try:
            await asyncio.wait(starts, return_when=asyncio.FIRST_EXCEPTION)
            for start in starts:
                if start.done():
                    start.result()
            started = True
        finally:
            if not started:
                self._kill()
                await asyncio.gather(*starts, return_exceptions=True)
        for worker in self._workers:
            self._free.put_nowait(worker)

    async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
        """Have the next free worker answer a batch.
        Raises ModelDiedError, BackendDownError, and StorageError."""
        worker = await self._next()
        worker.open_rows = open_rows = dict(enumerate(batch))

        def told(row: AnswerRow) -> None:
            asked = open_rows.pop(row.position)
            self._deaths = 0
            if row.written is not None:
                self._journal.adopt(asked.ticket, asked.request.digest, worker.segment, row.written)
            deliver(row.position, row.response)

        try:
            most = await worker.answer(batch, told)
        except ModelDiedError as death:
            self._recover(worker, open_rows, deliver)
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
        for restart in self._restarts:
            restart.cancel()
        await asyncio.gather(*(worker.end() for worker in self._workers), return_exceptions=True)
        atexit.unregister(self._kill)

    async def _next(self) -> WorkerProcess:
        while self._lost is None:
            worker = await self._free.get()
            if worker is not None:
                return worker
            self._free.put_nowait(None)  # for the others that wait
        raise self._lost

    def _recover(self, worker: WorkerProcess, open_rows: dict[int, BatchRow], deliver: Deliver) -> None:
        """Deliver what the dead worker had written and not told."""
        calls = {asked.ticket.key: asked.request.digest for asked in open_rows.values()}
        found = self._journal.recover(worker.segment, calls)
        for position, asked in list(open_rows.items()):
            if asked.ticket.key in found:
                del open_rows[position]
                deliver(position, found[asked.ticket.key])

    def _replace(self, worker: WorkerProcess, death: str, rows: int) -> None:
        self._deaths += 1
        if self._deaths >= DEATHS_IN_A_ROW:
            self._give_up(f"{death}. {self._deaths} workers in a row have died without an answer")
            return
        again = f"; {rows} call{' is' if rows == 1 else 's are'} asked again" if rows else ""
        log.warning("%s. It is started again%s", death, again)
        restart = asyncio.get_running_loop().create_task(self._restart(worker))
        self._restarts.add(restart)
        restart.add_done_callback(self._restarts.discard)

    async def _restart(self, worker: WorkerProcess) -> None:
        try:
            await worker.start()
        except (MmevalError, OSError) as error:
            self._give_up(f"{worker.job.name} cannot be started again: {error}")
        else:
            self._free.put_nowait(worker)

    def _give_up(self, why: str) -> None:
        self._lose(BackendDownError(why, "mend that"))

    def _lose(self, error: MmevalError) -> None:
        """From now on no batch is answered."""
        self._lost = self._lost or error
        self._free.put_nowait(None)

    def _kill(self) -> None:
        for worker in self._workers:
            worker.kill()
