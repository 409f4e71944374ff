"""The breaker of a role: from when on a backend is not asked any more, and why."""

from __future__ import annotations

import logging

from mmeval.broker.observer import RoleObserver
from mmeval.broker.outage import Outage
from mmeval.errors import (
    EXIT_UNEXPECTED,
    BackendDownError,
    KeyRefusedError,
    MmevalError,
    RoleLostError,
    StartFailedError,
    message_of,
)
from mmeval.records.response import ErrorInfo, ErrorKind

log = logging.getLogger(__name__)

FAILURES_IN_A_ROW = 50
"""So many calls that all fail after their retries mean that the backend is gone."""
LONG_WAIT = 60.0
"""Seconds of a pause before a call is sent again, from which it is reported, once."""
_GONE: tuple[ErrorKind, ...] = ("connection", "timeout", "server")
"""The errors that a backend gives which is gone."""


class Breaker:
    """Whether a backend is lost. What makes it so is raised at every later call: none
    waits for what is gone."""

    outage: Outage
    failed_in_a_row: int
    _lost: RoleLostError | None
    _has_warned: bool

    def __init__(self, observer: RoleObserver) -> None:
        self.outage = Outage(
            lambda is_out: observer.waiting(self.outage.backend if is_out else "")
        )
        self.failed_in_a_row = 0
        self._lost = None
        self._has_warned = False

    def check(self) -> None:
        """Raises the error of a backend that is lost."""
        if self._lost is not None:
            raise self._lost

    def count(self, error: ErrorInfo) -> None:
        """Count a call that has failed after its retries. Raises BackendDownError where
        too many have failed in a row."""
        if error.kind not in _GONE:
            self.failed_in_a_row = 0
            return
        self.failed_in_a_row += 1
        if self.failed_in_a_row >= FAILURES_IN_A_ROW:
            last = f"the last one with: {error.message}"
            failures = f"{FAILURES_IN_A_ROW} calls in a row failed, {last}"
            raise self.give_up(self.outage.told(failures))

    def give_up(self, why: str) -> RoleLostError:
        """The error of a backend that is down for good."""
        self._lost = BackendDownError(why, "bring the backend up")
        return self._lost

    def refuse_key(self, error: ErrorInfo) -> RoleLostError:
        """The error of a backend that does not accept the key."""
        self._lost = KeyRefusedError(self.outage.told(error.message), "fix the key")
        return self._lost

    def cannot_start(self, error: Exception) -> RoleLostError:
        """The error of a backend that could not be loaded."""
        name = self.outage.backend
        log.debug("%s cannot be started", name, exc_info=error)
        code = error.exit_code if isinstance(error, MmevalError) else EXIT_UNEXPECTED
        self._lost = StartFailedError(name, message_of(error), code)
        return self._lost

    def warn_of_pause(self, seconds: float) -> None:
        if seconds >= LONG_WAIT and not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s asks to wait: a call goes on in %.0f s",
                self.outage.backend,
                seconds,
            )
