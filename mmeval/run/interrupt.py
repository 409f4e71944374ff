"""Ctrl-C and SIGTERM: the first stops new work, the second leaves at once.
After the first, calls in flight may still arrive."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from mmeval.errors import Interrupted
from mmeval.run.progress import Progress

GRACE_SECONDS = 10.0
"""How long answers in flight are waited for after the first signal."""


class Stoppable(Protocol):
    """Work that can be stopped; ``in_flight`` counts calls sent and not yet answered."""

    def stop(self) -> None: ...

    @property
    def in_flight(self) -> int: ...


_stops: dict[int, Callable[[], None]] = {}
"""How the work of a thread that gets no signals is stopped, by the thread's identity."""


def interrupt_thread(identity: int) -> None:
    """Stop another thread's work as Ctrl-C stops the main thread's; nothing if idle."""
    stop = _stops.get(identity)
    if stop is not None:
        stop()


async def interruptible(work: Stoppable, coroutine: Coroutine[Any, Any, None], progress: Progress) -> None:
    """Run a coroutine to its end or the user's stop. Raises Interrupted or its error.
    Signals come to the main thread alone; elsewhere :func:`interrupt_thread` stops it."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    signals: list[int] = []

    def stop(number: int) -> None:
        signals.append(number)
        work.stop()
        stopped.set()

    with _told(loop, stop):
        task = asyncio.ensure_future(coroutine)
        waiter = asyncio.create_task(stopped.wait())
        try:
            await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await _wind_down(work, task, signals, progress)
        finally:
            waiter.cancel()
    if not task.cancelled():
        task.result()
    if signals:
        raise Interrupted("stopped; everything that was answered is saved. The same command continues")


@contextmanager
def _told(loop: asyncio.AbstractEventLoop, stop: Callable[[int], None]) -> Iterator[None]:
    """Call ``stop`` with the number of each ending signal while the block lasts."""
    if threading.current_thread() is not threading.main_thread():
        identity = threading.get_ident()

        def stop_from_elsewhere() -> None:
            loop.call_soon_threadsafe(stop, signal.SIGINT)

        _stops[identity] = stop_from_elsewhere
        try:
            yield
        finally:
            del _stops[identity]
        return
    handled = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in handled}
    for number in handled:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])  # the loop would leave the default, which is a silent death


async def _wind_down(work: Stoppable, task: asyncio.Future[None], signals: list[int], progress: Progress) -> None:
    if count := work.in_flight:
        answers = "1 answer" if count == 1 else f"{count:,} answers"
        progress.note(f"stopping: waiting for {answers} in flight (Ctrl-C again leaves them)")
    loop = asyncio.get_running_loop()
    until = loop.time() + GRACE_SECONDS
    while not task.done() and len(signals) < 2 and loop.time() < until:
        await asyncio.wait({task}, timeout=0.1)
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
