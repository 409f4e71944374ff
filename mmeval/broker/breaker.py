"""The circuit breaker of a role, which stops the calls to a lost backend."""

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
"""Number of consecutive failed calls after which a backend counts as down.

A call fails if all its retries fail.
"""
LONG_WAIT = 60.0
"""If a pause before a retry takes at least this number of seconds, a warning is logged
once per role."""
_GONE: tuple[ErrorKind, ...] = ("connection", "timeout", "server")
"""The errors that indicate that a backend may be down."""


class Breaker:
    """Stores the error that explains why a backend is lost, and raises the error at
    every later call."""

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
        """Raises the error if the backend is lost."""
        if self._lost is not None:
            raise self._lost

    def count(self, error: ErrorInfo) -> None:
        """Counts a call that still failed after all its retries.

        Raises BackendDownError after too many consecutive failures.
        """
        if error.kind not in _GONE:
            self.failed_in_a_row = 0
            return
        self.failed_in_a_row += 1
        if self.failed_in_a_row >= FAILURES_IN_A_ROW:
            last = f"last error: {error.message}"
            failures = f"{FAILURES_IN_A_ROW} calls in a row failed; {last}"
            raise self.give_up(self.outage.with_backend(failures))

    def give_up(self, why: str) -> RoleLostError:
        """Marks the backend as down. Returns the error to raise."""
        self._lost = BackendDownError(why, "bring the backend up")
        return self._lost

    def refuse_key(self, error: ErrorInfo) -> RoleLostError:
        """Marks the API key as refused. Returns the error to raise."""
        self._lost = KeyRefusedError(
            self.outage.with_backend(error.message), "fix the key"
        )
        return self._lost

    def cannot_start(self, error: Exception) -> RoleLostError:
        """Marks the backend as not startable. Returns the error to raise."""
        name = self.outage.backend
        log.debug("%s cannot be started", name, exc_info=error)
        code = error.exit_code if isinstance(error, MmevalError) else EXIT_UNEXPECTED
        self._lost = StartFailedError(name, message_of(error), code)
        return self._lost

    def warn_of_pause(self, seconds: float) -> None:
        if seconds >= LONG_WAIT and not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s requests a pause; the next retry is in %.0f s",
                self.outage.backend,
                seconds,
            )
