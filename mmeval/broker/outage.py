"""Outages: while a backend is out of reach, calls wait and one at a time tests it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from mmeval.records.response import ErrorInfo, ErrorKind

log = logging.getLogger(__name__)

OUTAGE_SECONDS = 300.0
"""How long a backend that has answered may be out of reach before it counts as gone."""
START_SECONDS = 30.0
"""The same for one that has not answered yet: its address is wrong more often than it
is about to start."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds between two looks; each pause is twice the one before it, up to the longest,
and a quarter more at random."""

UNNAMED = "the backend"

SILENT: frozenset[ErrorKind] = frozenset(("unreachable", "connection", "timeout"))
"""Errors that are not a sign of life."""


class Outage:
    """Whether a backend is out of reach, since when, and when the next call may look.

    ``turn`` is held by the one call that looks; the others stand in line for it, so
    that the next to look is the one that has waited longest.
    """

    def __init__(self, on_change: Callable[[bool], None] = lambda _on: None) -> None:
        self._on_change = on_change
        self.turn = asyncio.Lock()
        self.backend = UNNAMED
        """The roles that the backend plays, as messages name them."""
        self._answered = False
        self._began: float | None = None
        self._looks = 0

    def told(self, message: str) -> str:
        """The message of a backend, after the roles that it plays where these are
        known."""
        return f"{self.backend}: {message}" if self.backend != UNNAMED else message

    @property
    def on(self) -> bool:
        return self._began is not None

    @property
    def patience(self) -> float:
        """Seconds that an outage may last."""
        return OUTAGE_SECONDS if self._answered else START_SECONDS

    @property
    def lasted(self) -> float:
        return (
            0.0
            if self._began is None
            else asyncio.get_running_loop().time() - self._began
        )

    def pause(self) -> float:
        """Seconds until the next look, which is the last one where patience ends."""
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**self._looks) * random.uniform(
            1.0, 1.25
        )
        return max(0.0, min(pause, self.patience - self.lasted))

    def note(self, error: ErrorInfo | None) -> None:
        """Note the outcome of a call sent while in reach, or of the one that tests."""
        if error is None or error.kind not in SILENT:
            self._answered = True
            if self.on:
                log.warning("%s answers again, after %.0f s", self.backend, self.lasted)
                self._began = None
                self._on_change(False)
        elif error.kind == "unreachable" and not self.on:
            said = "%s; every call waits for up to %.0f s until it can be reached"
            log.warning(said, self.told(error.message), self.patience)
            self._began, self._looks = asyncio.get_running_loop().time(), 0
            self._on_change(True)

    def looked(self, error: ErrorInfo | None) -> None:
        """What came of the call that looked."""
        self._looks += 1
        self.note(error)

    @property
    def endless(self) -> bool:
        return self.on and self.lasted >= self.patience

    def verdict(self, message: str) -> str:
        """Why the backend counts as gone."""
        message = self.told(message)
        if self._answered:
            return f"{message}; it has been out of reach for {self.lasted:.0f} s"
        return (
            f"{message}; it has not answered once in {self.lasted:.0f} s, so its "
            "address may be wrong"
        )
