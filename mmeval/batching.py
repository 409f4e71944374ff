"""Micro-batching: calls that wait for a local model are answered together, in one worker thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from mmeval.backend import BatchBackend
from mmeval.records import ErrorKind, Request, Response

SHORT_WAIT = 0.02
"""Seconds that a call waits for company when some trials are busy elsewhere."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: Request
    trial: str
    future: asyncio.Future[Response]


class Batcher:
    """Collects calls and answers them in batches.

    A batch goes when it is full, when every live trial is waiting for it (nobody else can come), or after a short
    wait. ``live`` counts trials, not nested programs: an agent's inner calls belong to the trial that waits.
    """

    def __init__(self, backend: BatchBackend, live: Callable[[], int], max_batch_size: int = 0) -> None:
        self._backend, self._live = backend, live
        self.size = min(backend.max_batch_size, max_batch_size or backend.max_batch_size)
        self._waiting: list[_Waiting] = []
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mmeval-batch")
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, request: Request, trial: str) -> Response:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Response] = loop.create_future()
        self._waiting.append(_Waiting(request, trial, future))
        self._consider(loop)
        return await future

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _consider(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._busy or not self._waiting:
            return
        trials = {waiting.trial for waiting in self._waiting}
        if len(self._waiting) >= self.size or len(trials) >= self._live():
            self._flush(loop)
        elif self._timer is None:
            self._timer = loop.call_later(SHORT_WAIT, self._flush, loop)

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._busy or not self._waiting:
            return
        # Rows of like length share a batch: padding is what a mixed batch wastes.
        self._waiting.sort(key=lambda waiting: (waiting.request.wants, _length(waiting.request)))
        batch, self._waiting = self._waiting[: self.size], self._waiting[self.size :]
        self._busy = True
        task = loop.create_task(self._answer(batch, loop))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, batch: list[_Waiting], loop: asyncio.AbstractEventLoop) -> None:
        def deliver(position: int, response: Response) -> None:
            loop.call_soon_threadsafe(_resolve, batch[position].future, response)

        try:
            await loop.run_in_executor(
                self._thread, answer_batch, self._backend, [waiting.request for waiting in batch], deliver
            )
        finally:
            self._busy = False
            self._consider(loop)


Deliver = Callable[[int, Response], None]
"""Takes the response of a row of a batch, by its position."""


def answer_batch(backend: BatchBackend, requests: Sequence[Request], deliver: Deliver) -> None:
    """Answer every request once. After an error in a batch its open rows are asked again: in halves when memory ran
    out, else one by one, so that one bad row never takes its neighbours with it."""
    open_rows = dict(enumerate(requests))
    started = time.monotonic()
    try:
        for position, response in backend.generate_batch(requests):
            if open_rows.pop(position, None) is not None:
                deliver(position, replace(response, latency=response.latency or time.monotonic() - started))
        error: Exception | SystemExit = RuntimeError("the backend gave no answer for this row")
    except (Exception, SystemExit) as caught:  # a model may fail in any way; the row records how
        error = caught
    if not open_rows:
        return
    positions = sorted(open_rows)
    if len(requests) == 1:
        kind: ErrorKind = "out_of_memory" if _out_of_memory(error) else "internal"
        deliver(positions[0], Response.failed(kind, f"{type(error).__name__}: {error}"))
        return
    step = max(1, len(requests) // 2) if _out_of_memory(error) else 1
    for start in range(0, len(positions), step):
        part = positions[start : start + step]
        answer_batch(backend, [requests[p] for p in part], _at(part, deliver))


def _at(positions: Sequence[int], deliver: Deliver) -> Deliver:
    """Deliver the rows of a smaller batch under their positions in the whole."""
    return lambda row, response: deliver(positions[row], response)


def _out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()


def _length(request: Request) -> int:
    return sum(len(part.raw) for message in request.messages for part in message.content.parts)


def _resolve(future: asyncio.Future[Response], response: Response) -> None:
    if not future.done():
        future.set_result(response)
