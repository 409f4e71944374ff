"""Limits the time of metrics: too slow Python code is interrupted.

One alarm serves a whole batch of answers, because setting one for each would take
longer than a quick metric.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

_in_force: TimeLimit | None = None


class TimeLimit:
    """A limit of ``seconds``, within a tenth, between ``begin`` and ``end``.
    They are inside ``alarmed``; time inside ``paused`` does not count.

    Native code that does not return is ended with its process, by a signal that needs
    no Python, after twice the time on every core. The parent of the process then finds
    the answer that caused it.
    """

    def __init__(
        self, seconds: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds, self._clock = seconds, clock
        self._began = self._armed = 0.0
        self._inside = self._waits = False
        self._times = 1

    @contextlib.contextmanager
    def alarmed(self) -> Iterator[None]:
        """Set the alarm for a block; only the main thread gets alarms and so has a
        limit."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        global _in_force  # noqa: PLW0603  there is one alarm in a process
        before, outer = signal.signal(signal.SIGALRM, self._alarm), _in_force
        _in_force = self
        self._arm()
        try:
            yield
        finally:
            _in_force = outer
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self._armed = 0.0

    def begin(self, answers: int = 1) -> None:
        """Begin the time of one answer, or of several at once, which have as many
        times."""
        self._began = self._clock()
        changed, self._times = answers != self._times, answers
        if self._armed and (changed or self._began - self._armed > self.seconds / 10):
            self._arm()
        self._inside = True

    def end(self) -> None:
        self._inside = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Stop the clock and the alarms for a block."""
        if (
            self._waits
            or not self._armed
            or threading.current_thread() is not threading.main_thread()
        ):
            yield
            return
        since = self._clock()
        self._waits = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            yield
        finally:
            self._waits = False
            self._began += self._clock() - since
            self._arm()
            if self._inside:
                signal.setitimer(signal.ITIMER_REAL, max(self._left(), 0.001))

    def _arm(self) -> None:
        self._armed = self._clock()
        signal.setitimer(signal.ITIMER_REAL, self._whole)
        signal.setitimer(signal.ITIMER_PROF, 2 * self._whole * (os.cpu_count() or 1))

    def _left(self) -> float:
        return self._began + self._whole - self._clock()

    @property
    def _whole(self) -> float:
        return self.seconds * self._times

    def _alarm(self, _signal: int, _frame: FrameType | None) -> None:
        if self._waits:  # it was sent before the clock stopped
            return
        left = self._left() if self._inside else self._whole
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, left)
            return
        raise TimeoutError(
            f"the metric needed more than {self.seconds:g} seconds for one answer"
        )


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """A block whose time counts for no answer, under any limit of this process."""
    if _in_force is None:
        yield
        return
    with _in_force.held():
        yield
