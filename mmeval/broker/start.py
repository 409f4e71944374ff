"""The start of a backend: once, before the first call that is really sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from mmeval.errors import StoppedError

OnLoading = Callable[[str, float | None], None]
"""Told the name of a model when it begins to be loaded (None), and when that is over (the seconds that it took)."""


def _ignore(_model: str, _seconds: float | None) -> None:
    """The default of ``told``: does nothing."""


class Start:
    """Loads a model by ``work`` with the first call, and reports it to ``told``."""

    def __init__(self, model: str, work: Callable[[], Awaitable[None]]) -> None:
        self.told: OnLoading = _ignore
        self._model, self._work = model, work
        self._task: asyncio.Task[None] | None = None

    async def done(self, unless: asyncio.Event) -> None:
        """Wait until the model is loaded. Raises, in every waiting call, what prevents it.
        Raises StoppedError where the event comes first: no call waits for a model that is not asked any more."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._load())
            self._task.add_done_callback(_seen)
        stopped = asyncio.ensure_future(unless.wait())
        try:
            await asyncio.wait({self._task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        if not self._task.done():
            raise StoppedError("stopped before the call was made")
        self._task.result()

    async def _load(self) -> None:
        began = time.monotonic()
        self.told(self._model, None)
        name, seconds = "", None
        try:
            await self._work()
            name, seconds = self._model, time.monotonic() - began
        finally:
            self.told(name, seconds)


def _seen(task: asyncio.Task[None]) -> None:
    """What the start has raised is known, even where no call waits for it any more."""
    if not task.cancelled():
        task.exception()
