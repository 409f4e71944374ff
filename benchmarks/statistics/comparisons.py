"""How often comparisons of two runs are right, over simulated pairs whose truth is
known.

Each kind of data is made by a known rule. Counted are the 95 % intervals that hold the
true difference, the equal runs that are called different, the gates that let a run
pass which is exactly as bad as they allow, and the lines whose p and interval
contradict each other. A number without an interval has a reason, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Figure
from mmeval.aggregate.aggregators import median
from mmeval.aggregate.scores import Scores
from mmeval.comparison.paired.contributions import Part
from mmeval.comparison.paired.evidence import two_sided
from mmeval.comparison.statistics import LEVEL, Paired, compare_by_draws, compare_means

SIMULATIONS = 1_000
INTERVALS_EVERY = 10
"""Of so many simulations one has its interval made, which takes longest; the others are
asked for the p of the true difference, which is the same."""
NOISE = 2.6
"""Standard errors that a count of simulations may be off: of a hundred cells, one is
by more."""

Random = np.random.Generator
Values = NDArray[np.float64]


Draw = Callable[[Random, NDArray[np.intp]], tuple[Values, Values]]
"""The scores of two runs; it is given the cluster of each trial."""


@dataclass(frozen=True)
class Cell:
    """One kind of data in one size. ``truth`` is the true difference of the runs,
    ``margin`` that of a gate which allows just that, if there is one."""

    name: str
    clusters: int
    compare: Callable[[Random], Paired | None]
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
    reasons: dict[str, int] = field(default_factory=dict)

    @property
    def coverage(self) -> float:
        return self.held / self.intervals if self.intervals else math.nan


def simulate(cell: Cell, simulations: int) -> Count:
    count = Count()
    random = np.random.default_rng(sum(map(ord, cell.name)) + 7919 * cell.clusters)
    for number in range(simulations):
        found = cell.compare(random)
        count.simulations += 1
        if found is None:
            continue
        is_seen = found.p is not None and found.p < LEVEL
        count.alarms += is_seen
        if found.why or found.evidence is None:
            count.reasons[found.why] = count.reasons.get(found.why, 0) + 1
            count.contradictions += not found.why
            continue
        count.intervals += 1
        is_held = two_sided(found.evidence, cell.truth) >= LEVEL
        count.held += is_held
        if number % INTERVALS_EVERY == 0:
            count.contradictions += _contradicts(found, cell.truth, is_held=is_held)
        if cell.margin is not None:
            # as the gates --fail_unless_within and --fail_if_worse ask
            not_worse = found.doubt_of_unseen(-cell.margin, above=False)
            count.passed += not_worse < LEVEL / 2
            is_beyond = found.difference < -cell.margin
            p = found.p_beyond(-cell.margin, above=True)
            count.failed += is_beyond and p < LEVEL
    return count


def _contradicts(found: Paired, truth: float, *, is_held: bool) -> bool:
    """Whether the printed interval says another thing than the p, or than the test of
    the true difference."""
    if found.ci95 is None or found.p is None:
        return True
    low, high = found.ci95
    # the last digits of an end are those of the search for it
    reach = 1e-9 * max(1.0, high - low)
    is_inside = low - reach <= truth <= high + reach
    is_outside = not low + reach <= truth <= high - reach
    agrees = is_inside if is_held else is_outside
    return (found.p < LEVEL) == (low <= 0 <= high) or not agrees


def names_of(sizes: Sequence[int], task: str = "") -> list[str]:
    return [f"{task}{place}" for place, size in enumerate(sizes) for _ in range(size)]


def part_of(a: Values, b: Values, names: Sequence[str], share: float = 1.0) -> Part:
    ones = np.ones(len(a))
    return Part(share, names, a, b, ones, ones)


def sizes_of(kind: str, clusters: int) -> list[int]:
    if kind == "single":
        return [1] * clusters
    if kind == "five each":
        return [5] * clusters
    if kind == "1 to 20":
        return [1 + 19 * place // max(1, clusters - 1) for place in range(clusters)]
    return [4 * (clusters - 1), *[4] * (clusters - 1)]


def means(
    name: str,
    kind: str,
    clusters: int,
    draw: Draw,
    width: float,
    truth: float = 0.0,
    margin: float | None = None,
) -> Cell:
    """A cell of one mean."""
    sizes = sizes_of(kind, clusters)
    names = names_of(sizes)
    places = np.repeat(np.arange(clusters), sizes)

    def compare(random: Random) -> Paired:
        return compare_means([part_of(*draw(random, places), names)], width)

    return Cell(f"{name}, {kind}, {clusters}", clusters, compare, truth, margin)


def right_or_wrong(share: float, disagree: float, truth: float = 0.0) -> Draw:
    """Pairs of which a share ``disagree`` differs; of those that do not, ``share`` are
    right in both runs."""

    def draw(random: Random, places: NDArray[np.intp]) -> tuple[Values, Values]:
        luck = random.random(len(places))
        won = luck < (disagree + truth) / 2
        lost = (luck >= (disagree + truth) / 2) & (luck < disagree)
        right = random.random(len(places)) < share
        a, b = (right & ~won) | lost, (right & ~lost) | won
        return a.astype(np.float64), b.astype(np.float64)

    return draw


def normal(within: float, shift: float = 0.0) -> Draw:
    """Differences of which a share ``within`` of the variance is that of clusters."""

    def draw(random: Random, places: NDArray[np.intp]) -> tuple[Values, Values]:
        a = random.normal(size=len(places))
        of_cluster = random.normal(size=places[-1] + 1)[places]
        own = random.normal(size=len(places))
        apart = math.sqrt(within) * of_cluster + math.sqrt(1 - within) * own
        return a, a + apart + shift

    return draw


def repeats(random: Random, places: NDArray[np.intp]) -> tuple[Values, Values]:
    """Easy clusters and hard ones, right or wrong."""
    ease = random.beta(2, 2, size=places[-1] + 1)[places]
    is_right = random.random((2, len(places))) < ease
    return is_right[0] * 1.0, is_right[1] * 1.0


def skew(random: Random, places: NDArray[np.intp]) -> tuple[Values, Values]:
    """The reference is nearly always right, the other run has some lower scores."""
    return np.ones(len(places)), random.beta(8, 1, size=len(places))


def exponential(random: Random, places: NDArray[np.intp]) -> tuple[Values, Values]:
    return np.ones(len(places)), random.exponential(size=len(places))


def bounded(random: Random, places: NDArray[np.intp]) -> tuple[Values, Values]:
    a, b = random.beta(8, 1, size=(2, len(places)))
    return a, b


def rare(won: float, lost: float, *, whole: bool) -> Draw:
    """Shares of the clusters are won and lost, by all or by a uniform part of it."""

    def draw(random: Random, places: NDArray[np.intp]) -> tuple[Values, Values]:
        luck = random.random(places[-1] + 1)[places]
        size = np.ones(len(places)) if whole else random.random(len(places))
        a = (luck < lost) * size
        b = ((luck >= lost) & (luck < lost + won)) * size
        return a, b

    return draw


def nearly_equal(lost: float, spread: float) -> Draw:
    """Scores that hardly differ, but for a share of pairs that lose everything."""

    def draw(random: Random, places: NDArray[np.intp]) -> tuple[Values, Values]:
        is_lost = random.random(len(places)) < lost
        a = np.where(is_lost, 1.0, 0.5)
        b = np.where(is_lost, 0.0, 0.5 + spread * random.normal(size=len(places)))
        return a, b

    return draw


def of_nearly_equal(clusters: int, lost: float, spread: float) -> Cell:
    return means(
        f"{lost:.0%} lose all, others apart by {spread}",
        "single",
        clusters,
        nearly_equal(lost, spread),
        width=1.0,
        truth=-lost,
        margin=lost,
    )


def group(sizes: Sequence[int], share: float, truth: float = 0.0) -> Cell:
    """Tasks of these sizes, one trial a cluster, right or wrong, with equal shares."""

    def compare(random: Random) -> Paired:
        parts = []
        for task, size in enumerate(sizes):
            luck = (random.random((2, size)) < share) * 1.0
            names = names_of([1] * size, f"{task}:")
            parts.append(part_of(luck[0], luck[1], names, 1 / len(sizes)))
        return compare_means(parts, 1.0)

    name = f"group of {', '.join(map(str, sizes))}, {share} right"
    return Cell(name, sum(sizes), compare, truth)


def medians(clusters: int, draw: str, shift: float) -> Cell:
    """Medians of two runs; the second one's scores are higher by a ``shift``."""

    def compare(random: Random) -> Paired | None:
        ease = random.random(clusters)
        columns = []
        for better in (0.0, shift):
            column = Scores()
            if draw == "normal":
                values = ease + random.normal(size=clusters)
            else:
                values = random.exponential(size=clusters) + ease
            for place, value in enumerate(values):
                column.add_value(f"s{place}", 0, float(value) + better)
            columns.append(column)
        return compare_by_draws(columns[0], columns[1], median, {}, math.inf)

    name = f"medians, {draw}, apart by {shift}, {clusters}"
    return Cell(name, clusters, compare, shift)


def shares() -> Iterator[Cell]:
    for clusters in (8, 20, 50, 200, 1_000):
        for share, disagree in ((0.5, 0.4), (0.9, 0.1), (0.98, 0.02)):
            draw = right_or_wrong(share, disagree)
            yield means(f"{disagree} differ", "single", clusters, draw, 1.0)


def of_means() -> Iterator[Cell]:
    for clusters in (6, 8, 12, 20, 50, 200):
        yield means("normal", "single", clusters, normal(0.0), math.inf)
        yield means("bounded", "single", clusters, bounded, 1.0)
        yield means("skew", "single", clusters, skew, 1.0, 8 / 9 - 1)
        yield means("exponential", "single", clusters, exponential, math.inf)


def of_clusters() -> Iterator[Cell]:
    for clusters in (2, 6, 8, 12, 20, 50, 100):
        for kind in ("five each", "1 to 20", "one with half"):
            yield means("normal", kind, clusters, normal(0.3), math.inf)
            yield means("alike in clusters", kind, clusters, normal(1.0), math.inf)
            yield means("repeats", kind, clusters, repeats, 1.0)


def of_rare() -> Iterator[Cell]:
    for clusters in (20, 50, 100, 300):
        for kind in ("single", "1 to 20", "one with half"):
            for whole in (True, False):
                size = "all" if whole else "parts"
                draw = rare(0.02, 0.02, whole=whole)
                yield means(f"2 % win, 2 % lose {size}", kind, clusters, draw, 1.0)
                draw = rare(0.0, 0.02, whole=whole)
                truth = -0.02 if whole else -0.01
                yield means(f"2 % lose {size}", kind, clusters, draw, 1.0, truth)


def of_unseen() -> Iterator[Cell]:
    """Losses that are likely not among the samples."""
    for clusters in (8, 12, 20, 30, 50, 100, 200):
        for lost in (0.01, 0.02, 0.05):
            for spread in (0.01, 0.05, 0.1, 0.15, 0.2):
                yield of_nearly_equal(clusters, lost, spread)


def groups() -> Iterator[Cell]:
    for sizes in ((1, 20, 20, 20), (1, 1, 1, 30), (8, 24), (1, 50, 200), (3,) * 10):
        for share in (0.5, 0.9):
            yield group(sizes, share)


def of_medians() -> Iterator[Cell]:
    for clusters in (5, 6, 8, 12, 20, 50):
        for draw in ("normal", "exponential"):
            for shift in (0.0, 2.0):
                yield medians(clusters, draw, shift)


def gates() -> Iterator[Cell]:
    """Those of right and wrong answers are summed by ``right_or_wrong``."""
    for clusters in (20, 50, 100, 200, 500, 1_000):
        for spread in (0.0, 0.01, 0.1):
            yield of_nearly_equal(clusters, 0.02, spread)
        draw = normal(0.0, -0.1)
        yield means("normal, margin", "single", clusters, draw, math.inf, -0.1, 0.1)


FAMILIES: dict[str, Callable[[], Iterator[Cell]]] = {
    "right or wrong": shares,
    "means": of_means,
    "clusters": of_clusters,
    "rare": of_rare,
    "unseen losses": of_unseen,
    "groups": groups,
    "medians": of_medians,
    "gates": gates,
}


def figures(quick: bool) -> Iterator[Figure]:
    simulations = SIMULATIONS // 10 if quick else SIMULATIONS
    contradictions = 0
    for family, cells in FAMILIES.items():
        counts = [(cell, simulate(cell, simulations)) for cell in cells()]
        contradictions += sum(count.contradictions for _, count in counts)
        if family == "gates":
            yield _worst("gates passed", counts, "passed", 3.0)
            yield _worst("gates failed", counts, "failed", 3.0)
            yield _lowest("intervals, gates", counts, 93.0)
            continue
        few = [one for one in counts if one[0].clusters < 20]
        many = [one for one in counts if one[0].clusters >= 20]
        for words, those, goal in ((", below 20", few, 90.0), ("", many, 93.0)):
            if those:
                yield _lowest(f"intervals, {family}{words}", those, goal)
        equal = [one for one in counts if not one[0].truth]
        if equal:
            yield _worst(f"false alarms, {family}", equal, "alarms", 6.0)
    yield Figure("p against interval", contradictions, 0)


def _lowest(name: str, counts: Sequence[tuple[Cell, Count]], goal: float) -> Figure:
    """The lowest coverage, as far as it is beyond noise."""
    known = [one for one in counts if one[1].intervals]
    cell, count = min(known, key=lambda one: one[1].coverage + _noise(one[1]))
    value = 100 * min(1.0, count.coverage + _noise(count))
    note = f"{cell.name}: {100 * count.coverage:.1f} %"
    return Figure(name, value, goal, " %", at_least=True, note=note)


def _noise(count: Count) -> float:
    share = count.coverage
    return NOISE * math.sqrt(max(share * (1 - share), 1e-4) / count.intervals)


def _worst(
    name: str, counts: Sequence[tuple[Cell, Count]], which: str, goal: float
) -> Figure:
    """The highest rate, as far as it is beyond noise."""

    def rate(one: tuple[Cell, Count]) -> tuple[float, float]:
        share = getattr(one[1], which) / one[1].simulations
        error = math.sqrt(goal / 100 * (1 - goal / 100) / one[1].simulations)
        return 100 * (share - NOISE * error), 100 * share

    worst = max(counts, key=rate)
    value, share = rate(worst)
    return Figure(
        name, max(0.0, value), goal, " %", note=f"{worst[0].name}: {share:.1f} %"
    )
