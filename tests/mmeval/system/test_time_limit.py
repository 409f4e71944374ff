from __future__ import annotations

import signal
import threading
import time

import pytest

from mmeval.system.time_limit import TimeLimit, paused


def busy(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_what_takes_too_long_is_interrupted_and_told() -> None:
    limit = TimeLimit(0.1)
    with limit.alarmed():
        limit.begin()
        with pytest.raises(TimeoutError, match=r"more than 0\.1 seconds for one answer"):
            busy(30)
        limit.end()


def test_each_has_the_whole_time_however_long_those_before_it_took() -> None:
    limit = TimeLimit(1.0)
    with limit.alarmed():
        for _ in range(4):
            limit.begin()
            busy(0.4)
            limit.end()


def test_what_lies_between_two_is_not_interrupted() -> None:
    limit = TimeLimit(0.2)
    with limit.alarmed():
        limit.begin()
        limit.end()
        busy(0.5)


def test_afterwards_no_alarm_comes_and_the_handler_before_is_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    limit = TimeLimit(0.05)
    with limit.alarmed():
        limit.begin()
    busy(0.1)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == signal.getitimer(signal.ITIMER_PROF)[0] == 0


def test_native_code_is_ended_with_its_process_after_twice_the_time_on_every_core() -> None:
    limit = TimeLimit(10)
    with limit.alarmed():
        limit.begin()
        assert signal.getitimer(signal.ITIMER_PROF)[0] >= 20


def test_in_any_other_thread_there_is_no_limit() -> None:
    ended: list[bool] = []

    def work() -> None:
        limit = TimeLimit(0.02)
        with limit.alarmed():
            limit.begin()
            busy(0.1)
            ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended


def test_what_is_done_while_it_is_paused_takes_no_time_and_what_comes_after_it_does() -> None:
    limit = TimeLimit(0.3)
    with limit.alarmed():
        limit.begin()
        with paused(), paused():
            busy(0.5)
            assert signal.getitimer(signal.ITIMER_REAL)[0] == signal.getitimer(signal.ITIMER_PROF)[0] == 0
        busy(0.1)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            busy(30)
        limit.end()
    assert time.monotonic() - began < 1


def test_without_a_limit_a_pause_changes_nothing() -> None:
    signal.setitimer(signal.ITIMER_PROF, 100)
    try:
        with paused():
            assert signal.getitimer(signal.ITIMER_PROF)[0] > 50
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def test_several_answers_at_once_have_the_time_of_as_many() -> None:
    limit = TimeLimit(0.2)
    with limit.alarmed():
        limit.begin(5)
        busy(0.6)
        limit.end()
        limit.begin()
        with pytest.raises(TimeoutError):
            busy(30)
        limit.end()
