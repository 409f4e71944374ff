"""A worker process: answers its parent's batches in turn, at a desk of its own.

A worker whose parent is gone finishes the batch at hand, for a few seconds at most, and
ends.
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
from mmeval.broker.worker_desk import (
    AnswerRow,
    FromWorker,
    WorkerDesk,
    WorkerJob,
    settle,
)
from mmeval.errors import EXIT_UNEXPECTED
from mmeval.store.writer_lock import ORPHAN_SECONDS
from mmeval.system.processes import is_orphan, parent_id

HOLD_SECONDS = 0.1
"""So long a row that is written may wait for the next ones before it is reported."""


def work(job: WorkerJob, connection: Connection) -> None:
    """The life of a worker process."""
    settle(job)
    parent = _Parent(connection)
    desk = WorkerDesk(job, parent.report)
    try:
        if desk.open():
            # until there are no more, or the model is gone
            all(map(desk.answer, parent.batches()))
    finally:
        desk.close()


class _Parent:
    """The connection to the parent; what cannot be sent to it is in the segment. A row
    waits for those after it: a message for each would keep the model from its next
    batch."""

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
        """Until the parent has no more, or is no more."""
        while (batch := self._batches.get()) is not None:
            yield batch

    def _listen(self) -> None:
        try:
            batch: Sequence[BatchRow] | None = None
            while True:
                # The connection may stay open when the parent is gone: a process that
                # the parent started may have inherited its end.
                while not self._connection.poll(HOLD_SECONDS):
                    if is_orphan(self._parent):
                        raise EOFError
                    # who sends at this moment takes along what is held
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
            # whatever the backend is at then, the kernel ends it
            signal.alarm(ORPHAN_SECONDS)
        except BaseException:  # whatever it is, the process cannot answer any more
            traceback.print_exc()
            # a parent that waits for an answer would wait for ever
            os._exit(EXIT_UNEXPECTED)
        self._batches.put(None)

    def _send_held(self) -> None:
        held, self._held = self._held, []
        try:
            if held:
                self._connection.send(held)
        except OSError:
            pass  # the listener sees it too, and ends the process
