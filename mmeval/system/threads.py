"""Runs blocking work in threads that do not delay the end of the process.

When Python ends, it waits for the threads of ``concurrent.futures``, however long a
model takes. Python does not wait for the threads of this module. Their work is lost
with the process, so use them only for work that may be lost.
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
    """Returns True if a thread is still working, so that Python should not end yet."""
    return bool(_at_work)


class OwnThread:
    """A thread that starts with its first job and runs one job at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def do(self, work: Callable[[], T]) -> T:
        """Run ``work`` in the thread and return its result.

        Raises the exceptions of ``work``. An exception that is not an ``Exception`` is
        raised as a RuntimeError, because it would end the event loop.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._jobs.put(lambda: _do(work, loop, done))
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name=self._name, daemon=True
            )
            self._thread.start()
        return await done

    def end(self) -> None:
        """End the thread after its current job, without waiting for it."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (work := self._jobs.get()) is not None:
            _at_work.add(self)
            try:
                work()
            finally:
                _at_work.discard(self)


def _do(
    work: Callable[[], T], loop: asyncio.AbstractEventLoop, done: asyncio.Future[T]
) -> None:
    try:
        result = work()
    # a library may raise anything, such as SystemExit; the event loop must keep running
    except BaseException as error:
        # a future accepts only subclasses of Exception, and not StopIteration
        if not isinstance(error, Exception) or isinstance(error, StopIteration):
            error = RuntimeError(f"{type(error).__name__}: {error}")
        _report(loop, done, done.set_exception, error)
    else:
        _report(loop, done, done.set_result, result)


def _report(
    loop: asyncio.AbstractEventLoop,
    done: asyncio.Future[Any],
    set_outcome: Callable[[Any], None],
    outcome: object,
) -> None:
    def report() -> None:
        if not done.done():
            set_outcome(outcome)

    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(report)
