"""A worker process: answers its parent's batches in turn, at a desk of its own.

A worker whose parent is gone finishes the batch at hand, for a few seconds at most, and ends.
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
from mmeval.broker.worker_desk import FromWorker, WorkerDesk, WorkerJob, settle
from mmeval.errors import EXIT_UNEXPECTED
from mmeval.store.writer_lock import ORPHAN_SECONDS
from mmeval.system.processes import is_orphan, parent_id


def work(job: WorkerJob, connection: Connection) -> None:
    """The life of a worker process."""
    settle(job)
    parent = _Parent(connection)
    desk = WorkerDesk(job, parent.report)
    try:
        if desk.open():
            all(map(desk.answer, parent.batches()))  # until there are no more, or the model is gone
    finally:
        desk.close()


class _Parent:
    """The connection to the parent; what cannot be sent to it is in the segment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._batches: queue.SimpleQueue[Sequence[BatchRow] | None] = queue.SimpleQueue()
        self._parent = parent_id()
        threading.Thread(target=self._listen, name="mmeval-parent", daemon=True).start()

    def report(self, message: FromWorker) -> None:
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
