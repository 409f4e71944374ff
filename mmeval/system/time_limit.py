"""Limits the time of metrics by interrupting slow Python code.

One alarm is used for a batch of answers: setting one per answer would take longer than
a fast metric.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

_active: TimeLimit | None = None


class TimeLimit:
    """A limit of ``seconds`` between ``begin`` and ``end``, accurate to a tenth of a
    second.

    ``begin`` and ``end`` are called inside ``alarmed``. The time that a ``paused``
    block takes is left out.

    If native code does not return, a signal that does not need Python kills the
    process. The signal is sent when the process has used all cores for twice the limit.
    The parent process then finds the answer that caused the death.
    """

    def __init__(
        self, seconds: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds, self._clock = seconds, clock
        self._start = self._armed_at = 0.0
        self._is_running = self._is_paused = False
        self._answers = 1

    @contextlib.contextmanager
    def alarmed(self) -> Iterator[None]:
        """Set the alarm for a block.

        Outside the main thread there is no limit, because only the main thread receives
        alarms.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        global _active  # noqa: PLW0603  a process has one alarm
        # a program that calls mmeval may have timers of its own, such as a test's limit
        real_timer = signal.getitimer(signal.ITIMER_REAL)
        cpu_timer = signal.getitimer(signal.ITIMER_PROF)
        before, outer = signal.signal(signal.SIGALRM, self._alarm), _active
        _active = self
        self._arm()
        try:
            yield
        finally:
            _active = outer
            signal.setitimer(signal.ITIMER_PROF, *cpu_timer)
            # this alarm must not reach the handler before it
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            signal.setitimer(signal.ITIMER_REAL, *real_timer)
            self._armed_at = 0.0

    def begin(self, answers: int = 1) -> None:
        """Start the time of one answer, or of several answers that are scored
        together."""
        self._start = self._clock()
        changed, self._answers = answers != self._answers, answers
        if self._armed_at and (
            changed or self._start - self._armed_at > self.seconds / 10
        ):
            self._arm()
        self._is_running = True

    def end(self) -> None:
        self._is_running = False

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Pause the clock and the alarms for a block."""
        if (
            self._is_paused
            or not self._armed_at
            or threading.current_thread() is not threading.main_thread()
        ):
            yield
            return
        since = self._clock()
        self._is_paused = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            yield
        finally:
            self._is_paused = False
            self._start += self._clock() - since
            self._arm()
            if self._is_running:
                signal.setitimer(signal.ITIMER_REAL, max(self._remaining(), 0.001))

    def _arm(self) -> None:
        self._armed_at = self._clock()
        signal.setitimer(signal.ITIMER_REAL, self._limit)
        signal.setitimer(signal.ITIMER_PROF, 2 * self._limit * (os.cpu_count() or 1))

    def _remaining(self) -> float:
        return self._start + self._limit - self._clock()

    @property
    def _limit(self) -> float:
        return self.seconds * self._answers

    def _alarm(self, _signal: int, _frame: FrameType | None) -> None:
        if self._is_paused:  # the alarm was sent before the pause
            return
        remaining = self._remaining() if self._is_running else self._limit
        if remaining > 0:
            signal.setitimer(signal.ITIMER_REAL, remaining)
            return
        raise TimeoutError(
            f"the metric needed more than {self.seconds:g} seconds for one answer"
        )


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Runs a block whose time is not counted towards any limit of this process."""
    if _active is None:
        yield
        return
    with _active.pause():
        yield
