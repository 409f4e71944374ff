"""The code of a worker process, which answers its parent's batches one at a time.

If the parent dies, the worker has a few seconds to finish its batch before it ends.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection

from mmeval.broker.batcher import BatchRow
from mmeval.broker.worker_service import (
    AnswerRow,
    FromWorker,
    WorkerJob,
    WorkerService,
    settle,
)
from mmeval.errors import EXIT_UNEXPECTED
from mmeval.store.writer_lock import ORPHAN_SECONDS
from mmeval.system.processes import is_orphan, parent_id

HOLD_SECONDS = 0.1
"""Maximum seconds that a written row waits for further rows before it is reported."""


def work(job: WorkerJob, connection: Connection) -> None:
    """Runs a worker process until its parent has no more batches."""
    settle(job)
    parent = _Parent(connection)
    service = WorkerService(job, parent.report)
    try:
        if service.open():
            # stops at the first batch after which the model is gone
            all(map(service.answer, parent.batches()))
    finally:
        service.close()


class _Parent:
    """The connection to the parent process.

    Rows are sent together, since a message for each row would delay the next batch. A
    row that cannot be sent is still in the journal segment.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._held: list[FromWorker] = []
        self._batches: queue.SimpleQueue[Sequence[BatchRow] | None] = (
            queue.SimpleQueue()
        )
        self._parent = parent_id()
        threading.Thread(target=self._listen, name="mmeval-parent", daemon=True).start()

    def report(self, message: FromWorker) -> None:
        with self._sending:
            self._held.append(message)
            if not isinstance(message, AnswerRow):
                self._send_held()

    def batches(self) -> Iterator[Sequence[BatchRow]]:
        """Yields the batches, until the parent has no more or is gone."""
        while (batch := self._batches.get()) is not None:
            yield batch

    def _listen(self) -> None:
        try:
            batch: Sequence[BatchRow] | None = None
            while True:
                # The connection may stay open after the parent's death: another child
                # may have inherited the parent's end of it.
                while not self._connection.poll(HOLD_SECONDS):
                    if is_orphan(self._parent):
                        raise EOFError
                    # a thread that is sending now sends the held rows too
                    if self._sending.acquire(blocking=False):
                        try:
                            self._send_held()
                        finally:
                            self._sending.release()
                batch = self._connection.recv()
                if batch is None:
                    break
                self._batches.put(batch)
        except (EOFError, OSError):
            # after this time the kernel ends the process, even if the backend hangs
            signal.alarm(ORPHAN_SECONDS)
        except BaseException:  # after any error, the process cannot answer any more
            traceback.print_exc()
            # a parent that waits for an answer would wait forever
            os._exit(EXIT_UNEXPECTED)
        self._batches.put(None)

    def _send_held(self) -> None:
        held, self._held = self._held, []
        try:
            if held:
                self._connection.send(held)
        except OSError:
            pass  # the listener gets the error too, and ends the process
