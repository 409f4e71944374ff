"""How a judge's replies are read: robustly, or like a benchmark's released script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mmeval.metric.judge import ReplyForm, Verdict

Reading = Literal["robust", "official"]
"""How replies are read: ``robust`` rejects unusable replies, and ``official`` reads
like the released script, oddities included."""
Lost = Literal["unscored", "wrong"]
"""How a question without a usable reply is scored: the question is unscored, or wrong
as in the release. A question without any reply (the judge failed) is unscored in both
cases. A refusal is an unusable reply, since the release does not detect refusals."""
UNREADABLE = "unreadable"
"""Key of a vote: the official reply lacks the requested value."""


@dataclass(frozen=True)
class ReadForm(ReplyForm):
    """A reply form with a :data:`Reading`."""

    reading: Reading = "robust"

    @property
    def reads_refusals(self) -> bool:
        return self.reading == "official"


def is_unknown(verdict: Verdict, lost: Lost) -> bool:
    """Returns True if the verdict is missing (not merely wrong)."""
    return bool(verdict.lost) and not (lost == "wrong" and verdict.replied)


def is_unread(verdict: Verdict, lost: Lost) -> bool:
    """Returns True if an unusable reply is scored instead of lost.

    This happens in the official reading, or with ``lost: wrong``.
    """
    if any(vote.get(UNREADABLE) for vote in verdict.votes):
        return True
    return bool(verdict.lost) and not is_unknown(verdict, lost)
