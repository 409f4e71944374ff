"""How often the intervals of ranks are right: 3, 5 and 15 runs, made by known rules and
ranked as ``mmeval compare`` does it.

An evaluation is right if the intervals of all its runs hold the true ranks. That should
be so in 95 % of all evaluations. Runs that are equally good share a range of true
ranks, and an interval has to hold all of it. The goal of a cell leaves three standard
errors of the simulation below 93 %.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from benchmarks.measuring import Figure
from benchmarks.statistics.paired_data import part_of
from mmeval.aggregate.resampling import Values
from mmeval.comparison.paired.difference_test import two_sided
from mmeval.comparison.paired.score_test import ScoreTest
from mmeval.comparison.ranking import ALPHA, Order, Rank, ranks
from mmeval.comparison.statistics import compare_means, corrected

Random = np.random.Generator
Truth = Literal["equal", "two levels", "spread"]

TRUTHS: tuple[Truth, ...] = ("equal", "two levels", "spread")
SIZES = (8, 12, 20, 50, 200)
SIMULATIONS = {3: 1000, 5: 500, 15: 200}
"""Evaluations of a cell by its number of runs: 15 runs have 105 tests each."""
FEW = 20
"""Below so many clusters intervals should hold in at least 90 %."""


class Answers(NamedTuple):
    """Scores of some runs, a row a trial and a column a run, and each trial's
    cluster."""

    scores: Values
    clusters: Sequence[str]


def shares(random: Random, truth: Values, clusters: int) -> Answers:
    """Right or wrong; half of the samples are right in all runs or in none, as far as
    the shares allow."""
    shape = (clusters, len(truth))
    luck = random.random((clusters, 1))
    own = random.random(shape)
    is_alike = random.random(shape) < 0.5
    chance = np.where(is_alike, luck, own)
    is_right = chance < 0.7 + 0.2 * truth
    return Answers(is_right.astype(np.float64), _names(clusters))


def means(random: Random, truth: Values, clusters: int) -> Answers:
    """Samples of different difficulty, which is the same for all runs."""
    ease = random.normal(size=(clusters, 1))
    noise = random.normal(size=(clusters, len(truth)))
    return Answers(truth + ease + noise, _names(clusters))


def skewed(random: Random, truth: Values, clusters: int) -> Answers:
    """Most scores are low, and a few are high."""
    noise = random.exponential(size=(clusters, len(truth)))
    return Answers(truth + noise, _names(clusters))


def of_five(random: Random, truth: Values, clusters: int) -> Answers:
    """Clusters of five, which differ in how good each run is."""
    shape = (clusters, len(truth))
    of_cluster = np.repeat(random.normal(size=shape), 5, axis=0)
    noise = random.normal(size=of_cluster.shape)
    scores = truth + of_cluster + noise
    return Answers(scores, _names(clusters, trials=5))


def _names(clusters: int, trials: int = 1) -> list[str]:
    return [str(at // trials) for at in range(clusters * trials)]


Maker = Callable[[Random, Values, int], Answers]

KINDS: Mapping[str, Maker] = {
    "shares": shares,
    "means": means,
    "skewed means": skewed,
    "clusters of five": of_five,
}


def truth_of(name: Truth, runs: int) -> Values:
    """The true values: all alike, half of the runs far better, or all different."""
    if name == "equal":
        return np.zeros(runs)
    if name == "two levels":
        return np.arange(runs, dtype=np.float64) % 2
    return np.linspace(-1, 1, runs, dtype=np.float64)


def ranked(answers: Answers) -> list[Rank]:
    """The ranks of runs, by the tests of each two."""
    scores, clusters = answers
    runs = range(scores.shape[1])
    pairs = list(combinations(runs, 2))
    tests = []
    for first, second in pairs:
        part = part_of(scores[:, first], scores[:, second], clusters)
        tests.append(compare_means([part], math.inf))

    values = [1.0 if test.p is None else test.p for test in tests]
    adjusted = corrected(values, "holm")
    surely: set[Order] = set()
    for pair, test, value in zip(pairs, tests, adjusted, strict=True):
        if value >= ALPHA:
            continue
        first, second = pair
        if test.difference > 0:
            surely.add((second, first))
        elif test.difference < 0:
            surely.add((first, second))
    means_of_runs = scores.mean(axis=0)
    return ranks(means_of_runs.tolist(), surely)


def is_held(truth: Values, found: Sequence[Rank]) -> bool:
    """Whether the intervals hold all true ranks of all runs."""
    for own, rank in zip(truth, found, strict=True):
        better = np.count_nonzero(truth > own)
        worse = np.count_nonzero(truth < own)
        first, last = 1 + better, len(truth) - worse
        low, high = rank.ci95
        if low > first or high < last:
            return False
    return True


class Cell(NamedTuple):
    """One kind of evaluation that is simulated."""

    runs: int
    clusters: int
    kind: str
    truth: Truth

    def coverage(self, simulations: int) -> float:
        """The share of evaluations whose intervals of ranks all hold."""
        name = f"{self.runs} {self.clusters} {self.kind} {self.truth}"
        seed = zlib.crc32(name.encode())
        random = np.random.default_rng(seed)
        truth = truth_of(self.truth, self.runs)
        make = KINDS[self.kind]
        held = 0
        for _ in range(simulations):
            answers = make(random, truth, self.clusters)
            held += is_held(truth, ranked(answers))
        return held / simulations

    @property
    def is_ranked(self) -> bool:
        """False where no test could find anything, so that no interval is printed."""
        tests = self.runs * (self.runs - 1) / 2
        least = 2.0 ** (1 - self.clusters)
        if self.kind == "shares":
            all_won = ScoreTest(won=self.clusters, lost=0, pairs=self.clusters)
            least = two_sided(all_won)
        return tests * least < ALPHA

    def goal(self, simulations: int) -> float:
        share = 0.90 if self.clusters < FEW else 0.93
        variance = share * (1 - share) / simulations
        return share - 3 * math.sqrt(variance)


def cells(runs: int, sizes: Sequence[int] = SIZES) -> Iterator[Cell]:
    for clusters in sizes:
        for kind in KINDS:
            for truth in TRUTHS:
                cell = Cell(runs, clusters, kind, truth)
                if cell.is_ranked:
                    yield cell


def figures(quick: bool) -> Iterator[Figure]:
    """The worst cell for each number of runs and of clusters."""
    for runs, most in SIMULATIONS.items():
        simulations = most // 10 if quick else most
        for clusters in SIZES:
            found: dict[Cell, float] = {}
            for cell in cells(runs, [clusters]):
                found[cell] = cell.coverage(simulations)
            if not found:
                continue
            worst = min(found, key=lambda cell: found[cell])
            average = sum(found.values()) / len(found)
            yield Figure(
                f"{runs} runs, {clusters} clusters, all true ranks held",
                100 * found[worst],
                round(100 * worst.goal(simulations), 1),
                " %",
                at_least=True,
                note=f"{worst.kind}, {worst.truth}; on average {100 * average:.1f} %",
            )
