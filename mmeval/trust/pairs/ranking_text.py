"""Formats a ranking of players as text in at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from mmeval.report.short_table import number_text
from mmeval.system.wording import listed, printable
from mmeval.trust.pairs.bradley_terry import NoStrengths, Strengths
from mmeval.trust.pairs.ranking import PairRanking
from mmeval.trust.text import interval_text, note, p_text, signed, table

_WIDEST_NAME = 24
_MOST_NAMED = 5


def ranking_sentence(pairs: PairRanking) -> str:
    """Returns the order of the players, or why there is none."""
    if isinstance(pairs.strengths, NoStrengths):
        return f"no strengths of pairs: {pairs.refused}"
    order = _by_strength(pairs.strengths)
    return f"order by strength: {listed([_short(name) for name in order], _MOST_NAMED)}"


def _by_strength(strengths: Strengths) -> list[str]:
    of_players = strengths.of_players
    return sorted(of_players, key=lambda name: -of_players[name].value)


def ranking_table(pairs: PairRanking, width: int) -> list[str]:
    """Returns the lines about each player, with notes."""
    strengths = pairs.strengths
    order = list(pairs.players)
    if isinstance(strengths, Strengths):
        order = _by_strength(strengths)
    rows = []
    for name in order:
        player = pairs.players[name]
        cells = [
            _short(name),
            f"{player.wins:,}/{player.ties:,}/{player.losses:,}",
            number_text(player.win_rate_half),
            number_text(player.win_rate_forced),
        ]
        if isinstance(strengths, Strengths):
            strength = strengths.of_players[name]
            cells += [signed(strength.value), interval_text(strength.ci95)]
        rows.append(cells)
    heads = ["model", "won/tied/lost", "half", "forced"]
    if isinstance(strengths, Strengths):
        heads += ["strength", "95 %"]
    lines = [*note(f"{pairs.comparisons:,} comparisons", width), *table(heads, rows)]
    for text in _pair_notes(pairs):
        lines += note(text, width)
    return lines


def _pair_notes(pairs: PairRanking) -> Iterator[str]:
    yield "half: a tie is half a win; forced: a tie counts by its side"
    side = pairs.first_side
    if side is not None:
        p = "unknown" if side.p is None else p_text(side.p)
        yield f"the answer shown first won {number_text(side.share)}, p {p}"
    if isinstance(pairs.strengths, NoStrengths):
        yield f"refused: {pairs.refused}"
        for group in pairs.strengths.components:
            names = [_short(name) for name in group]
            yield f"connected by wins: {listed(names, _MOST_NAMED)}"


def _short(name: str) -> str:
    return printable(name, limit=_WIDEST_NAME)
