"""Ctrl-C, SIGTERM and SIGHUP: the first stops new work, the second leaves at once.
After the first, calls in flight may still arrive."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from mmeval.errors import Interrupted
from mmeval.run.progress import Progress
from mmeval.system.signals import handled_by

GRACE_SECONDS = 10.0
"""How long answers in flight are waited for after the first signal."""
TURN_SECONDS = 0.1
"""The longest turn of the wait. Turns are counted and not the time, because a machine
may stand still for all of it."""
LOOK_SECONDS = 1.0
"""A signal may come right before the loop waits for its next event, and is seen after
this time at the latest."""
STUCK_SECONDS = 2.0
"""A loop that has not seen a signal after this time is busy in one step."""


class Stoppable(Protocol):
    """Work that can be stopped; ``in_flight`` counts calls sent and not yet answered.
    ``leave`` waits for none of them; an answer that has arrived is kept."""

    def stop(self) -> None: ...

    async def leave(self) -> None: ...

    @property
    def in_flight(self) -> int: ...


_stops: dict[int, Callable[[], None]] = {}
"""How the work of a thread that gets no signals is stopped, by the thread's
identity."""


def interrupt_thread(identity: int) -> None:
    """Stop another thread's work as Ctrl-C stops the main thread's; nothing if idle."""
    stop = _stops.get(identity)
    if stop is not None:
        stop()


async def interruptible(
    work: Stoppable, coroutine: Coroutine[Any, Any, None], progress: Progress
) -> None:
    """Run a coroutine to its end or the user's stop. Raises Interrupted or its error.
    Signals come to the main thread alone; elsewhere :func:`interrupt_thread` stops
    it."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    signals: list[int] = []
    first_at = 0.0

    def stop() -> None:
        work.stop()
        stopped.set()

    def note(number: int, _frame: FrameType | None = None) -> None:
        # here, because after its last turn the loop does nothing any more
        nonlocal first_at
        signals.append(number)
        now = time.monotonic()
        if len(signals) == 1:
            first_at = now
        elif not stopped.is_set() and now - first_at > STUCK_SECONDS:
            # the loop does not come to its next turn: a template that never ends, say
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(stop)

    with _noted_by(note):
        task = asyncio.ensure_future(coroutine)
        waiter = asyncio.create_task(stopped.wait())
        try:
            while not (task.done() or stopped.is_set()):
                await asyncio.wait(
                    {task, waiter},
                    timeout=LOOK_SECONDS,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            if not task.done():
                await _wind_down(work, task, signals, progress)
        finally:
            waiter.cancel()
    if not task.cancelled():
        task.result()
    if signals:
        raise Interrupted(
            "stopped; everything that was answered is saved. The same command continues"
        )


@contextmanager
def _noted_by(note: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call ``note`` for each ending signal while the block lasts; none falls between
    two handlers."""
    if threading.current_thread() is threading.main_thread():
        with handled_by(note):
            yield
        return
    identity = threading.get_ident()
    _stops[identity] = lambda: note(signal.SIGINT, None)
    try:
        yield
    finally:
        del _stops[identity]


async def _wind_down(
    work: Stoppable, task: asyncio.Future[None], signals: list[int], progress: Progress
) -> None:
    if count := work.in_flight:
        progress.note(
            f"stopping; answers in flight, waited for: {count:,} (Ctrl-C again "
            "leaves them)"
        )
    for _ in range(round(GRACE_SECONDS / TURN_SECONDS)):
        if task.done() or len(signals) > 1:
            break
        await asyncio.wait({task}, timeout=TURN_SECONDS)
    if not task.done():
        await work.leave()
        task.cancel()
        await asyncio.wait({task})
