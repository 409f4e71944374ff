"""Stops a metric if too many verdicts of its judge cannot be read."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from mmeval.errors import UnreadableJudgeError

if TYPE_CHECKING:
    from mmeval.records.response import ErrorInfo

PATIENCE = 8
"""If this number of verdicts is unreadable before any can be read, the metric is
stopped."""
RECENT = 50
"""Number of most recent verdicts that are considered together."""
MAX_RECENT_LOST = 15
"""If this number of the most recent verdicts (30 %) is unreadable, the metric is
stopped."""


class JudgePatience:
    """Counts the unreadable verdicts of one metric.

    Until one verdict can be read, at most ``first`` calls are in flight or unreadable.
    So a judge that never replies in the requested form gets no more calls.
    """

    def __init__(self, metric: str, first: int) -> None:
        import asyncio  # a slow import that a list of flags does not need

        self._metric = metric
        self._first = first
        self._has_read = False
        self._lost = 0
        self._in_flight = 0
        self._recent: deque[bool] = deque(maxlen=RECENT)
        self._given_up: UnreadableJudgeError | None = None
        self._turn = asyncio.Condition()

    async def admit(self) -> None:
        """Waits until a verdict may be requested.

        Raises UnreadableJudgeError if too many verdicts are unreadable.
        """
        async with self._turn:
            await self._turn.wait_for(self._has_room)
            if self._given_up is not None:
                raise self._given_up
            self._in_flight += 1

    async def settle(self, error: ErrorInfo | None, *, has_reply: bool = True) -> None:
        """Records the outcome of a requested verdict.

        ``has_reply`` is False if there is no reply, for example because the run was
        stopped.
        """
        async with self._turn:
            self._in_flight -= 1
            if has_reply and error is None:
                self._has_read = True
                self._recent.append(False)
            elif error is not None and error.kind == "bad_reply":
                self._lost += 1
                self._recent.append(True)
                self._judge(error)
            self._turn.notify_all()

    def _has_room(self) -> bool:
        if self._given_up is not None or self._has_read:
            return True
        return self._lost + self._in_flight < self._first

    def _judge(self, error: ErrorInfo) -> None:
        """Gives up if too many verdicts are unreadable."""
        lost = sum(self._recent)
        if not self._has_read and self._lost >= self._first:
            count = f"the first {self._lost}"
        elif self._has_read and lost >= MAX_RECENT_LOST:
            count = f"{lost} of the last {len(self._recent)}"
        else:
            return
        if self._given_up is None:
            self._given_up = UnreadableJudgeError(
                f"{count} verdicts of {self._metric} cannot be read "
                f"({error.message}); a reply was {error.reply!r}"
            )
