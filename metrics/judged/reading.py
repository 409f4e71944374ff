"""How judges' replies are read: robustly, or as a benchmark's own script does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mmeval.metric.judge import ReplyForm, Verdict

Reading = Literal["robust", "official"]
"""How replies are read: ``robust`` refuses unfit replies, ``official`` reads as the
release does, oddities included."""
Lost = Literal["unscored", "wrong"]
"""What a question without a usable reply does: the release counts it as answered
wrongly. A question without any reply (the judge failed) is unscored in both
cases. What the judge refuses has no usable reply: the release knows no refusals."""
UNREADABLE = "unreadable"
"""The key of a vote whose official reply has nothing of what was asked for."""


@dataclass(frozen=True)
class ReadForm(ReplyForm):
    """A reply that is read in one of the two ways."""

    reading: Reading = "robust"

    @property
    def reads_refusals(self) -> bool:
        return self.reading == "official"


def is_unknown(verdict: Verdict, lost: Lost) -> bool:
    """Whether nothing is known: the verdict is lost, and not one of unusable replies
    that count as wrong."""
    return bool(verdict.lost) and not (lost == "wrong" and verdict.replied)


def is_unread(verdict: Verdict, lost: Lost) -> bool:
    """Whether a reply that could not be used counts all the same: officially, or as
    ``lost: wrong`` says."""
    if any(vote.get(UNREADABLE) for vote in verdict.votes):
        return True
    return bool(verdict.lost) and not is_unknown(verdict, lost)
