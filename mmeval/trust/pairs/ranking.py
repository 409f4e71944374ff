"""Ranks players by their judgements: win rates, strengths, and the share of the first
side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.trust.pairs.bradley_terry import NoStrengths, Strengths, strengths
from mmeval.trust.pairs.first_side import FirstSide, first_side
from mmeval.trust.pairs.judgements import Judgement, Ties
from mmeval.trust.pairs.win_rates import PlayerRecord, player_records


@dataclass(frozen=True)
class PairRanking:
    """The results of pairs. Win rates exist even where strengths are refused."""

    comparisons: int
    ties: Ties
    players: Mapping[str, PlayerRecord]
    strengths: Strengths | NoStrengths
    first_side: FirstSide | None

    @property
    def refused(self) -> str:
        """Why there are no strengths, or empty."""
        if isinstance(self.strengths, NoStrengths):
            return self.strengths.refused
        return ""

    def to_json(self) -> dict[str, Any]:
        """Returns the block ``pairs``."""
        row: dict[str, Any] = {
            "comparisons": self.comparisons,
            "ties": self.ties,
            "players": {name: each.to_json() for name, each in self.players.items()},
            "first_side": None,
        }
        if self.first_side is not None:
            row["first_side"] = self.first_side.to_json()
        if isinstance(self.strengths, NoStrengths):
            row["refused"] = self.strengths.refused
            row["components"] = [list(group) for group in self.strengths.components]
        else:
            row["nu"] = self.strengths.nu
            of_players = self.strengths.of_players
            row["strength"] = {
                name: each.to_json() for name, each in of_players.items()
            }
        return row


def rank(judgements: Sequence[Judgement], ties: Ties) -> PairRanking:
    """Returns the ranking of at least one judgement."""
    players = player_records(judgements)
    return PairRanking(
        comparisons=len(judgements),
        ties=ties,
        players=players,
        strengths=strengths(judgements, list(players), ties),
        first_side=first_side(judgements),
    )
