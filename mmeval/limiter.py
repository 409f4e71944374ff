"""How many calls a role may have in flight: all of them at once, fewer after the server says that it is too many."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque

MAX_PAUSE = 120.0
"""Seconds; a server that asks for more is asked again after this time."""


class Limiter:
    """Starts at the full limit, halves when told to slow down, and climbs back by one for each round of answers.

    Places go to those who wait longest. ``async with``-free on purpose: ``acquire`` returns at once, without a task
    switch, while there is room.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.allowed = float(limit)
        self.in_flight = 0
        self._resume_at = 0.0
        self._lowered_at = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

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
        if self.allowed < self.limit:
            self.allowed = min(float(self.limit), self.allowed + 1 / self.allowed)
            self._wake()

    def slow_down(self, retry_after: float | None) -> None:
        """The server refused a call for its rate: everybody waits as long as it asked, and fewer go on."""
        now = time.monotonic()
        self._resume_at = max(self._resume_at, now + min(MAX_PAUSE, retry_after if retry_after is not None else 1.0))
        if now - self._lowered_at > 0.5:  # refusals of one burst are one signal, not sixty-four
            self._lowered_at = now
            self.allowed = max(1.0, self.allowed / 2)

    async def _turn(self) -> None:
        """Wait for a place, which ``_wake`` has taken for whoever it wakes: a newcomer cannot snatch it away."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()
            raise

    async def _pause(self) -> None:
        try:
            while (pause := self._resume_at - time.monotonic()) > 0:
                # The jitter spreads those who waited, so that they do not all come back in the same instant.
                await asyncio.sleep(pause + random.random() * min(1.0, pause))
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
