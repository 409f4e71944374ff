"""How many calls a role may have in flight: fewer while the server refuses some."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import deque

NO_LIMIT = 1 << 30
MAX_PAUSE = 120.0
"""Seconds; a server that asks for more is asked again after this time."""
SMALLEST_ROUND = 16
"""Replies by which the share of refusals is judged; where more calls may be in flight,
as many as these."""
BURST_SECONDS = 0.5
"""Refusals that come so close to each other are one signal: they were sent before the
first one was known."""


class Limiter:
    """Limits the calls in flight: halves after refusals, climbs back by one a round. It
    starts at the full limit and halves when most of a round of replies are refusals.
    Fewer refusals are chance, or a server that is just full: the refused calls wait,
    and the others go on.

    Places go to those that wait longest. ``acquire`` is no ``async with`` on purpose:
    it returns at once, without a task switch, while there is room.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.allowed = float(limit)
        self.in_flight = 0
        self._answered = self._refused = 0
        self._resume_at = 0.0
        self._lowered_at = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.stopped = asyncio.Event()

    def stop(self) -> None:
        """From now on no call pauses: places go to calls that are given up."""
        self.stopped.set()

    async def acquire(self) -> None:
        if self._waiting or self.in_flight >= self.allowed:
            await self._turn()
        else:
            self.in_flight += 1
        if self._resume_at:
            await self._pause()

    def release(self) -> None:
        self.in_flight -= 1
        self._wake()

    def succeeded(self) -> None:
        """An answer came: the limit climbs by one for each full round of them."""
        if self._refused:
            self._answered += 1
            if self._answered + self._refused >= self._round:
                self._answered = self._refused = 0
        if self.allowed < self.limit:
            self.allowed = min(float(self.limit), self.allowed + 1 / self.allowed)
            self._wake()

    def refused(self, retry_after: float | None) -> float:
        """Note a refusal for the rate; returns the seconds until the call may go again.

        Where most of a round is refused, every call waits as long as the server asked,
        and fewer go on.
        """
        wait = min(MAX_PAUSE, retry_after if retry_after is not None else 1.0)
        self._refused += 1
        if 2 * self._refused <= self._round:
            return wait
        now = asyncio.get_running_loop().time()
        self._answered = self._refused = 0
        self._resume_at = max(self._resume_at, now + wait)
        if now - self._lowered_at > BURST_SECONDS:
            self._lowered_at = now
            self.allowed = max(1.0, self.allowed / 2)
        return wait

    @property
    def _round(self) -> float:
        return max(SMALLEST_ROUND, self.allowed)

    async def _turn(self) -> None:
        """Wait for the place that ``_wake`` reserves: a later call cannot take it."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()
            raise

    async def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while (
                not self.stopped.is_set()
                and (pause := self._resume_at - loop.time()) > 0
            ):
                # The jitter spreads those who waited, so that they do not all come back
                # in the same instant.
                await wait(
                    pause + random.random() * min(1.0, pause), unless=self.stopped
                )
        except asyncio.CancelledError:
            self.release()
            raise
        self._resume_at = 0.0

    def _wake(self) -> None:
        while self._waiting and self.in_flight < self.allowed:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self.in_flight += 1
                waiter.set_result(None)


async def wait(seconds: float, *, unless: asyncio.Event) -> None:
    """Wait for so long, or until an event comes."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await unless.wait()
