"""Batches of a server: calls wait until no more come, and are asked together."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmeval.backend.contract import ServerBatches
from mmeval.errors import Caught, MmevalError, StoppedError
from mmeval.records.request import Request
from mmeval.records.response import RETRYABLE, Response
from mmeval.store.ticket import Ticket
from mmeval.wording import counted

log = logging.getLogger(__name__)

QUIET = 1.0
"""Seconds without another call after which a batch goes where every live trial waits."""
LONG_QUIET = 10.0
"""The same where some trials are busy elsewhere: their calls would wait for hours, or pay for a batch of their own."""


@dataclass(slots=True, eq=False)
class _Row:
    request: Request
    trial: str
    future: asyncio.Future[Response]


class ServerBatcher:
    """Collects the calls of a server's batches; what a batch does not answer is asked alone.

    ``alone`` asks for one answer, ``limit`` times at once. ``live`` counts trials; see :class:`ServerBatches` for
    ``notes`` and ``told``. A stop leaves a batch under way at the server, where the next run finds it.
    """

    def __init__(
        self,
        batches: ServerBatches,
        alone: Callable[[Request], Awaitable[Response]],
        notes: Path,
        live: Callable[[], int],
        *,
        limit: int,
        told: Callable[[str], None],
    ) -> None:
        self._batches, self._alone, self._notes, self._live, self._told = batches, alone, notes, live, told
        self._connections = asyncio.Semaphore(limit)
        self._waiting: list[_Row] = []
        self._newest = 0.0
        self._trials: Counter[str] = Counter()
        """How many calls each trial has in batches, waiting or sent."""
        self._collecting: asyncio.Task[None] | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._asked_alone = 0
        self._stopped: MmevalError | None = None

    @property
    def in_flight(self) -> int:
        """Calls whose answers are worth waiting for when the run is stopped: not those in a batch."""
        return self._asked_alone

    @property
    def width(self) -> int:
        return self._batches.max_rows

    async def ask(self, request: Request, ticket: Ticket) -> Response:
        """The answer by a batch, else alone. Raises what concerns every call of the backend."""
        if not ticket.attempt and self._batches.takes(request):
            response = await self._by_batch(request, ticket.trial)
            if response.error is None or response.error.kind not in RETRYABLE:
                return response
        async with self._connections:
            if self._stopped is not None:
                raise self._stopped
            self._asked_alone += 1
            try:
                return await self._alone(request)
            finally:
                self._asked_alone -= 1

    def stop(self, error: MmevalError) -> None:
        """Ask nothing more: the calls that are in a batch or wait for one get ``error``."""
        self._stopped = error
        if self._under_way:
            log.warning("a batch is under way at the server: the same command fetches its answers later")
        self._fail(self._waiting, error)
        self._cancel()

    async def close(self) -> None:
        self._cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _cancel(self) -> None:
        for task in (*self._under_way, *([self._collecting] if self._collecting else ())):
            task.cancel()

    async def _by_batch(self, request: Request, trial: str) -> Response:
        loop = asyncio.get_running_loop()
        row = _Row(request, trial, loop.create_future())
        self._waiting.append(row)
        self._newest = loop.time()
        self._trials[trial] += 1
        if self._collecting is None:
            self._collecting = loop.create_task(self._collect())
        try:
            return await row.future
        finally:
            self._trials[trial] -= 1
            if not self._trials[trial]:
                del self._trials[trial]

    async def _collect(self) -> None:
        """Send what waits as soon as no more is expected, or a batch is full."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            enough = QUIET if len(self._trials) >= self._live() else LONG_QUIET
            left = self._newest + enough - loop.time()
            if left > 0 and len(self._waiting) < self.width:
                await asyncio.sleep(min(left, QUIET))
                continue
            rows = [row for row in self._waiting[: self.width] if not row.future.done()]
            del self._waiting[: self.width]
            if not rows:
                continue
            task = loop.create_task(self._answer(rows))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        self._collecting = None

    async def _answer(self, rows: Sequence[_Row]) -> None:
        refused: Counter[str] = Counter()

        def deliver(position: int, response: Response) -> None:
            if response.error is not None and response.error.kind in RETRYABLE:
                refused[response.error.message] += 1
            if not rows[position].future.done():
                rows[position].future.set_result(response)

        try:
            with Caught(MmevalError) as failure:
                await self._batches.answer([row.request for row in rows], self._notes, deliver, self._told)
            reason = failure.reason if failure else "the backend gave no answer"
            for position in range(len(rows)):
                if not rows[position].future.done():
                    deliver(position, Response.failed("internal", reason))
        except MmevalError as error:
            self._fail(rows, error)
        except asyncio.CancelledError:
            self._fail(rows, self._stopped or StoppedError("the batch was given up"))
            raise
        finally:
            self._told("")
        for why, count in refused.most_common(3):
            log.info("a batch left out %s, asked alone now: %s", counted(count, "request"), why)

    def _fail(self, rows: Sequence[_Row], error: MmevalError) -> None:
        for row in rows:
            if not row.future.done():
                row.future.set_exception(error)
