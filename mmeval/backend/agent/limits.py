"""Limits for one answer of an agent."""

from typing import NamedTuple

MAX_CALLS = 200


class AnswerLimits(NamedTuple):
    """Maximum calls and tokens (in and out) for one answer; None means no limit."""

    calls: int = MAX_CALLS
    tokens: int | None = None


USUAL_LIMITS = AnswerLimits()
