"""Threads of our own: blocking work beside an event loop that does not keep the process from ending.

The threads of ``concurrent.futures`` are waited for when Python ends, however long a model takes. Nobody waits for
these: what they are at is lost with the process, and whoever starts them may only give them what may be lost.
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
    """Whether some thread has work that is not done: Python then had better not take itself apart around it."""
    return bool(_at_work)


class OwnThread:
    """One thread, which does one piece of work after the other. Started with the first."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._works: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def do(self, work: Callable[[], T]) -> T:
        """What the work returns. Raises what it raises; what is no ``Exception`` comes as a RuntimeError, because it
        would end the loop of whoever waits."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._works.put(lambda: _do(work, loop, done))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        return await done

    def end(self) -> None:
        """Nothing more will come. What is under way goes on, and nobody waits for it."""
        self._works.put(None)

    def _run(self) -> None:
        while (work := self._works.get()) is not None:
            _at_work.add(self)
            try:
                work()
            finally:
                _at_work.discard(self)


def _do(work: Callable[[], T], loop: asyncio.AbstractEventLoop, done: asyncio.Future[T]) -> None:
    try:
        found = work()
    except BaseException as error:  # a library may leave the process in any way; it must not take the loop with it
        _tell(loop, done, done.set_exception, _bearable(error))
    else:
        _tell(loop, done, done.set_result, found)


def _bearable(error: BaseException) -> Exception:
    """The error as a future can hold it, and a loop survives it."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def _tell(loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any], how: Callable[[Any], None], what: object) -> None:
    def tell() -> None:
        if not done.done():
            how(what)

    with contextlib.suppress(RuntimeError):  # the loop has gone, and whoever waited with it
        loop.call_soon_threadsafe(tell)
