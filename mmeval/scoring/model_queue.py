"""The queue of trials for metrics with models: one process takes many at once.

It loads each model once. While it is behind, trials wait here as lines, so that other tasks go on in the ordinary
processes, and no call to a model waits for a score.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from mmeval.errors import Caught
from mmeval.scoring.trial_rows import ScoringPlan
from mmeval.scoring.worker import Item, Rows

IDLE_SECONDS = 0.5
"""How long a trial waits for others to be scored with."""
LEAST_MESSAGE = 8
"""Trials that travel together though their metrics want fewer at once."""
MOST_WAITING_BYTES = 64 * 2**20
"""Of lines that wait. Beyond that ``add`` waits too."""
MESSAGES_IN_FLIGHT = 2
"""One that is scored, and one that follows."""


class Scoring(Protocol):
    """What makes the rows."""

    async def rows(self, items: Sequence[Item]) -> Rows: ...


class ModelLane:
    """Holds trials back until a task's metrics have their batch, or no more come.

    ``deliver(position, rows)`` is called in the event loop's thread, as is ``fail`` with what goes wrong there.
    """

    def __init__(
        self,
        plans: Sequence[ScoringPlan],
        scoring: Scoring,
        deliver: Callable[[int, bytes], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._plans, self._scoring, self._deliver, self._fail = plans, scoring, deliver, fail
        self._waiting: dict[int, deque[bytes]] = {}
        self._bytes = 0
        self.left = 0
        """Trials that were added and have no row yet."""
        self._draining = False
        self._feeder: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(MESSAGES_IN_FLIGHT)
        self._more, self._taken = asyncio.Event(), asyncio.Event()

    async def add(self, position: int, line: bytes) -> None:
        """Queue a trial; waits only when too much is queued."""
        while self._bytes > MOST_WAITING_BYTES:
            self._taken.clear()
            await self._taken.wait()
        self._waiting.setdefault(position, deque()).append(line)
        self._bytes += len(line)
        self.left += 1
        self._more.set()
        if self._feeder is None:
            self._feeder = asyncio.get_running_loop().create_task(self._feed())

    async def drain(self) -> None:
        """Wait until everything that was queued is scored and delivered, or has failed."""
        self._draining = True
        self._more.set()
        while under_way := [*self._tasks, *([self._feeder] if self._feeder else [])]:
            await asyncio.gather(*under_way)
        self._draining = False

    async def _feed(self) -> None:
        """Until nothing waits."""
        while self._waiting:
            await self._gathered()
            await self._room.acquire()
            if not self._waiting:  # it was given up meanwhile
                break
            task = asyncio.get_running_loop().create_task(self._score(*self._next()))
            self._tasks.add(task)
            task.add_done_callback(self._is_done)
        self._feeder = None

    def _is_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()

    async def _gathered(self) -> None:
        """Wait a moment for a message to become full, unless no more will come."""
        loop = asyncio.get_running_loop()
        until = loop.time() + IDLE_SECONDS
        while not self._draining and not self._is_full() and (rest := until - loop.time()) > 0:
            self._more.clear()
            try:
                async with asyncio.timeout(rest):
                    await self._more.wait()
            except TimeoutError:
                return

    def _is_full(self) -> bool:
        return any(len(lines) >= self._size(position) for position, lines in self._waiting.items())

    def _size(self, position: int) -> int:
        return max(LEAST_MESSAGE, self._plans[position].batch)

    def _next(self) -> tuple[int, list[bytes]]:
        """Trials of one task: one with a full message, else the one that waits longest."""
        full = (position for position, lines in self._waiting.items() if len(lines) >= self._size(position))
        position = next(full, next(iter(self._waiting)))
        queue = self._waiting.pop(position)
        lines = [queue.popleft() for _ in range(min(len(queue), self._size(position)))]
        if queue:
            self._waiting[position] = queue  # at the end: the others are next
        self._bytes -= sum(map(len, lines))
        self._taken.set()
        return position, lines

    async def _score(self, position: int, lines: Sequence[bytes]) -> None:
        with Caught() as failure:
            made = await self._scoring.rows([(position, line) for line in lines])
            self._deliver(position, b"".join(made.rows))
        if failure:
            self._fail(failure.error)
            self._give_up()
        self.left -= len(lines)

    def _give_up(self) -> None:
        """Rows that cannot be kept need not be made."""
        self.left -= sum(map(len, self._waiting.values()))
        self._waiting.clear()
        self._bytes = 0
        self._taken.set()
