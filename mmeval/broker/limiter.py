"""Limits a role's calls in flight. Rate limit errors lower the limit."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import deque

NO_LIMIT = 1 << 30
MAX_PAUSE = 120.0
"""Maximum pause in seconds, even if the server asks for more."""
SMALLEST_ROUND = 16
"""Minimum number of replies in a round.

The share of refusals is computed for each round. A round normally has one reply for
each call that may be in flight.
"""
BURST_SECONDS = 0.5
"""Seconds within which several refusals lower the limit only once.

The later refusals are of calls that were sent before the first refusal arrived.
"""


class Limiter:
    """Limits the calls in flight.

    The limit starts at its maximum. It is halved when more than half of the replies in
    a round are rate limit errors, and rises by one for each round of answers. If half
    or fewer of the replies are rate limit errors, the limit is not lowered, and only
    the calls that got these errors wait.

    Waiting calls proceed in the order of their arrival.
    """

    # ``acquire`` is not an ``async with``, since it must return without a task switch
    # while there is room.

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
        """Ends all pauses. Calls that are admitted after this must not be sent."""
        self.stopped.set()

    async def acquire(self) -> None:
        if self._waiting or self.in_flight >= self.allowed:
            await self._wait_for_place()
        else:
            self.in_flight += 1
        if self._resume_at:
            await self._pause()

    def release(self) -> None:
        self.in_flight -= 1
        self._wake()

    def succeeded(self) -> None:
        """Counts an answer. The limit rises by one for each round of answers."""
        if self._refused:
            self._answered += 1
            if self._answered + self._refused >= self._round:
                self._answered = self._refused = 0
        if self.allowed < self.limit:
            self.allowed = min(float(self.limit), self.allowed + 1 / self.allowed)
            self._wake()

    def refused(self, retry_after: float | None) -> float:
        """Counts a rate limit error.

        Returns the seconds until the call may be retried. If most of a round is
        refused, all calls pause for the time that the server requests, and the limit is
        halved.
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

    async def _wait_for_place(self) -> None:
        """Waits until fewer calls are in flight than the limit allows.

        ``_wake`` already counts the call as in flight, so that no later call overtakes
        it.
        """
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
                # without jitter, all waiting calls would retry at the same time
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
    """Waits for a number of seconds, or until an event is set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await unless.wait()
