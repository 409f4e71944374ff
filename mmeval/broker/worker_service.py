"""The code inside a worker: its backend answers batches, and it writes the answers.

It runs in a child process (:mod:`mmeval.broker.worker_process`) or in a Ray actor
(:mod:`mmeval.broker.ray_worker`). Every answer is written to the worker's own journal
segment before it is reported to the run. So the answer is kept if the worker or the run
dies.
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
"""Environment variables for the number of threads that libraries use.

Torch reads the first one when it is imported.
"""


@dataclass(frozen=True)
class WorkerJob:
    """The settings of a worker: its backend and the paths that it writes to.

    ``identity`` is the digest that the backend's identity must have. ``threads`` is the
    number of CPU threads that the worker may use.
    """

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
    """A worker could not create or load its backend.

    ``exit_code`` is the exit code of the cause.
    """

    def __init__(self, message: str, exit_code: int = EXIT_UNEXPECTED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class AnswerRow(NamedTuple):
    """The result of a row. ``written`` is its line in the journal, or None for a
    failure."""

    position: int
    response: Response
    written: JournalLine | None


class BatchDone(NamedTuple):
    """The end of a batch.

    If memory ran out, ``most`` is the number of rows that should fit, else 0.
    """

    most: int


class WorkerMessage(NamedTuple):
    """A log message of the worker that the run logs too."""

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
"""A message of a worker.

A path is that of the journal segment for answers, and is sent once the backend is
loaded. An error means that the worker did not start, or that an answer of the batch
cannot be written. After ModelDiedError the worker ends.
"""
Report: TypeAlias = Callable[[FromWorker], None]


def received_message(
    message: FromWorker, job: WorkerJob
) -> Path | AnswerRow | BatchDone | None:
    """Returns the message of a worker.

    If the message is a warning, it is logged and None is returned. Raises the errors of
    the worker, and ModelDiedError.
    """
    if isinstance(message, MmevalError):
        raise message
    if isinstance(message, ModelDiedError):
        raise ModelDiedError(f"{job.name}: {message}; its log is {job.log}")
    if isinstance(message, WorkerMessage):
        if message.text not in _logged:  # copies of a backend give the same warnings
            _logged.add(message.text)
            log.log(message.level, "%s", message.text)
        return None
    return message


_logged: set[str] = set()


def settle(job: WorkerJob) -> None:
    """Sets up signals, output and thread counts. Call this function before anything
    else."""
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
    log.info("%s started as process %d", job.name, os.getpid())
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, str(job.threads))


class WorkerService:
    """Answers batches in a worker, and writes each answer before it reports it."""

    def __init__(self, job: WorkerJob, report: Report) -> None:
        self._job, self._report = job, report
        self._lock = hold(job.run)
        self.segment = Segment(job.journal, MediaStore(job.media))
        self.backend: BatchBackend | None = None
        self._synced = time.monotonic()

    def open(self) -> bool:
        """Creates and loads the backend.

        Returns True if that succeeded. Reports the path of the segment, or the error.
        """
        logging.getLogger("mmeval").addHandler(_Warnings(self._report))
        job = self._job
        try:
            backend = create_backend(job.backend, job.args)
            if not isinstance(backend, BatchBackend) or workers_of(backend):
                raise UsageError(
                    f"a copy of the backend {job.backend!r} declares workers or does "
                    f"not accept batches (arguments {without_secrets(job.args)!r})"
                )
            if digest(dict(backend.identity)) != job.identity:
                raise UsageError(
                    f"the identity of the backend {job.backend!r} differs in a worker: "
                    "its model has changed, or its identity depends on where it runs"
                )
            if isinstance(backend, Startable):
                backend.start()
        except MmevalError as error:
            self._report(WorkerStartError(str(error), error.exit_code))
        # a library may raise any error; the run reports it
        except BaseException as error:
            traceback.print_exc()
            self._report(
                WorkerStartError(
                    f"{type(error).__name__}: {error} (details are in {job.log})",
                    EXIT_UNEXPECTED,
                )
            )
        else:
            self.backend = backend
            self._report(self.segment.path)
        return self.backend is not None

    def answer(self, batch: Sequence[BatchRow]) -> bool:
        """Answers a batch. Returns True if the worker can answer another batch."""
        assert self.backend is not None
        try:
            most = answer_batch(
                self.backend,
                [row.request for row in batch],
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
        if response.output is not None:  # later calls do not reuse a failure
            try:
                if context.warnings:
                    response = replace(
                        response, warnings=(*response.warnings, *context.warnings)
                    )
                written = self.segment.keep(raw_head(context, request), response)
                response = written.response
            except StorageError:
                raise
            # a plugin may return values that cannot be written
            except Exception as error:
                traceback.print_exc()
                reason = f"{type(error).__name__}: {error}"
                response = Response.failed("internal", reason)
        self._report(AnswerRow(position, response, written))


class _Warnings(logging.Handler):
    """Reports each warning once."""

    def __init__(self, report: Report) -> None:
        super().__init__(logging.WARNING)
        self._report = report
        self._reported: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._reported:
            self._reported.add(text)
            self._report(WorkerMessage(record.levelno, text))
