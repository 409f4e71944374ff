"""The judgements of pairs in a list of ratings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from mmeval.errors import UsageError, did_you_mean
from mmeval.trust.records import Rating

Outcome = Literal["a", "b", "tie", "tie_a", "tie_b"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Ties = Literal["davidson", "half", "forced"]
TIES: tuple[Ties, ...] = get_args(Ties)


@dataclass(frozen=True)
class Judgement:
    """Which of two players is better. ``tie_a`` is a tie that leans to ``a``.

    ``first`` is the player that was shown first, or empty if that is unknown.
    """

    a: str
    b: str
    outcome: Outcome
    cluster: str
    first: str = ""

    @property
    def winner(self) -> str:
        """The better player, or empty for every tie."""
        if self.outcome == "a":
            return self.a
        return self.b if self.outcome == "b" else ""

    @property
    def forced_winner(self) -> str:
        """The better player, where a tie that leans counts as decided. Empty for other
        ties."""
        if self.outcome == "tie":
            return ""
        return self.a if self.outcome in ("a", "tie_a") else self.b

    @property
    def is_tie(self) -> bool:
        """True for every tie."""
        return not self.winner


def judgements_of(ratings: Iterable[Rating]) -> list[Judgement]:
    """Returns the judgements among the first passes. Other ratings, and raters who
    cannot say, are left out.

    Raises UsageError if a value is not a known outcome, or both players are the same.
    """
    judgements = []
    for rating in ratings:
        is_pair = bool(rating.a and rating.b)
        if not is_pair or rating.pass_number != 1 or rating.value is None:
            continue
        if rating.a == rating.b:
            raise UsageError(
                f"trial {rating.trial!r} compares {rating.a!r} with itself; a and b "
                "must differ"
            )
        judgements.append(
            Judgement(
                a=rating.a,
                b=rating.b,
                outcome=_outcome(rating),
                cluster=rating.cluster_name,
                first=_first(rating),
            )
        )
    return judgements


def has_pairs(ratings: Iterable[Rating]) -> bool:
    """Returns True if any rating is about a pair."""
    return any(rating.a and rating.b for rating in ratings)


def _first(rating: Rating) -> str:
    """Returns the name of the player shown first, which may be stated as a or b."""
    if rating.first == "a":
        return rating.a
    return rating.b if rating.first == "b" else rating.first


def _outcome(rating: Rating) -> Outcome:
    for outcome in OUTCOMES:
        if outcome == rating.value:
            return outcome
    raise UsageError(
        f"trial {rating.trial!r}: the value of a pair must be one of "
        f"{', '.join(OUTCOMES)}, not {rating.value!r}"
        f"{did_you_mean(str(rating.value), OUTCOMES)}"
    )
