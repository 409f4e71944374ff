"""Lanes of scoring: trials wait in one until they are worth a message to the processes,
or no more come.

Tasks whose metrics use models have a lane of their own, to the one process that loads
each model once. While a lane is behind, trials wait in it as lines, so that other tasks
go on, and no call to a model waits for a score.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.metric.scoring.worker import Item, Rows

IDLE_SECONDS = 0.5
"""How long a trial waits for others to be scored with."""
FIRST_MESSAGE, LARGEST_MESSAGE = 16, 512
LARGEST_MESSAGE_BYTES = 2**20
MESSAGE_SECONDS = 0.2
"""A message holds as many trials as keep a process busy for about this long: few
handovers where a metric is quick, work for every process where it is slow."""
LEAST_FOR_MODELS = 8
"""Trials that travel together though their metrics with models want fewer at once."""
MOST_WAITING_BYTES = 64 * 2**20
"""Of lines that wait. Beyond that ``add`` waits too."""


class Lane:
    """Holds trials back, by task, and sends them to ``score``, so many ``messages`` at
    a time.

    ``deliver(position, rows)`` is called in the event loop's thread, as is ``fail``
    with what goes wrong there.
    """

    def __init__(
        self,
        plans: Sequence[ScoringPlan],
        score: Callable[[Sequence[Item]], Awaitable[Rows]],
        deliver: Callable[[int, bytes], None],
        fail: Callable[[BaseException], None],
        *,
        messages: int,
    ) -> None:
        self._score = score
        self._deliver = deliver
        self._fail = fail
        self._messages = messages
        self._sizes = [
            max(LEAST_FOR_MODELS, plan.batch) if plan.batch else FIRST_MESSAGE
            for plan in plans
        ]
        self._plans = plans
        self._waiting: dict[int, list[bytes]] = {}
        self._bytes: Counter[int] = Counter()
        self._due: dict[int, None] = {}
        """The tasks of which a message goes as soon as there is room, in this order."""
        self.left = 0
        """Trials that were added and have no row yet."""
        self._draining = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken = asyncio.Event()

    async def add(self, position: int, line: bytes) -> None:
        """Queue a trial; waits only when too much is queued."""
        while self._bytes.total() > MOST_WAITING_BYTES:
            self._taken.clear()
            await self._taken.wait()
        if self._bytes.total() > LARGEST_MESSAGE_BYTES:
            # else a model that answers at once would let no message go, and no row come
            # back
            await asyncio.sleep(0)
        self._waiting.setdefault(position, []).append(line)
        self._bytes[position] += len(line)
        self.left += 1
        self._consider(position)
        self._send_due()

    async def drain(self) -> None:
        """Wait until everything that was queued is scored and delivered, or has
        failed."""
        self._draining = True
        self._time_is_up()
        while self._tasks:
            await asyncio.gather(*self._tasks)
            # from Python 3.12 on, a gather of ended tasks lets none of their callbacks
            # run
            await asyncio.sleep(0)
        self._draining = False

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _consider(self, position: int) -> None:
        """Whether a message of a task goes now, or after a moment if it has not become
        full until then."""
        waiting, size = len(self._waiting[position]), self._bytes[position]
        if (
            self._draining
            or waiting >= self._sizes[position]
            or size >= LARGEST_MESSAGE_BYTES
        ):
            self._due[position] = None
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                IDLE_SECONDS, self._time_is_up
            )

    def _time_is_up(self) -> None:
        self.close()
        self._timer = None
        self._due |= dict.fromkeys(self._waiting)
        self._send_due()

    def _send_due(self) -> None:
        while self._due and len(self._tasks) < self._messages:
            position = next(iter(self._due))
            del self._due[position]
            waiting = self._waiting.pop(position)
            lines = waiting[: self._sizes[position]]
            rest = waiting[self._sizes[position] :]
            self._bytes[position] -= sum(map(len, lines))
            self._taken.set()
            if rest:
                self._waiting[position] = rest
                self._consider(position)  # at the end: the others are next
            task = asyncio.get_running_loop().create_task(self._scored(position, lines))
            self._tasks.add(task)
            task.add_done_callback(self._is_done)

    def _is_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._send_due()

    async def _scored(self, position: int, lines: Sequence[bytes]) -> None:
        try:
            made = await self._score([(position, line) for line in lines])
            self._deliver(position, b"".join(made.rows))
            if not self._plans[position].batch:
                fitting = int(MESSAGE_SECONDS * len(lines) / max(made.seconds, 1e-6))
                self._sizes[position] = max(1, min(LARGEST_MESSAGE, fitting))
        except (Exception, SystemExit) as error:  # whatever it is, the run ends with it
            self._fail(error)
            # rows that cannot be kept need not be made
            self.left -= sum(map(len, self._waiting.values()))
            self._waiting.clear()
            self._bytes.clear()
            self._due.clear()
            self._taken.set()
        self.left -= len(lines)
