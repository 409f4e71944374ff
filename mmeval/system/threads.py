"""Threads for blocking work, for which the end of the process does not wait.

When Python ends, it waits for the threads of ``concurrent.futures``, however long a
model takes. It does not wait for these: their work is lost with the process, so it has
to be work that may be lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_at_work: set[OwnThread] = set()


def any_at_work() -> bool:
    """Whether some thread is still working, so that Python should not end yet."""
    return bool(_at_work)


class OwnThread:
    """One thread, which starts with its first piece of work and does one at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._works: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def do(self, work: Callable[[], T]) -> T:
        """What the work returns. Raises what it raises. What is no ``Exception`` is
        raised as a RuntimeError, because it would end the event loop."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._works.put(lambda: _do(work, loop, done))
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name=self._name, daemon=True
            )
            self._thread.start()
        return await done

    def end(self) -> None:
        """End the thread after its current work, without waiting for it."""
        self._works.put(None)

    def _run(self) -> None:
        while (work := self._works.get()) is not None:
            _at_work.add(self)
            try:
                work()
            finally:
                _at_work.discard(self)


def _do(
    work: Callable[[], T], loop: asyncio.AbstractEventLoop, done: asyncio.Future[T]
) -> None:
    try:
        found = work()
    # a library may leave the process in any way; it must not take the loop with it
    except BaseException as error:
        # a future cannot hold these
        if not isinstance(error, Exception) or isinstance(error, StopIteration):
            error = RuntimeError(f"{type(error).__name__}: {error}")
        _report(loop, done, done.set_exception, error)
    else:
        _report(loop, done, done.set_result, found)


def _report(
    loop: asyncio.AbstractEventLoop,
    done: asyncio.Future[Any],
    how: Callable[[Any], None],
    what: object,
) -> None:
    def report() -> None:
        if not done.done():
            how(what)

    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(report)
