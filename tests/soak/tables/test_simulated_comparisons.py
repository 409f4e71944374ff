"""How often comparisons are right: simulated pairs of runs for each kind of data, made
by known rules.

Intervals of differences should hold the truth in at least 93 %, and of fewer than 20
clusters in at least 90 %. Runs that are equally good should be called different in at
most 6 %, eight metrics together too, and a gate should let a run pass which is exactly
at its margin in at most 3 %. A difference as large as ``smallest_seen`` should be seen
in about 80 %.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.statistics.comparisons import FAMILIES, NOISE, Cell, simulate
from mmeval.comparison.paired.contributions import PairedMean
from mmeval.comparison.statistics import PairedTest, compare_means, corrected

SIMULATIONS = 1000
CELL_SIMULATIONS = 200
SIZES = (20, 50, 200)
Random = np.random.Generator
Maker = Callable[[Random, int, float], PairedTest]


def compared(
    a: NDArray[Any], b: NDArray[Any], per_cluster: int = 1, width: float = math.inf
) -> PairedTest:
    one = np.ones(len(a))
    names = [f"c{at // per_cluster}" for at in range(len(a))]
    return compare_means([PairedMean(1.0, names, a, b, one, one)], width)


def normal(random: Random, clusters: int, difference: float) -> PairedTest:
    """Samples of different difficulty, which is the same for both runs."""
    ease = random.normal(size=clusters)
    return compared(
        ease + random.normal(size=clusters),
        ease + difference + random.normal(size=clusters),
    )


def right(share: float) -> Maker:
    """Right or wrong. Half of the samples are right in both runs or in none, as far as
    the shares allow."""

    def made(random: Random, clusters: int, difference: float) -> PairedTest:
        luck = random.random(clusters)
        other = np.where(random.random(clusters) < 0.5, luck, random.random(clusters))
        return compared(
            (luck < share) * 1.0, (other < share + difference) * 1.0, width=1.0
        )

    return made


def of_five(random: Random, clusters: int, difference: float) -> PairedTest:
    """Clusters of five, which differ in how much better the other run is."""
    of_cluster = np.repeat(random.normal(size=clusters), 5)
    a, b = random.normal(size=(2, 5 * clusters))
    return compared(a, b + of_cluster + difference, 5)


def four_repeats(random: Random, clusters: int, difference: float) -> PairedTest:
    """Easy samples and hard ones, each answered four times, right or wrong."""
    ease = np.repeat(random.beta(2, 2, size=clusters), 4)
    luck = random.random((2, 4 * clusters))
    # half of all answers are right in the reference
    better = ease + 2 * difference * (1 - ease)
    return compared((luck[0] < ease) * 1.0, (luck[1] < better) * 1.0, 4, width=1.0)


KINDS: dict[str, Maker] = {
    "normal": normal,
    "half right": right(0.5),
    "nine in ten right": right(0.9),
    "clusters of five": of_five,
    "four repeats": four_repeats,
}
CASES = pytest.mark.parametrize(
    ("kind", "clusters"), [(kind, size) for kind in KINDS for size in SIZES], ids=str
)


def false_alarms(kind: str, clusters: int) -> float:
    random = np.random.default_rng(2)
    found = 0
    for _ in range(SIMULATIONS):
        values = [KINDS[kind](random, clusters, 0.0).p for _ in range(8)]
        found += (
            min(corrected([1.0 if p is None else p for p in values], "holm")) < 0.05
        )
    return found / SIMULATIONS


def power(kind: str, clusters: int) -> float:
    """Of the difference that is the smallest one seen, on average over some runs."""
    random = np.random.default_rng(3)
    sign = -1 if "right" in kind else 1
    difference = 0.0
    # a worse run differs in more samples: what is seen depends on what there is
    for _ in range(3):
        seen = [
            KINDS[kind](random, clusters, sign * difference).smallest_seen(0.05, 0.8)
            for _ in range(200)
        ]
        difference = float(np.mean([value for value in seen if value is not None]))
    tests = [
        KINDS[kind](random, clusters, sign * difference).p for _ in range(SIMULATIONS)
    ]
    return sum(p is not None and p < 0.05 for p in tests) / SIMULATIONS


CELLS = [
    cell
    for family in FAMILIES.values()
    for cell in family()
    if cell.clusters in (6, 8, 20, 50, 61, 200)
]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_simulated_comparison_is_as_sure_as_it_says(cell: Cell) -> None:
    count = simulate(cell, CELL_SIMULATIONS)
    assert count.contradictions == 0
    lowest = 0.90 if cell.clusters < 20 else 0.93
    if count.intervals:
        assert count.coverage >= lowest - NOISE * error(lowest)
    if not cell.truth:
        assert count.alarms / CELL_SIMULATIONS <= 0.06 + NOISE * error(0.06)
    if cell.margin is not None:
        highest = 0.03 + NOISE * error(0.03)
        assert count.passed / CELL_SIMULATIONS <= highest
        assert count.failed / CELL_SIMULATIONS <= highest


def error(share: float) -> float:
    return math.sqrt(share * (1 - share) / CELL_SIMULATIONS)


@CASES
def test_equally_good_runs_are_rarely_called_different(
    kind: str, clusters: int
) -> None:
    assert false_alarms(kind, clusters) <= 0.06


@CASES
def test_the_smallest_difference_that_would_have_been_seen_mostly_is(
    kind: str, clusters: int
) -> None:
    assert 0.74 <= power(kind, clusters) <= 0.95
