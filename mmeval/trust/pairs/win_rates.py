"""Wins, ties and losses of each player, and the readings of a win rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mmeval.trust.pairs.judgements import Judgement


@dataclass(frozen=True)
class PlayerRecord:
    """A player's comparisons. Leaning ties are in ``ties``, and also in
    ``forced_wins`` or ``forced_losses``.

    The win rate counts a tie as half a win (``half``), as none (``zero``), not at all
    (``without``), or by its side (``forced``; None if a tie has no side).
    """

    wins: int
    losses: int
    ties: int
    forced_wins: int
    forced_losses: int

    @property
    def comparisons(self) -> int:
        """The number of comparisons."""
        return self.wins + self.losses + self.ties

    @property
    def win_rate_half(self) -> float:
        """A tie is half a win."""
        return (self.wins + self.ties / 2) / self.comparisons

    @property
    def win_rate_zero(self) -> float:
        """A tie is not a win."""
        return self.wins / self.comparisons

    @property
    def win_rate_without(self) -> float | None:
        """Ties are left out. None without a decided comparison."""
        decided = self.wins + self.losses
        return self.wins / decided if decided else None

    @property
    def win_rate_forced(self) -> float | None:
        """A tie counts by its side. None if a tie has no side."""
        if self.forced_wins + self.forced_losses < self.comparisons:
            return None
        return self.forced_wins / self.comparisons

    def to_json(self) -> dict[str, Any]:
        """Returns the counts and all readings of the win rate."""
        return {
            **asdict(self),
            "comparisons": self.comparisons,
            "win_rate_half": self.win_rate_half,
            "win_rate_zero": self.win_rate_zero,
            "win_rate_without": self.win_rate_without,
            "win_rate_forced": self.win_rate_forced,
        }


def players_of(judgements: Iterable[Judgement]) -> list[str]:
    """Returns the names of the players, sorted."""
    names: set[str] = set()
    for judgement in judgements:
        names.update((judgement.a, judgement.b))
    return sorted(names)


def player_records(judgements: Sequence[Judgement]) -> dict[str, PlayerRecord]:
    """Returns the record of each player, sorted by name."""
    records = {}
    for name in players_of(judgements):
        own = [each for each in judgements if name in (each.a, each.b)]
        wins = sum(each.winner == name for each in own)
        ties = sum(each.is_tie for each in own)
        forced_wins = sum(each.forced_winner == name for each in own)
        sideless = sum(not each.forced_winner for each in own)
        records[name] = PlayerRecord(
            wins=wins,
            losses=len(own) - wins - ties,
            ties=ties,
            forced_wins=forced_wins,
            forced_losses=len(own) - forced_wins - sideless,
        )
    return records
