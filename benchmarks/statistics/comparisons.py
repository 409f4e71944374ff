"""How often comparisons of two runs are right, over simulated pairs whose truth is
known.

Each kind of data is made by a known rule. Counted are the 95 % intervals that hold the
true difference, the equal runs that are called different, the gates that let a run
pass which is exactly as bad as they allow, and the lines whose p and interval
contradict each other. A number without an interval has a reason, and is left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.measuring import Figure
from benchmarks.statistics.paired_data import (
    Draw,
    Random,
    bounded,
    exponential,
    names_of,
    nearly_equal,
    normal,
    part_of,
    rare,
    repeats,
    right_or_wrong,
    sizes_of,
    skew,
)
from mmeval.aggregate.aggregators import median
from mmeval.aggregate.resampling import Values
from mmeval.aggregate.scores import Scores
from mmeval.comparison.paired.difference_test import two_sided
from mmeval.comparison.statistics import (
    LEVEL,
    PairedTest,
    compare_by_draws,
    compare_means,
)

SIMULATIONS = 1_000
INTERVALS_EVERY = 10
"""Of so many simulations one has its interval made, which takes longest; the others are
asked for the p of the true difference, which is the same."""
NOISE = 2.6
"""Standard errors that a count of simulations may be off: of a hundred cells, one is
by more."""
SMALL = 20
"""Clusters below which the goal is a lower one."""


@dataclass(frozen=True)
class Cell:
    """One kind of data in one size. ``truth`` is the true difference of the runs,
    ``margin`` that of a gate which allows just that, if there is one."""

    name: str
    clusters: int
    compare: Callable[[Random], PairedTest | None]
    truth: float = 0.0
    margin: float | None = None


@dataclass
class Count:
    """What came of the simulations of a cell."""

    simulations: int = 0
    intervals: int = 0
    held: int = 0
    alarms: int = 0
    contradictions: int = 0
    passed: int = 0
    failed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def coverage(self) -> float:
        if not self.intervals:
            return math.nan
        return self.held / self.intervals


def simulate(cell: Cell, simulations: int) -> Count:
    count = Count()
    seed = 7919 * cell.clusters + sum(map(ord, cell.name))
    random = np.random.default_rng(seed)
    for number in range(simulations):
        test = cell.compare(random)
        count.simulations += 1
        if test is None:
            continue
        count.alarms += test.p is not None and test.p < LEVEL
        if test.why or test.evidence is None:
            count.reasons[test.why] += 1
            count.contradictions += not test.why
            continue

        count.intervals += 1
        is_held = two_sided(test.evidence, cell.truth) >= LEVEL
        count.held += is_held
        if number % INTERVALS_EVERY == 0:
            count.contradictions += _contradicts(test, cell.truth, is_held=is_held)
        if cell.margin is not None:
            count.passed += _passes(test, cell.margin)
            count.failed += _fails(test, cell.margin)
    return count


def _passes(test: PairedTest, margin: float) -> bool:
    """As the gate ``--fail_unless_within`` asks."""
    p = test.one_sided_p_with_unseen(-margin, above=False)
    return p < LEVEL / 2


def _fails(test: PairedTest, margin: float) -> bool:
    """As the gate ``--fail_if_worse`` asks."""
    is_beyond = test.difference < -margin
    return is_beyond and test.p_beyond(-margin, above=True) < LEVEL


def _contradicts(test: PairedTest, truth: float, *, is_held: bool) -> bool:
    """Whether the printed interval says another thing than the p, or than the test of
    the true difference."""
    if test.ci95 is None or test.p is None:
        return True
    low, high = test.ci95
    is_find = test.p < LEVEL
    holds_none = low <= 0 <= high
    if is_find == holds_none:
        return True

    # the last digits of an end are those of the search for it
    reach = 1e-9 * max(1.0, high - low)
    if is_held:
        return not low - reach <= truth <= high + reach
    return low + reach <= truth <= high - reach


# cells


def of_mean(
    name: str,
    kind: str,
    clusters: int,
    draw: Draw,
    *,
    width: float,
    truth: float = 0.0,
    margin: float | None = None,
) -> Cell:
    """A cell of one mean."""
    sizes = sizes_of(kind, clusters)
    names = names_of(sizes)
    places = np.repeat(np.arange(clusters), sizes)

    def compare(random: Random) -> PairedTest:
        a, b = draw(random, places)
        return compare_means([part_of(a, b, names)], width)

    name = f"{name}, {kind}, {clusters}"
    return Cell(name, clusters, compare, truth, margin)


def of_nearly_equal(clusters: int, lost: float, spread: float) -> Cell:
    return of_mean(
        f"{lost:.0%} lose all, others apart by {spread}",
        "single",
        clusters,
        nearly_equal(lost, spread),
        width=1.0,
        truth=-lost,
        margin=lost,
    )


def of_group(sizes: Sequence[int], share: float) -> Cell:
    """Tasks of these sizes, one trial a cluster, right or wrong, with equal shares."""

    def compare(random: Random) -> PairedTest:
        parts = []
        for task, size in enumerate(sizes):
            luck = random.random((2, size))
            a, b = (luck < share).astype(np.float64)
            names = names_of([1] * size, f"{task}:")
            parts.append(part_of(a, b, names, share=1 / len(sizes)))
        return compare_means(parts, 1.0)

    listed = ", ".join(map(str, sizes))
    return Cell(f"group of {listed}, {share} right", sum(sizes), compare)


def of_median(clusters: int, draw: str, shift: float) -> Cell:
    """Medians of two runs; the second one's scores are higher by a ``shift``."""

    def column(random: Random, ease: Values, better: float) -> Scores:
        if draw == "normal":
            values = ease + random.normal(size=clusters)
        else:
            values = ease + random.exponential(size=clusters)
        scores = Scores()
        for place, value in enumerate(values):
            scores.add_value(f"s{place}", 0, float(value) + better)
        return scores

    def compare(random: Random) -> PairedTest | None:
        ease = random.random(clusters)
        a = column(random, ease, 0.0)
        b = column(random, ease, shift)
        return compare_by_draws(a, b, median, {}, math.inf)

    name = f"medians, {draw}, apart by {shift}, {clusters}"
    return Cell(name, clusters, compare, shift)


# families of cells


def shares() -> Iterator[Cell]:
    """Some of those that ``right_or_wrong`` sums."""
    for clusters in (8, 20, 50, 200, 1_000):
        for share, disagree in ((0.5, 0.4), (0.9, 0.1), (0.98, 0.02)):
            name = f"{disagree} differ"
            draw = right_or_wrong(share, disagree)
            yield of_mean(name, "single", clusters, draw, width=1.0)


def means() -> Iterator[Cell]:
    kinds: Sequence[tuple[str, Draw, float, float]] = (
        ("normal", normal(0.0), math.inf, 0.0),
        ("bounded", bounded, 1.0, 0.0),
        ("skew", skew, 1.0, 8 / 9 - 1),
        ("exponential", exponential, math.inf, 0.0),
    )
    for clusters in (6, 8, 12, 20, 50, 200):
        for name, draw, width, truth in kinds:
            yield of_mean(
                name,
                "single",
                clusters,
                draw,
                width=width,
                truth=truth,
            )


def of_clusters() -> Iterator[Cell]:
    alike = "alike in clusters"
    for clusters in (2, 6, 8, 12, 20, 50, 100):
        for kind in ("five each", "1 to 20", "one with half"):
            yield of_mean("normal", kind, clusters, normal(0.3), width=math.inf)
            yield of_mean(alike, kind, clusters, normal(1.0), width=math.inf)
            yield of_mean("repeats", kind, clusters, repeats, width=1.0)


def of_rare() -> Iterator[Cell]:
    for clusters in (20, 50, 100, 300):
        for kind in ("single", "1 to 20", "one with half"):
            for size, mean_size in (("all", 1.0), ("parts", 0.5)):
                whole = size == "all"
                yield of_mean(
                    f"2 % win, 2 % lose {size}",
                    kind,
                    clusters,
                    rare(0.02, 0.02, whole=whole),
                    width=1.0,
                )
                yield of_mean(
                    f"2 % lose {size}",
                    kind,
                    clusters,
                    rare(0.0, 0.02, whole=whole),
                    width=1.0,
                    truth=-0.02 * mean_size,
                )


def of_unseen() -> Iterator[Cell]:
    """Losses that are likely not among the samples."""
    for clusters in (8, 12, 20, 30, 50, 100, 200):
        for lost in (0.01, 0.02, 0.05):
            for spread in (0.01, 0.05, 0.1, 0.15, 0.2):
                yield of_nearly_equal(clusters, lost, spread)


def groups() -> Iterator[Cell]:
    shapes: Sequence[Sequence[int]] = (
        (1, 20, 20, 20),
        (1, 1, 1, 30),
        (8, 24),
        (1, 50, 200),
        (3,) * 10,
    )
    for sizes in shapes:
        for share in (0.5, 0.9):
            yield of_group(sizes, share)


def medians() -> Iterator[Cell]:
    for clusters in (5, 6, 8, 12, 20, 50):
        for draw in ("normal", "exponential"):
            for shift in (0.0, 2.0):
                yield of_median(clusters, draw, shift)


def gates() -> Iterator[Cell]:
    """Those of right and wrong answers are summed by ``right_or_wrong``."""
    for clusters in (20, 50, 100, 200, 500, 1_000):
        for spread in (0.0, 0.01, 0.1):
            yield of_nearly_equal(clusters, 0.02, spread)
        yield of_mean(
            "normal, margin",
            "single",
            clusters,
            normal(0.0, shift=-0.1),
            width=math.inf,
            truth=-0.1,
            margin=0.1,
        )


FAMILIES: dict[str, Callable[[], Iterator[Cell]]] = {
    "right or wrong": shares,
    "means": means,
    "clusters": of_clusters,
    "rare": of_rare,
    "unseen losses": of_unseen,
    "groups": groups,
    "medians": medians,
    "gates": gates,
}

# figures


@dataclass(frozen=True)
class Simulated:
    """A cell with what came of it."""

    cell: Cell
    count: Count

    @property
    def coverage(self) -> float:
        """The share of intervals that hold the truth, at most as far as chance may
        have lowered it."""
        share = self.count.coverage
        error = _error(max(share * (1 - share), 1e-4), self.count.intervals)
        return min(1.0, share + NOISE * error)

    def rate(self, which: str, goal: float) -> float:
        """The share of simulations that ended so, at least as far as chance may have
        raised it."""
        share = self.share(which)
        error = _error(goal * (1 - goal), self.count.simulations)
        return max(0.0, share - NOISE * error)

    def share(self, which: str) -> float:
        seen: int = getattr(self.count, which)
        return seen / self.count.simulations


def _error(variance: float, simulations: int) -> float:
    return math.sqrt(variance / simulations)


def figures(quick: bool) -> Iterator[Figure]:
    simulations = SIMULATIONS // 10 if quick else SIMULATIONS
    contradictions = 0
    for family, cells in FAMILIES.items():
        simulated = []
        for cell in cells():
            count = simulate(cell, simulations)
            contradictions += count.contradictions
            simulated.append(Simulated(cell, count))

        few = [one for one in simulated if one.cell.clusters < SMALL]
        many = [one for one in simulated if one.cell.clusters >= SMALL]
        if few:
            yield _lowest(f"intervals, {family}, below {SMALL}", few, 0.90)
        yield _lowest(f"intervals, {family}", many, 0.93)

        if family == "gates":
            yield _highest("gates passed", simulated, "passed", 0.03)
            yield _highest("gates failed", simulated, "failed", 0.03)
        equal = [one for one in simulated if not one.cell.truth]
        if equal:
            yield _highest(f"false alarms, {family}", equal, "alarms", 0.06)
    yield Figure("p against interval", contradictions, 0)


def _lowest(name: str, simulated: Sequence[Simulated], goal: float) -> Figure:
    known = [one for one in simulated if one.count.intervals]
    worst = min(known, key=lambda one: one.coverage)
    return Figure(
        name,
        100 * worst.coverage,
        100 * goal,
        " %",
        at_least=True,
        note=f"{worst.cell.name}: {worst.count.coverage:.1%}",
    )


def _highest(
    name: str,
    simulated: Sequence[Simulated],
    which: str,
    goal: float,
) -> Figure:
    worst = max(simulated, key=lambda one: one.share(which))
    return Figure(
        name,
        100 * worst.rate(which, goal),
        100 * goal,
        " %",
        note=f"{worst.cell.name}: {worst.share(which):.1%}",
    )
