"""Collects calls for the batch API of a server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmeval.backend.contract import ServerBatches
from mmeval.errors import MmevalError, StoppedError
from mmeval.records.request import Request
from mmeval.records.response import RETRYABLE, Response
from mmeval.store.call_context import CallContext

log = logging.getLogger(__name__)

QUIET, LONG_QUIET = 1.0, 60.0
"""Seconds without a further call after which a batch is sent.

The first value applies if every live trial is waiting for this server. The second
applies if some trials are not: their later calls would have to wait for the next batch,
which may take hours.
"""


@dataclass(slots=True, eq=False)
class _Row:
    request: Request
    trial: str
    future: asyncio.Future[Response]


class ServerBatcher:
    """Collects calls into batches of a server, and sends the rest one by one.

    ``alone`` sends a single request. At most ``limit`` single requests are in flight.
    ``live`` returns the number of trials in progress. See :class:`ServerBatches` for
    ``notes`` and ``report``. If the run stops, the server continues a running batch,
    and the next session gets its answers.
    """

    def __init__(
        self,
        batches: ServerBatches,
        alone: Callable[[Request], Awaitable[Response]],
        notes: Path,
        live: Callable[[], int],
        *,
        limit: int,
        report: Callable[[str], None],
    ) -> None:
        self._batches = batches
        self._alone = alone
        self._notes = notes
        self._live = live
        self._report = report
        self.width = batches.max_rows
        self.in_flight = 0
        """Number of calls in flight that were sent alone.

        A run that stops does not wait for the calls of a batch.
        """
        self._connections = asyncio.Semaphore(limit)
        self._waiting: list[_Row] = []
        self._open: set[_Row] = set()
        self._newest = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._collecting = False
        self._stopped: MmevalError | None = None

    async def ask(self, request: Request, context: CallContext) -> Response:
        """Returns the answer from a batch, else from a single request.

        Raises errors that affect every call.
        """
        if not context.attempt and self._batches.takes(request):
            if self._stopped is not None:
                raise self._stopped
            loop = asyncio.get_running_loop()
            row = _Row(request, context.trial, loop.create_future())
            self._waiting.append(row)
            self._open.add(row)
            self._newest = loop.time()
            if not self._collecting:
                self._collecting = True
                self._begin(self._collect())
            try:
                response = await row.future
            finally:
                self._open.discard(row)
            if response.error is None or response.error.kind not in RETRYABLE:
                return response
        async with self._connections:
            if self._stopped is not None:
                raise self._stopped
            self.in_flight += 1
            try:
                return await self._alone(request)
            finally:
                self.in_flight -= 1

    def stop(self, error: MmevalError) -> None:
        """Sends no more calls.

        Calls that are in a batch, or that wait for one, raise ``error``.
        """
        if len(self._open) > len(self._waiting):
            log.warning(
                "a batch is running at the server; run the same command later to get "
                "its answers"
            )
        self._stopped = error
        for task in self._tasks:
            task.cancel()
        self._fail(self._open, error)

    async def close(self) -> None:
        self.stop(StoppedError("closed before the call was made"))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _collect(self) -> None:
        """Sends waiting calls once no further call is expected or a batch is full."""
        while self._waiting:
            trials = {row.trial for row in self._open}
            enough = QUIET if len(trials) >= self._live() else LONG_QUIET
            remaining = self._newest + enough - asyncio.get_running_loop().time()
            if remaining > 0 and len(self._waiting) < self.width:
                await asyncio.sleep(min(remaining, QUIET))
                continue
            rows = self._waiting[: self.width]
            self._waiting = self._waiting[self.width :]
            if rows := [row for row in rows if not row.future.done()]:
                self._begin(self._answer(rows))
        self._collecting = False

    async def _answer(self, rows: Sequence[_Row]) -> None:
        causes: list[str] = []

        def deliver(position: int, response: Response) -> None:
            if response.error is not None and response.error.kind in RETRYABLE:
                causes.append(response.error.message)
            if not rows[position].future.done():
                rows[position].future.set_result(response)

        try:
            await self._batches.answer(
                [row.request for row in rows], self._notes, deliver, self._report
            )
            self._lose(rows, "the backend gave no answer")
        except MmevalError as error:
            self._fail(rows, error)
        # a plugin's backend may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            self._lose(rows, f"{type(error).__name__}: {error}")
        finally:
            self._report("")
        if causes:
            log.info(
                "requests without an answer from the batch: %d (first cause: %s). They "
                "are sent one by one",
                len(causes),
                causes[0],
            )

    def _lose(self, rows: Iterable[_Row], why: str) -> None:
        for row in rows:
            if not row.future.done():
                row.future.set_result(Response.failed("internal", why))

    def _fail(self, rows: Iterable[_Row], error: MmevalError) -> None:
        for row in rows:
            if not row.future.done():
                row.future.set_exception(error)
