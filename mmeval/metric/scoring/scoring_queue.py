"""A queue of trials that wait to be scored.

The trials are sent to processes in messages. Tasks with metrics that use models have a
separate queue, for the single process that loads each model once. While this process is
busy, its trials wait as lines of JSON. Other tasks and calls to models do not wait for
these trials.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.metric.scoring.worker import QueuedTrial, ScoredRows

IDLE_SECONDS = 0.5
"""The number of seconds that a trial waits for other trials before it is sent."""
FIRST_MESSAGE, LARGEST_MESSAGE = 16, 512
LARGEST_MESSAGE_BYTES = 2**20
MESSAGE_SECONDS = 0.2
"""The number of seconds in which a process should score the trials of one message. A
message contains many trials for a fast metric and few for a slow metric, so that every
process has work."""
LEAST_FOR_MODELS = 8
"""The minimum number of trials in a message for metrics with models."""
MOST_WAITING_BYTES = 64 * 2**20
"""The maximum total size of waiting lines in bytes. ``add`` waits if it is exceeded."""


class ScoringQueue:
    """Collects trials by task and sends them to ``score`` in messages.

    At most ``messages`` messages are in flight at once.

    ``deliver(position, rows)`` and ``fail(error)`` are called in the event loop's
    thread.
    """

    def __init__(
        self,
        plans: Sequence[ScoringPlan],
        score: Callable[[Sequence[QueuedTrial]], Awaitable[ScoredRows]],
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
        self._all_bytes = 0
        self._due: dict[int, None] = {}
        """The positions of tasks with a message that is due, in sending order."""
        self.unfinished = 0
        """The number of trials that were added and have no row yet."""
        self._draining = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken = asyncio.Event()

    async def add(self, position: int, line: bytes) -> None:
        """Queues a trial. Waits only if too much is queued."""
        while self._all_bytes > MOST_WAITING_BYTES:
            self._taken.clear()
            await self._taken.wait()
        if self._all_bytes > LARGEST_MESSAGE_BYTES:
            # Otherwise a model that answers without waiting would block all messages.
            await asyncio.sleep(0)
        self._waiting.setdefault(position, []).append(line)
        self._bytes[position] += len(line)
        self._all_bytes += len(line)
        self.unfinished += 1
        self._consider(position)
        self._send_due()

    async def drain(self) -> None:
        """Waits until all queued trials are scored and delivered, or have failed."""
        self._draining = True
        self._time_is_up()
        while self._tasks:
            await asyncio.gather(*self._tasks)
            # Since Python 3.12, a gather of finished tasks does not run their
            # callbacks.
            await asyncio.sleep(0)
        self._draining = False

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _consider(self, position: int) -> None:
        """Marks a task's message as due if it is full, else starts the timer."""
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
            size = sum(map(len, lines))
            self._bytes[position] -= size
            self._all_bytes -= size
            self._taken.set()
            if rest:
                self._waiting[position] = rest
                self._consider(position)  # Moves the task to the end of the queue.
            task = asyncio.get_running_loop().create_task(self._scored(position, lines))
            self._tasks.add(task)
            task.add_done_callback(self._is_done)

    def _is_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._send_due()

    async def _scored(self, position: int, lines: Sequence[bytes]) -> None:
        try:
            rows = await self._score([(position, line) for line in lines])
            self._deliver(position, b"".join(rows.rows))
            if not self._plans[position].batch:
                fitting = int(MESSAGE_SECONDS * len(lines) / max(rows.seconds, 1e-6))
                self._sizes[position] = max(1, min(LARGEST_MESSAGE, fitting))
        # Scoring runs plugins, which may raise anything. The run ends with the error.
        except (Exception, SystemExit) as error:
            self._fail(error)
            # Rows that cannot be stored need not be computed.
            self.unfinished -= sum(map(len, self._waiting.values()))
            self._waiting.clear()
            self._bytes.clear()
            self._all_bytes = 0
            self._due.clear()
            self._taken.set()
        self.unfinished -= len(lines)
