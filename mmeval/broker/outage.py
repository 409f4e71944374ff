"""Handles outages of backends.

While a backend is unreachable, calls wait, and one call at a time tests the backend.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from mmeval.records.response import ErrorInfo, ErrorKind

log = logging.getLogger(__name__)

OUTAGE_SECONDS = 300.0
"""Maximum seconds of an outage.

After that, the backend counts as down. This applies to a backend that has answered
before.
"""
START_SECONDS = 30.0
"""Maximum seconds for a backend that has never answered.

The address of such a backend is usually wrong.
"""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds between two tests.

The pause doubles after each test, up to the longest pause. A random extra of up to a
quarter of the pause is added.
"""

UNNAMED = "the backend"

SILENT: frozenset[ErrorKind] = frozenset(("unreachable", "connection", "timeout"))
"""Errors that do not show that the backend is alive."""


class Outage:
    """The state of a backend: it is reachable, or unreachable since a known time.

    A call holds the lock ``turn`` while it tests the backend. The call that has waited
    longest gets the lock next.
    """

    def __init__(self, on_change: Callable[[bool], None] = lambda _on: None) -> None:
        self._on_change = on_change
        self.turn = asyncio.Lock()
        self.backend = UNNAMED
        """The roles of the backend, as they are named in messages."""
        self.start_seconds = START_SECONDS
        """Seconds of an outage after which a backend that has never answered counts as
        down."""
        self._answered = False
        self._began: float | None = None
        self._tests = 0

    def with_backend(self, message: str) -> str:
        """Puts the roles of the backend before a message, if they are known."""
        return f"{self.backend}: {message}" if self.backend != UNNAMED else message

    @property
    def is_on(self) -> bool:
        return self._began is not None

    @property
    def limit(self) -> float:
        """Maximum seconds of an outage."""
        return OUTAGE_SECONDS if self._answered else self.start_seconds

    @property
    def seconds(self) -> float:
        """The duration of the outage so far, or 0 without an outage."""
        return (
            0.0
            if self._began is None
            else asyncio.get_running_loop().time() - self._began
        )

    def pause(self) -> float:
        """Returns the seconds until the next test.

        The last test takes place when the outage reaches its ``limit``.
        """
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**self._tests) * random.uniform(
            1.0, 1.25
        )
        return max(0.0, min(pause, self.limit - self.seconds))

    def note(self, error: ErrorInfo | None) -> None:
        """Records the outcome of a call. An outage then begins, continues or ends."""
        if error is None or error.kind not in SILENT:
            self._answered = True
            if self.is_on:
                log.warning(
                    "%s answers again, after %.0f s", self.backend, self.seconds
                )
                self._began = None
                self._on_change(False)
        elif error.kind == "unreachable" and not self.is_on:
            if self.limit > 0:
                warning = "%s; every call waits up to %.0f s until it can be reached"
                log.warning(warning, self.with_backend(error.message), self.limit)
            self._began, self._tests = asyncio.get_running_loop().time(), 0
            self._on_change(True)

    def note_test(self, error: ErrorInfo | None) -> None:
        """Records the outcome of a test."""
        self._tests += 1
        self.note(error)

    @property
    def has_expired(self) -> bool:
        """True if the outage has reached its limit, so the backend counts as down."""
        return self.is_on and self.seconds >= self.limit

    def reason(self, message: str) -> str:
        """Returns the reason why the backend counts as down."""
        message = self.with_backend(message)
        if self.limit == 0:
            return message
        if self._answered:
            return f"{message}; it has been unreachable for {self.seconds:.0f} s"
        return (
            f"{message}; it has never answered in {self.seconds:.0f} s, so its address "
            "may be wrong"
        )
