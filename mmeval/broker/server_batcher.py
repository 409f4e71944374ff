"""Batches of a server: calls wait until no more come, and are asked together."""

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
"""Seconds without another call after which a batch goes: where every live trial waits,
and where some are busy elsewhere, whose calls would wait for hours or pay for a batch
of their own."""


@dataclass(slots=True, eq=False)
class _Row:
    request: Request
    trial: str
    future: asyncio.Future[Response]


class ServerBatcher:
    """Collects the calls of a server's batches; what a batch does not answer is asked
    alone.

    ``alone`` asks for one answer, ``limit`` times at once. ``live`` counts trials; see
    :class:`ServerBatches` for ``notes`` and ``report``. A stop leaves a batch under way
    at the server, where the next run finds it.
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
        """Calls that were sent alone: those of a batch are not waited for when the run
        is stopped."""
        self._connections = asyncio.Semaphore(limit)
        self._waiting: list[_Row] = []
        self._open: set[_Row] = set()
        self._newest = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._collecting = False
        self._stopped: MmevalError | None = None

    async def ask(self, request: Request, context: CallContext) -> Response:
        """The answer by a batch, else alone. Raises what concerns every call of the
        backend."""
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
        """Ask nothing more: the calls that are in a batch or wait for one get
        ``error``."""
        if len(self._open) > len(self._waiting):
            log.warning(
                "a batch is under way at the server: the same command fetches its "
                "answers later"
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
        """Send what waits as soon as no more is expected, or a batch is full."""
        while self._waiting:
            trials = {row.trial for row in self._open}
            enough = QUIET if len(trials) >= self._live() else LONG_QUIET
            left = self._newest + enough - asyncio.get_running_loop().time()
            if left > 0 and len(self._waiting) < self.width:
                await asyncio.sleep(min(left, QUIET))
                continue
            rows = self._waiting[: self.width]
            self._waiting = self._waiting[self.width :]
            if rows := [row for row in rows if not row.future.done()]:
                self._begin(self._answer(rows))
        self._collecting = False

    async def _answer(self, rows: Sequence[_Row]) -> None:
        left_out: list[str] = []

        def deliver(position: int, response: Response) -> None:
            if response.error is not None and response.error.kind in RETRYABLE:
                left_out.append(response.error.message)
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
        if left_out:
            log.info(
                "requests that a batch left out, sent alone now: %d; the first: %s",
                len(left_out),
                left_out[0],
            )

    def _lose(self, rows: Iterable[_Row], why: str) -> None:
        for row in rows:
            if not row.future.done():
                row.future.set_result(Response.failed("internal", why))

    def _fail(self, rows: Iterable[_Row], error: MmevalError) -> None:
        for row in rows:
            if not row.future.done():
                row.future.set_exception(error)
