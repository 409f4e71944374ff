import logging

import pytest

from mmeval.broker.breaker import FAILURES_IN_A_ROW, LONG_WAIT, Breaker
from mmeval.broker.observer import RoleObserver
from mmeval.errors import KeyRefusedError
from mmeval.records.response import ErrorInfo

DOWN = ErrorInfo("server", "no")


@pytest.fixture
def breaker() -> Breaker:
    return Breaker(RoleObserver())


def test_a_refused_request_ends_a_row_of_failures(breaker: Breaker) -> None:
    for _ in range(FAILURES_IN_A_ROW - 1):
        breaker.count(DOWN)
    breaker.count(ErrorInfo("bad_request", "no"))
    breaker.count(DOWN)
    breaker.check()


def test_what_makes_a_backend_lost_is_raised_at_every_later_call(
    breaker: Breaker,
) -> None:
    lost = breaker.refuse_key(ErrorInfo("auth", "wrong key"))
    for _ in range(2):
        with pytest.raises(KeyRefusedError) as caught:
            breaker.check()
        assert caught.value is lost


def test_a_long_pause_is_reported_once(
    breaker: Breaker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        breaker.warn_of_pause(LONG_WAIT - 1)
        assert not caplog.records
        breaker.warn_of_pause(LONG_WAIT)
        breaker.warn_of_pause(LONG_WAIT)
    assert len(caplog.records) == 1
