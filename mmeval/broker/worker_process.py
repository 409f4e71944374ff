"""A worker process: makes a backend, and answers its parent's batches in turn.

Every answer is written into a journal segment of the worker's own before its parent hears of it, so that it survives
the end of either. A worker whose parent is gone finishes the batch at hand, for a few seconds at most, and ends.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import queue
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from mmeval.backend.contract import BatchBackend, ModelDiedError, Startable, workers_of
from mmeval.backend.create import create_backend
from mmeval.broker.batch_answer import answer_batch
from mmeval.broker.batcher import BatchRow
from mmeval.errors import EXIT_UNEXPECTED, Caught, MmevalError, StorageError, UsageError
from mmeval.records.digests import digest
from mmeval.records.response import Response
from mmeval.store.media_store import MediaStore
from mmeval.store.segment import JournalLine, Segment
from mmeval.store.ticket import raw_head
from mmeval.store.writer_lock import ORPHAN_SECONDS, hold
from mmeval.system.processes import is_orphan, parent_id, settle_signals

SYNC_SECONDS = 10.0
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""How libraries are told of how many processors they may use; torch reads the first when it is imported."""


@dataclass(frozen=True)
class WorkerJob:
    """What a worker is started with: its backend and where it writes.
    ``identity`` is the digest that the backend must have, ``threads`` its share of the CPU threads."""

    name: str
    backend: str
    args: Mapping[str, Any]
    identity: str
    run: Path
    journal: Path
    media: Path
    log: Path
    threads: int


class WorkerStartError(MmevalError):
    """A worker could not make or load its backend; ``exit_code`` is the cause's."""

    def __init__(self, message: str, exit_code: int = EXIT_UNEXPECTED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class AnswerRow(NamedTuple):
    """What came of a row of the batch; ``written`` where it was kept."""

    position: int
    response: Response
    written: JournalLine | None


class BatchDone(NamedTuple):
    """Every row has been told of; ``most`` rows fit into memory, where that has shown."""

    most: int


class WorkerMessage(NamedTuple):
    """A warning of the backend's, which would stand in the worker's log alone."""

    level: int
    text: str


FromWorker: TypeAlias = Path | AnswerRow | BatchDone | WorkerMessage | WorkerStartError | StorageError | ModelDiedError
"""A path is the segment that answers go to, once the backend is loaded. An error ends what the worker was asked to do:
its start, or the rest of a batch of which an answer cannot be kept; with ModelDiedError the worker ends too."""


def work(job: WorkerJob, connection: Connection) -> None:
    """The life of a worker process."""
    _settle(job)
    lock = hold(job.run)
    parent = _Parent(connection)
    segment = Segment(job.journal, MediaStore(job.media))
    try:
        backend = _started(job, parent)
        if backend is not None:
            parent.tell(segment.path)
            _Desk(backend, segment, parent).serve()
            asyncio.run(backend.close())
    finally:
        segment.close()
        lock.close()


def _settle(job: WorkerJob) -> None:
    """Settle signals, output and the share of the processors, before anything else."""
    settle_signals()
    job.log.parent.mkdir(parents=True, exist_ok=True)
    log = os.open(job.log, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    faulthandler.enable()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s [%(name)s] %(message)s")
    logging.getLogger(__name__).info("%s began as process %d", job.name, os.getpid())
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, str(job.threads))


def _started(job: WorkerJob, parent: _Parent) -> BatchBackend | None:
    """The backend, ready to answer; None where that failed, which the parent is told."""
    logging.getLogger("mmeval").addHandler(_Telling(parent))
    try:
        backend = create_backend(job.backend, job.args)
        _check(job, backend)
        if isinstance(backend, Startable):
            backend.start()
    except MmevalError as error:
        parent.tell(WorkerStartError(str(error), error.exit_code))
    except BaseException as error:  # a library may fail in any way; the parent says how
        traceback.print_exc()
        parent.tell(WorkerStartError(f"{type(error).__name__}: {error} (more is in {job.log})", EXIT_UNEXPECTED))
    else:
        assert isinstance(backend, BatchBackend)
        return backend
    return None


def _check(job: WorkerJob, backend: object) -> None:
    """Raises UsageError for a backend that is another one here than in the parent."""
    if not isinstance(backend, BatchBackend) or workers_of(backend):
        raise UsageError(f"the backend {job.backend!r}, made with {dict(job.args)!r}, is no single copy of itself")
    if digest(dict(backend.identity)) != job.identity:
        raise UsageError(
            f"the backend {job.backend!r} has another identity in a worker process: its model changed meanwhile, or "
            "its identity depends on what only says where it runs"
        )


class _Desk:
    """Where a worker answers: a batch comes, its rows go, each of them written first."""

    def __init__(self, backend: BatchBackend, segment: Segment, parent: _Parent) -> None:
        self._backend, self._segment, self._parent = backend, segment, parent
        self._synced = time.monotonic()

    def serve(self) -> None:
        for batch in self._parent.batches():
            try:
                most = answer_batch(self._backend, [asked.request for asked in batch], partial(self._deliver, batch))
            except ModelDiedError as death:
                self._parent.tell(death)
                return
            except StorageError as error:
                self._parent.tell(error)
            else:
                self._parent.tell(BatchDone(most))
            if time.monotonic() > self._synced + SYNC_SECONDS:
                self._segment.sync()
                self._synced = time.monotonic()

    def _deliver(self, batch: Sequence[BatchRow], position: int, response: Response) -> None:
        request, ticket = batch[position]
        written = None
        if response.output is not None:  # a failure answers no later call
            with Caught(StorageError) as failure:  # what a backend gives may be nothing that can be written
                if ticket.remarks:
                    response = replace(response, warnings=(*response.warnings, *ticket.remarks))
                written = self._segment.keep(raw_head(ticket, request), response)
                response = written.response
            if failure:
                traceback.print_exception(failure.error)
                response = Response.failed("internal", failure.reason)
        self._parent.tell(AnswerRow(position, response, written))


class _Parent:
    """The connection to the parent; what cannot be sent to it is in the segment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._batches: queue.SimpleQueue[Sequence[BatchRow] | None] = queue.SimpleQueue()
        self._parent = parent_id()
        threading.Thread(target=self._listen, name="mmeval-parent", daemon=True).start()

    def tell(self, message: FromWorker) -> None:
        try:
            with self._sending:
                self._connection.send(message)
        except OSError:
            pass  # the listener sees it too, and ends the process

    def batches(self) -> Iterator[Sequence[BatchRow]]:
        """Until the parent has no more, or is no more."""
        while (batch := self._batches.get()) is not None:
            yield batch

    def _listen(self) -> None:
        try:
            while (batch := self._heard()) is not None:
                self._batches.put(batch)
        except (EOFError, OSError):
            signal.alarm(ORPHAN_SECONDS)  # whatever the backend is at then, the kernel ends it
        except BaseException:  # whatever it is, the process cannot answer any more
            traceback.print_exc()
            os._exit(EXIT_UNEXPECTED)  # a parent that waits for an answer would wait for ever
        self._batches.put(None)

    def _heard(self) -> Sequence[BatchRow] | None:
        """The parent's next message. Raises EOFError when the parent is gone.
        The connection may stay open then: a process that the parent started may have inherited its end."""
        while not self._connection.poll(1.0):
            if is_orphan(self._parent):
                raise EOFError
        batch: Sequence[BatchRow] | None = self._connection.recv()
        return batch


class _Telling(logging.Handler):
    """Tells the parent of warnings, each once."""

    def __init__(self, parent: _Parent) -> None:
        super().__init__(logging.WARNING)
        self._parent = parent
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._told:
            self._told.add(text)
            self._parent.tell(WorkerMessage(record.levelno, text))
