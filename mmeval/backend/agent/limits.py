"""Limits for one answer of an agent."""

from typing import NamedTuple

MAX_CALLS = 200


class AnswerLimits(NamedTuple):
    """The maximum numbers of calls and of tokens (input plus output) for one answer.

    If the limit of tokens is None, tokens are not limited.
    """

    calls: int = MAX_CALLS
    tokens: int | None = None


USUAL_LIMITS = AnswerLimits()
