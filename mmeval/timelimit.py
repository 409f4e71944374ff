"""A time limit for metrics: Python code that is at one answer for too long is interrupted.

One alarm serves a whole batch of answers, because to set one for each would cost more than a quick metric does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType


class TimeLimit:
    """``seconds`` for what is between ``begin`` and ``end``, within ``alarmed``; give or take a tenth.

    Native code that does not come back is ended with its process, by a signal that needs no Python: after twice the
    time on every core. The answer that it was at is found and blamed by those who miss the process.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._began = self._armed = 0.0
        self._inside = False

    @contextlib.contextmanager
    def alarmed(self) -> Iterator[None]:
        """Only a process's main thread gets alarms; in any other there is no limit."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, self._alarm)
        self._arm()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self._armed = 0.0

    def begin(self) -> None:
        """One metric begins with one answer."""
        self._began = time.monotonic()
        if self._armed and self._began - self._armed > self.seconds / 10:
            self._arm()
        self._inside = True

    def end(self) -> None:
        self._inside = False

    def _arm(self) -> None:
        self._armed = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        signal.setitimer(signal.ITIMER_PROF, 2 * self.seconds * (os.cpu_count() or 1))

    def _alarm(self, _signal: int, _frame: FrameType | None) -> None:
        left = self._began + self.seconds - time.monotonic() if self._inside else self.seconds
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, left)
            return
        raise TimeoutError(f"the metric needed more than {self.seconds:g} seconds for one answer")
