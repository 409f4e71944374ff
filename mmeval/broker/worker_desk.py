"""A worker's desk: a backend of its own answers batches, each answer is written, then
reported.

The desk stands in a process that its parent has started
(:mod:`mmeval.broker.worker_process`), or in an actor of Ray
(:mod:`mmeval.broker.ray_worker`); what is reported goes to its caller. Every answer is
written into a journal segment of the worker's own first, so that it survives the end of
either.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from mmeval.backend.contract import BatchBackend, ModelDiedError, Startable, workers_of
from mmeval.backend.create import create_backend
from mmeval.broker.batch_answer import answer_batch
from mmeval.broker.batcher import BatchRow
from mmeval.errors import EXIT_UNEXPECTED, MmevalError, StorageError, UsageError
from mmeval.records.digests import digest
from mmeval.records.response import Response
from mmeval.store.call_context import raw_head
from mmeval.store.media_store import MediaStore
from mmeval.store.segment import JournalLine, Segment
from mmeval.store.writer_lock import hold
from mmeval.system.processes import settle_signals
from mmeval.system.secrets import without_secrets

log = logging.getLogger(__name__)

SYNC_SECONDS = 10.0
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""How many processors libraries may use; torch reads the first when it is imported."""


@dataclass(frozen=True)
class WorkerJob:
    """What a worker is started with: its backend and where it writes. ``identity`` is
    the digest that the backend must have, ``threads`` its share of the CPU threads."""

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
    """Every row is reported; ``most`` rows fit into memory, where that has shown."""

    most: int


class WorkerMessage(NamedTuple):
    """A warning of the backend's, which would stand in the worker's log alone."""

    level: int
    text: str


FromWorker: TypeAlias = (
    Path
    | AnswerRow
    | BatchDone
    | WorkerMessage
    | WorkerStartError
    | StorageError
    | ModelDiedError
)
"""A path is the segment that answers go to, once the backend is loaded. An error ends
what the worker was asked to do: its start, or the rest of a batch of which an answer
cannot be kept; with ModelDiedError the worker ends too."""
Report: TypeAlias = Callable[[FromWorker], None]


def heard(message: FromWorker, job: WorkerJob) -> Path | AnswerRow | BatchDone | None:
    """What a worker reported; of a warning, which is logged here, None. Raises its
    errors, and ModelDiedError."""
    if isinstance(message, MmevalError):
        raise message
    if isinstance(message, ModelDiedError):
        raise ModelDiedError(f"{job.name}: {message}; its log is {job.log}")
    if isinstance(message, WorkerMessage):
        if message.text not in _logged:  # copies of one backend warn of the same
            _logged.add(message.text)
            log.log(message.level, "%s", message.text)
        return None
    return message


_logged: set[str] = set()


def settle(job: WorkerJob) -> None:
    """Settle signals, output and the share of the processors, before anything else."""
    settle_signals()
    job.log.parent.mkdir(parents=True, exist_ok=True)
    output = os.open(job.log, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    faulthandler.enable(2)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s [%(name)s] %(message)s"
    )
    log.info("%s began as process %d", job.name, os.getpid())
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, str(job.threads))


class WorkerDesk:
    """Where a worker answers: a batch comes, its rows go, each of them written
    first."""

    def __init__(self, job: WorkerJob, report: Report) -> None:
        self._job, self._report = job, report
        self._lock = hold(job.run)
        self.segment = Segment(job.journal, MediaStore(job.media))
        self.backend: BatchBackend | None = None
        self._synced = time.monotonic()

    def open(self) -> bool:
        """Make and load the backend. Reports the path of the segment; where that
        failed, why."""
        logging.getLogger("mmeval").addHandler(_Warnings(self._report))
        job = self._job
        try:
            backend = create_backend(job.backend, job.args)
            if not isinstance(backend, BatchBackend) or workers_of(backend):
                raise UsageError(
                    f"the backend {job.backend!r}, made with "
                    f"{without_secrets(job.args)!r}, is not a single copy of itself"
                )
            if digest(dict(backend.identity)) != job.identity:
                raise UsageError(
                    f"the backend {job.backend!r} has another identity in a worker "
                    "process: its model changed meanwhile, or its identity depends on "
                    "what only says where it runs"
                )
            if isinstance(backend, Startable):
                backend.start()
        except MmevalError as error:
            self._report(WorkerStartError(str(error), error.exit_code))
        # a library may fail in any way; the caller learns how
        except BaseException as error:
            traceback.print_exc()
            self._report(
                WorkerStartError(
                    f"{type(error).__name__}: {error} (more is in {job.log})",
                    EXIT_UNEXPECTED,
                )
            )
        else:
            self.backend = backend
            self._report(self.segment.path)
        return self.backend is not None

    def answer(self, batch: Sequence[BatchRow]) -> bool:
        """Answer a batch; whether the worker can answer another."""
        assert self.backend is not None
        try:
            most = answer_batch(
                self.backend,
                [asked.request for asked in batch],
                partial(self._deliver, batch),
            )
        except ModelDiedError as death:
            self._report(death)
            return False
        except StorageError as error:
            self._report(error)
        else:
            self._report(BatchDone(most))
        if time.monotonic() > self._synced + SYNC_SECONDS:
            self.segment.sync()
            self._synced = time.monotonic()
        return True

    def close(self) -> None:
        try:
            if self.backend is not None:
                asyncio.run(self.backend.close())
        finally:
            self.segment.close()
            self._lock.close()

    def _deliver(
        self, batch: Sequence[BatchRow], position: int, response: Response
    ) -> None:
        request, context = batch[position]
        written = None
        if response.output is not None:  # a failure answers no later call
            try:
                if context.warnings:
                    response = replace(
                        response, warnings=(*response.warnings, *context.warnings)
                    )
                written = self.segment.keep(raw_head(context, request), response)
                response = written.response
            except StorageError:
                raise
            # what a plugin's backend gives may be nothing that can be written
            except Exception as error:
                traceback.print_exc()
                reason = f"{type(error).__name__}: {error}"
                response = Response.failed("internal", reason)
        self._report(AnswerRow(position, response, written))


class _Warnings(logging.Handler):
    """Reports warnings, each once."""

    def __init__(self, report: Report) -> None:
        super().__init__(logging.WARNING)
        self._report = report
        self._reported: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._reported:
            self._reported.add(text)
            self._report(WorkerMessage(record.levelno, text))
