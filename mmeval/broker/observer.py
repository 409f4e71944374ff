"""Callbacks that inform a run about the events of a role."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _ignore_waiting(_awaited: str) -> None:
    """Does nothing; the default if no run shows what calls wait for."""


def _ignore_loading(_model: str, _seconds: float | None) -> None:
    """Does nothing; the default if no run shows what is being loaded."""


def _ignore_room() -> None:
    """Does nothing; the default if no run has further calls to send."""


@dataclass(eq=False)
class RoleObserver:
    """Callbacks for events of a role. A run sets the callbacks for the events that it
    shows or uses."""

    waiting: Callable[[str], None] = _ignore_waiting
    """Called with a description of the outage or batch that all calls wait for, and
    with "" when the wait ends."""
    loading: Callable[[str, float | None], None] = _ignore_loading
    """Called with (model, None) when loading begins, then with (model, seconds).
    If loading fails, the second call is ("", None)."""
    room: Callable[[], None] = _ignore_room
    """Called when the role can take another call."""
    resting: int = 0
    """Number of calls that wait before a retry. They do not use a connection."""
