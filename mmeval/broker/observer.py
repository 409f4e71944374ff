"""What a run sees of a role while it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _ignore_waiting(_awaited: str) -> None:
    """No run shows what is waited for."""


def _ignore_loading(_model: str, _seconds: float | None) -> None:
    """No run shows what is loaded."""


def _ignore_room() -> None:
    """No run has other calls to send."""


@dataclass(eq=False)
class RoleObserver:
    """Called with what happens to a role; a run sets what it shows or uses."""

    waiting: Callable[[str], None] = _ignore_waiting
    """Called with what every call waits for, the roles of an outage or a batch, and
    with "" when that is over."""
    loading: Callable[[str, float | None], None] = _ignore_loading
    """Called with the name of a model when it begins to be loaded (None), and with the
    seconds that it took; with no name when it cannot be loaded."""
    room: Callable[[], None] = _ignore_room
    """Called when there is room for another call: one rests, or the role has become
    wider."""
    resting: int = 0
    """Calls that wait before they are sent again; they hold no connection meanwhile."""
