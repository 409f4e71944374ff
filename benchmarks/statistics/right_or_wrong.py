"""How often comparisons of right and wrong answers are right: not simulated, but summed
over everything that can come of one trial a cluster.

    python -m benchmarks right_or_wrong             # the worst of all cells
    python -m benchmarks.statistics.right_or_wrong  # every cell
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from benchmarks.measuring import Figure
from mmeval.aggregate.resampling import Values
from mmeval.comparison.paired.score_test import ExactTail, score
from mmeval.comparison.statistics import LEVEL

SIZES = (8, 12, 17, 20, 50, 100, 200, 500, 1_000)
DISAGREE = (0.02, 0.05, 0.1, 0.2, 0.4)
TRUTHS = (0.0, 0.01, 0.02, 0.05, 0.1)
NEVER = 1e-7
"""Outcomes that are less likely are left out; all of them together do not show."""

Counts = NDArray[np.intp]


@dataclass(frozen=True)
class Cell:
    """``disagree`` is the share of pairs that differ, of which the second run loses the
    more, so that it is worse by ``truth``. Shares of all outcomes: ``held`` by the
    interval, ``different`` by p, and what gates with the truth as their margin let pass
    (``passed``) and call worse than that (``failed``)."""

    pairs: int
    disagree: float
    truth: float
    held: float
    different: float
    passed: float
    failed: float

    @property
    def name(self) -> str:
        return f"{self.pairs} pairs, {self.disagree} differ, worse by {self.truth}"


def summed(pairs: int, disagree: float, truth: float) -> Cell:
    won, lost, chance = outcomes(pairs, disagree, truth)
    limit = -truth
    against_none, _ = score(won, lost, pairs, 0.0)
    is_different = two_sided(against_none) < LEVEL
    against_truth, _ = score(won, lost, pairs, limit)
    is_held = two_sided(against_truth) >= LEVEL

    # the gates also ask the exact tail where the score test would let them decide
    passed = failed = 0.0
    for place in np.flatnonzero(~is_held):
        tail = ExactTail(
            won=int(won[place]),
            lost=int(lost[place]),
            pairs=pairs,
        )
        is_better = against_truth[place] > 0
        tail_p = tail.one_sided_p(limit, above=not is_better)
        if tail_p >= LEVEL / 2:
            continue
        if is_better:
            passed += chance[place]
        else:
            failed += chance[place]
    return Cell(
        pairs,
        disagree,
        truth,
        held=float(chance[is_held].sum()),
        different=float(chance[is_different].sum()),
        passed=float(passed),
        failed=float(failed),
    )


def outcomes(
    pairs: int, disagree: float, truth: float
) -> tuple[Counts, Counts, Values]:
    """Pairs won and lost by the second run, and how likely each outcome is."""
    of_won = (disagree - truth) / 2
    of_lost = (disagree + truth) / 2
    counts = np.arange(pairs + 1)
    won_chance = stats.binom.pmf(counts, pairs, of_won)
    found_won, found_lost, found_chance = [], [], []
    for won in np.flatnonzero(won_chance > NEVER):
        rest = pairs - won
        lost = np.arange(rest + 1)
        share_of_rest = of_lost / (1 - of_won)
        lost_chance = stats.binom.pmf(lost, rest, share_of_rest)
        chance = won_chance[won] * lost_chance
        is_likely = chance > NEVER
        found_won.append(np.full(is_likely.sum(), won))
        found_lost.append(lost[is_likely])
        found_chance.append(chance[is_likely])
    return (
        np.concatenate(found_won),
        np.concatenate(found_lost),
        np.concatenate(found_chance),
    )


def two_sided(statistic: Values) -> Values:
    distance = np.abs(statistic)
    p: Values = 2 * special.ndtr(-distance)
    return p


def cells(sizes: tuple[int, ...] = SIZES) -> Iterator[Cell]:
    for pairs in sizes:
        for disagree in DISAGREE:
            for truth in TRUTHS:
                if truth <= disagree:
                    yield summed(pairs, disagree, truth)


def figures(quick: bool) -> Iterator[Figure]:
    found = list(cells(SIZES[:6] if quick else SIZES))
    few = [cell for cell in found if cell.pairs < 20]
    many = [cell for cell in found if cell.pairs >= 20]
    for name, those, goal in (
        ("intervals, below 20", few, 90.0),
        ("intervals", many, 93.0),
    ):
        worst = min(those, key=lambda cell: cell.held)
        yield Figure(
            name,
            100 * worst.held,
            goal,
            " %",
            at_least=True,
            note=worst.name,
        )

    equal = [cell for cell in found if not cell.truth]
    at_margin = [cell for cell in found if cell.truth]
    yield _highest("false alarms", equal, "different", 6.0)
    yield _highest("gates passed", at_margin, "passed", 3.0)
    yield _highest("gates failed", at_margin, "failed", 3.0)


def _highest(name: str, those: list[Cell], which: str, goal: float) -> Figure:
    def share(cell: Cell) -> float:
        found: float = getattr(cell, which)
        return found

    worst = max(those, key=share)
    return Figure(name, 100 * share(worst), goal, " %", note=worst.name)


def main() -> None:
    for cell in cells():
        print(
            f"{cell.name:45} held {100 * cell.held:.2f} %, "
            f"called different {100 * cell.different:.2f} %, "
            f"passed {100 * cell.passed:.2f} %, failed {100 * cell.failed:.2f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
