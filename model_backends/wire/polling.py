"""Looks at what a server is at work on, until it is ready."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.transport import Received, Transport

T = TypeVar("T")

MOST_MISSED = 3
"""Maximum number of looks in a row that find no job or no result."""
PASSING = frozenset(("rate_limit", "unreachable", "timeout", "connection", "server"))
"""Errors of a look that say nothing of what is looked at."""


class JobEndedError(CallError):
    """A job that has ended without a result: asking again means another job."""

    def __reduce__(self) -> tuple[object, ...]:
        return JobEndedError, (self.kind, self.text, self.retry_after)


class JobLostError(JobEndedError):
    """A job that its server does not know any more."""

    def __reduce__(self) -> tuple[object, ...]:
        return JobLostError, (self.kind, self.text, self.retry_after)


class NotFoundError(CallError):
    """A look that finds nothing: some servers know a job a moment late."""


class Pace:
    """How often a backend looks, until it is closed.

    ``outlasts`` is false for a server whose jobs end with it: then a connection that
    fails ends them.
    """

    def __init__(self, seconds: float, *, outlasts: bool = True) -> None:
        self.seconds, self.outlasts = seconds, outlasts
        self.closings = 0

    def close(self) -> None:
        """Let the calls under way look no more."""
        self.closings += 1


class Polling:
    """The looks of one call."""

    def __init__(self, transport: Transport, pace: Pace) -> None:
        self._transport, self._pace = transport, pace
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Why the last look has failed, as the end of a message; empty if it has
        not."""
        return f" ({self._trouble})" if self._trouble else ""

    async def until(
        self,
        fetch: Callable[[], Awaitable[Received]],
        read: Callable[[Received], T | None],
        passing: frozenset[str] = PASSING,
    ) -> T:
        """What ``read`` makes of a reply, which is fetched until there is one. Errors
        of the kinds in ``passing`` are followed by another look."""
        pace = self._pace
        closings, misses = pace.closings, 0
        while True:
            pause = pace.seconds
            try:
                received = await fetch()
                value = None
                try:
                    value = read(received)
                finally:
                    if value is not received:
                        self._transport.release(received)
                if value is not None:
                    return value
                misses, self._trouble = 0, ""
            except NotFoundError as error:
                misses += 1
                if misses >= MOST_MISSED:
                    raise JobLostError(
                        "server", f"the server does not know the job ({error.text})"
                    ) from None
            except CallError as error:
                is_lost = error.kind in ("connection", "unreachable")
                if is_lost and not pace.outlasts:
                    raise JobEndedError("connection", error.text) from None
                if isinstance(error, JobEndedError) or error.kind not in passing:
                    raise
                self._trouble = error.text
                pause = max(pause, error.retry_after or 0.0)
            await asyncio.sleep(pause)
            if closings != pace.closings:
                raise CallError("connection", "the backend was closed meanwhile")
