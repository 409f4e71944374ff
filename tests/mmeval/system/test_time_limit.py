import os
import signal
import threading
from collections.abc import Iterator

import pytest

from mmeval.system.time_limit import TimeLimit, paused

pytestmark = pytest.mark.timeout(0)  # which would use the same alarm


class Clock:
    """A clock controlled by the test; the kernel's real alarms are hours away."""

    def __init__(self) -> None:
        self.now = 5000.0

    def __call__(self) -> float:
        return self.now

    def alarm_after(self, seconds: float) -> None:
        self.now += seconds
        signal.raise_signal(signal.SIGALRM)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _no_alarm_is_left() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getsignal(signal.SIGALRM) is before
    assert timers() == (0, 0)


def timers() -> tuple[float, float]:
    return signal.getitimer(signal.ITIMER_REAL)[0], signal.getitimer(
        signal.ITIMER_PROF
    )[0]


def about(seconds: float) -> object:
    """Approximately ``seconds``; a busy machine may have used up to 201 of them."""
    return pytest.approx(seconds - 100, abs=101)


def test_what_takes_too_long_is_interrupted(clock: Clock) -> None:
    limit = TimeLimit(8000, clock=clock)
    with limit.alarmed():
        limit.begin()
        clock.alarm_after(6000)
        assert timers()[0] == about(2000)
        with pytest.raises(TimeoutError, match="8000 seconds"):
            clock.alarm_after(2000)
        limit.end()


def test_alarms_are_set_again_only_where_a_tenth_of_the_time_has_passed(
    clock: Clock,
) -> None:
    limit = TimeLimit(8000, clock=clock)
    with limit.alarmed():
        assert timers() == (about(8000), about(2 * 8000 * (os.cpu_count() or 1)))
        signal.setitimer(signal.ITIMER_REAL, 4000)
        for elapsed, remaining in ((800, 4000), (1, 8000)):
            clock.now += elapsed
            limit.begin()
            assert timers()[0] == about(remaining)


def test_the_timers_of_the_program_around_it_are_set_again(clock: Clock) -> None:
    signal.setitimer(signal.ITIMER_REAL, 9000)
    signal.setitimer(signal.ITIMER_PROF, 7000)
    try:
        with TimeLimit(4000, clock=clock).alarmed():
            pass
        assert timers() == (about(9000), about(7000))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def test_several_answers_at_once_have_the_time_of_as_many(clock: Clock) -> None:
    limit = TimeLimit(8000, clock=clock)
    with limit.alarmed():
        limit.begin(5)
        assert timers()[0] == about(40_000)
        clock.alarm_after(39_999)
        limit.end()
        limit.begin()
        assert timers()[0] == about(8000)
        with pytest.raises(TimeoutError):
            clock.alarm_after(8000)
        limit.end()


def test_what_is_done_while_it_is_paused_takes_no_time_and_what_comes_after_it_does(
    clock: Clock,
) -> None:
    limit = TimeLimit(8000, clock=clock)
    with limit.alarmed():
        limit.begin()
        clock.now += 3000
        with paused(), paused():
            assert timers() == (0, 0)
            clock.alarm_after(90_000)  # it was sent before the pause
        assert timers()[0] == about(5000)
        clock.alarm_after(4999)
        with pytest.raises(TimeoutError):
            clock.alarm_after(1)
        limit.end()
        with paused():
            pass
        assert timers()[0] == about(8000)


def test_in_any_other_thread_there_is_no_limit(clock: Clock) -> None:
    timer_values: list[tuple[float, float]] = []

    def work() -> None:
        limit = TimeLimit(8000, clock=clock)
        with limit.alarmed():
            limit.begin()
            with paused():
                timer_values.append(timers())
            timer_values.append(timers())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert timer_values == [(0, 0), (0, 0)]
