"""Limits of one answer of an agent."""

from typing import NamedTuple

MAX_CALLS = 200


class AnswerLimits(NamedTuple):
    """What one answer of an agent may take: calls, and tokens in and out (None: any
    number)."""

    calls: int = MAX_CALLS
    tokens: int | None = None


USUAL_LIMITS = AnswerLimits()
