"""Starts a backend once, when it is first needed. Starting it may load its weights."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from mmeval.broker.observer import RoleObserver
from mmeval.errors import StoppedError
from mmeval.system.threads import OwnThread


class Loading:
    """Starts a backend before the first call that is sent.

    ``first`` runs in a thread before ``start``. Both may raise any exception.
    """

    is_done: bool
    _model: str
    """The name of the model, which the observer receives."""
    _observer: RoleObserver
    _first: Callable[[], object] | None
    _start: Callable[[], Awaitable[None]]
    _task: asyncio.Task[None] | None

    def __init__(
        self,
        model: str,
        observer: RoleObserver,
        *,
        first: Callable[[], object] | None,
        start: Callable[[], Awaitable[None]],
        is_needed: bool,
    ) -> None:
        self.is_done = not is_needed
        self._model = model
        self._observer = observer
        self._first = first
        self._start = start
        self._task = None

    async def wait(self, *, unless: asyncio.Event) -> None:
        """Waits until the backend is loaded.

        Raises the error of loading, and StoppedError if the event ``unless`` is set
        first.
        """
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._load())
            self._task.add_done_callback(_retrieve)
        stopped = asyncio.ensure_future(unless.wait())
        try:
            await asyncio.wait(
                {self._task, stopped}, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            stopped.cancel()
        if not self._task.done():
            raise StoppedError("stopped before the call was made")
        self._task.result()
        self.is_done = True

    async def _load(self) -> None:
        began = time.monotonic()
        self._observer.loading(self._model, None)
        name, seconds = "", None
        try:
            if self._first is not None:
                await OwnThread("mmeval-first").do(self._first)
            await self._start()
            name, seconds = self._model, time.monotonic() - began
        finally:
            self._observer.loading(name, seconds)


def _retrieve(task: asyncio.Task[None]) -> None:
    """Marks the error as retrieved, since possibly no call waits for it any more."""
    if not task.cancelled():
        task.exception()
