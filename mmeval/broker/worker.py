"""Starts a worker process from its parent, sends it batches and handles its death."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from mmeval.backend.contract import ModelDiedError
from mmeval.broker.batcher import BatchRow
from mmeval.broker.worker_process import work
from mmeval.broker.worker_service import (
    AnswerRow,
    BatchDone,
    FromWorker,
    WorkerJob,
    WorkerStartError,
    received_message,
)
from mmeval.system.processes import FreshContext, ending
from mmeval.system.threads import OwnThread

END_SECONDS = 5.0
"""Seconds that a worker may take to release its resources at the end of a run."""


class WorkerProcess:
    """A worker process, controlled from a thread of the parent."""

    def __init__(self, job: WorkerJob) -> None:
        self.job = job
        self.segment = Path()
        self.open_rows: Mapping[int, BatchRow] = {}
        """The rows of the current batch that the worker has not reported yet."""
        self._loading = self._killed = False
        self._thread = OwnThread(f"mmeval-{job.name}")
        self._process: BaseProcess | None = None
        self._line: Connection | None = None

    async def start(self) -> None:
        """Starts the process. Raises WorkerStartError."""
        self._loading, self.open_rows = True, {}
        await self._thread.do(self._start)

    async def answer(
        self, batch: Sequence[BatchRow], reported: Callable[[AnswerRow], None]
    ) -> int:
        """Answers a batch, and calls ``reported`` for each row in the loop's thread.

        Raises ModelDiedError, and StorageError if the worker cannot write.
        """
        loop = asyncio.get_running_loop()

        def report_all(rows: Sequence[AnswerRow]) -> None:
            for row in rows:
                reported(row)

        return await self._thread.do(
            lambda: self._answer(
                batch, lambda rows: loop.call_soon_threadsafe(report_all, rows)
            )
        )

    async def end(self) -> None:
        """Ends the process.

        The process finishes its batch first, unless the batch was cancelled.
        """
        if self._loading or self.open_rows:
            self.kill()
        ending = asyncio.ensure_future(self._thread.do(self._end))
        await asyncio.wait({ending}, timeout=2 * END_SECONDS)
        if not ending.done():  # the worker has reported every row, but has not ended
            self.kill()
            await ending
        self._thread.end()

    def kill(self) -> None:
        """Ends the process at once. It is not started again."""
        self._killed = True
        if self._process is not None:
            self._process.kill()

    # --- in the worker's thread -------------------------------------------------------

    def _start(self) -> None:
        ours, theirs = Pipe()
        process = FreshContext().Process(
            target=work, args=(self.job, theirs), name=self.job.name
        )
        process.start()
        theirs.close()
        self._process, self._line = process, ours
        if self._killed:
            process.kill()
        try:
            segment = next(chain.from_iterable(iter(self._receive, None)))
        except ModelDiedError as death:
            raise WorkerStartError(
                f"{death}. It died while its model was being loaded"
            ) from None
        assert isinstance(segment, Path)
        self._loading = False
        self.segment = segment

    def _answer(
        self,
        batch: Sequence[BatchRow],
        reported: Callable[[Sequence[AnswerRow]], object],
    ) -> int:
        assert self._line is not None
        try:
            self._line.send(batch)
        except OSError:
            raise self._death() from None
        while True:
            rows = []
            try:
                for message in self._receive():
                    if isinstance(message, AnswerRow):
                        rows.append(message)
                    elif isinstance(message, BatchDone):
                        return message.most
            finally:
                if rows:
                    reported(rows)

    def _receive(self) -> Iterator[Path | AnswerRow | BatchDone]:
        """Receives the next messages of the worker, and logs its warnings.

        Raises the errors of the worker, and ModelDiedError.
        """
        assert self._line is not None and self._process is not None
        try:
            messages: Sequence[FromWorker] = self._line.recv()
        except (EOFError, OSError):
            raise self._death() from None
        # the position in the stream is lost, so later messages cannot be trusted
        except Exception as error:
            self._process.kill()
            self._process.join(END_SECONDS)
            raise ModelDiedError(
                f"{self.job.name} was ended because its message cannot be read "
                f"({type(error).__name__}: {error}); "
                f"its log is {self.job.log}"
            ) from None
        for message in messages:
            if isinstance(message, ModelDiedError):  # the worker ends after it
                self._process.join(END_SECONDS)
            received = received_message(message, self.job)
            if received is not None:
                yield received

    def _death(self) -> ModelDiedError:
        """Returns the error that states how the process ended."""
        assert self._process is not None
        self._process.join(END_SECONDS)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join(END_SECONDS)
        return ModelDiedError(
            f"{self.job.name} {ending(self._process.exitcode)}; its log is "
            f"{self.job.log}"
        )

    def _end(self) -> None:
        if self._process is None or self._line is None:
            return
        with contextlib.suppress(OSError):  # gone already
            self._line.send(None)
        self._process.join(END_SECONDS)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        self._line.close()
