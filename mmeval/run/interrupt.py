"""Handles Ctrl-C, SIGTERM and SIGHUP.

The first signal stops new work and waits for calls in flight. The second ends the run
at once.
"""

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
"""Seconds to wait for answers in flight after the first signal."""
TURN_SECONDS = 0.1
"""Length of one step of this wait, in seconds.

Steps are counted instead of time, since the machine may be suspended during the wait.
"""
LOOK_SECONDS = 1.0
"""Maximum seconds until a signal is noticed.

A signal may arrive just before the loop waits for its next event.
"""
STUCK_SECONDS = 2.0
"""Seconds after which a loop that has not handled a signal is considered stuck."""


class Stoppable(Protocol):
    """Work that can be stopped.

    ``in_flight`` is the number of sent calls without an answer. ``leave`` does not wait
    for these calls, but keeps answers that have arrived.
    """

    def stop(self) -> None: ...

    async def leave(self) -> None: ...

    @property
    def in_flight(self) -> int: ...


_stops: dict[int, Callable[[], None]] = {}
"""The functions that stop the work of threads, by the identity of the thread.

These threads receive no signals.
"""


def interrupt_thread(identity: int) -> bool:
    """Stops the work of another thread as Ctrl-C would.

    Returns False if the thread is idle.
    """
    stop = _stops.get(identity)
    if stop is None:
        return False
    stop()
    return True


async def interruptible(
    work: Stoppable, coroutine: Coroutine[Any, Any, None], progress: Progress
) -> None:
    """Runs a coroutine until it ends or the user stops it.

    Raises Interrupted, or the error of the coroutine. Only the main thread receives
    signals. :func:`interrupt_thread` stops other threads.
    """
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    signals: list[int] = []
    first_at = 0.0

    def stop() -> None:
        work.stop()
        stopped.set()

    def note(number: int, _frame: FrameType | None = None) -> None:
        # recorded here, since the loop runs no callback after its last step
        nonlocal first_at
        signals.append(number)
        now = time.monotonic()
        if len(signals) == 1:
            first_at = now
        elif not stopped.is_set() and now - first_at > STUCK_SECONDS:
            # the loop is stuck in one step, such as an endless template
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(stop)

    with _handling_signals(note):
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
            "stopped; all answers are saved. Run the same command to continue"
        )


@contextmanager
def _handling_signals(note: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Calls ``note`` for each terminating signal during the block.

    A signal finds a handler at any moment, even while the handlers are exchanged.
    """
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
            f"stopping; waiting for answers in flight: {count:,} (Ctrl-C again to "
            "give them up)"
        )
    for _ in range(round(GRACE_SECONDS / TURN_SECONDS)):
        if task.done() or len(signals) > 1:
            break
        await asyncio.wait({task}, timeout=TURN_SECONDS)
    if not task.done():
        await work.leave()
        task.cancel()
        await asyncio.wait({task})
