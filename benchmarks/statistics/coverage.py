"""How often a printed 95 % interval contains the truth, for numbers made by known
rules.

    python -m benchmarks coverage             # the worst cell of each kind
    python -m benchmarks.statistics.coverage  # every cell (or of some kinds, by name)

A cell is a kind of data and a size. Below 20 clusters the goal is 90 %, else 93 %.
What has no interval is not counted; a cell says how often there was one.
"""

# ruff: noqa: B023  every draw is made before its loop goes on

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.measuring import Figure
from mmeval.aggregate.aggregators import macro_mean, mean, median
from mmeval.aggregate.combination import mean_of
from mmeval.aggregate.intervals import sureness_of_terms
from mmeval.aggregate.scores import Averaged, ClusterSums, Scores
from mmeval.aggregate.statistics import Interval
from mmeval.aggregate.summary import combine, summarise
from mmeval.aggregate.terms import scaled, term_of_sums
from mmeval.records.evidence import Term
from mmeval.records.score import Result

Random = np.random.Generator
Values: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]

SEED = 40
DRAWS = 2000
QUICK_DRAWS = 300
GOAL, SMALL_GOAL, SMALL = 93.0, 90.0, 20
SHARE: Interval = (0.0, 1.0)
ANY: Interval = (-math.inf, math.inf)


class Cell(NamedTuple):
    """A kind of data of one size, and the share of its intervals that contain the
    truth, in percent. ``printed`` is the share of evaluations with an interval."""

    kind: str
    size: str
    clusters: float
    covered: float
    printed: float

    @property
    def goal(self) -> float:
        return SMALL_GOAL if self.clusters < SMALL else GOAL


Draw: TypeAlias = Callable[[Random], "Interval | None"]


def cell(
    kind: str, size: str, clusters: float, truth: float, draws: int, draw: Draw
) -> Cell:
    """Simulate a cell."""
    random = np.random.default_rng(SEED)
    intervals = [draw(random) for _ in range(draws)]
    return of_intervals(kind, size, clusters, truth, intervals)


def of_intervals(
    kind: str,
    size: str,
    clusters: float,
    truth: float,
    intervals: Sequence[Interval | None],
) -> Cell:
    known = [interval for interval in intervals if interval is not None]
    inside = sum(low - 1e-12 <= truth <= high + 1e-12 for low, high in known)
    covered = 100 * inside / len(known) if known else math.nan
    return Cell(kind, size, clusters, covered, 100 * len(known) / len(intervals))


# what one evaluation comes to


@cache
def names_of(count: int, prefix: str) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def sums(totals: Values, counts: Counts, prefix: str = "c") -> ClusterSums:
    names = names_of(len(totals), prefix)
    return ClusterSums(names, array("d", totals), array("d", counts.astype(float)))


def term(
    totals: Values, counts: Counts, range: Interval = SHARE, prefix: str = "c"
) -> Term:
    found = term_of_sums(sums(totals, counts, prefix), range)
    assert found is not None
    return found


def of_means(terms: Sequence[Term]) -> Interval | None:
    """The interval of the unweighted mean of some means."""
    shared = scaled(terms, 1 / len(terms))
    value = math.fsum(term.share * term.value for term in shared)
    return sureness_of_terms(value, shared).ci95


def ones(count: int) -> Counts:
    return np.ones(count, dtype=np.int64)


# shares of right answers


def shares(sizes: Sequence[int], chances: Sequence[float]) -> Iterator[Cell]:
    """One trial a cluster: the coverage itself, without draws."""
    for size in sizes:
        intervals: dict[int, Interval] = {}
        for chance in chances:
            found = np.arange(size + 1)
            weights = stats.binom.pmf(found, size, chance)
            covered = 0.0
            for right in found[weights > 1e-9]:
                if right not in intervals:
                    values = np.repeat([1.0, 0.0], [right, size - right])
                    interval = of_means([term(values, ones(size))])
                    assert interval is not None
                    intervals[right] = interval
                low, high = intervals[right]
                if low - 1e-12 <= chance <= high + 1e-12:
                    covered += weights[right]
            kind = f"share of {chance:g}"
            yield Cell(kind, f"{size} samples", size, 100 * covered, 100.0)


# means

BOUNDED: dict[str, tuple[Callable[[Random, int], Values], float]] = {
    "beta(8, 1)": (lambda random, n: random.beta(8, 1, n), 8 / 9),
    "beta(.5, .5)": (lambda random, n: random.beta(0.5, 0.5, n), 0.5),
    "beta(2, 5)": (lambda random, n: random.beta(2, 5, n), 2 / 7),
    "four in five whole": (
        lambda random, n: np.where(random.random(n) < 0.8, 1.0, random.random(n)),
        0.9,
    ),
    "19 in 20 whole": (
        lambda random, n: np.where(random.random(n) < 0.95, 1.0, random.random(n)),
        0.975,
    ),
    "nine in ten .8, else 0": (
        lambda random, n: np.where(random.random(n) < 0.9, 0.8, 0.0),
        0.72,
    ),
    "five grades, skewed": (
        lambda random, n: random.choice(
            [0, 0.25, 0.5, 0.75, 1], p=[0.03, 0.03, 0.04, 0.2, 0.7], size=n
        ),
        0.8775,
    ),
}
UNBOUNDED: dict[str, tuple[Callable[[Random, int], Values], float]] = {
    "normal": (lambda random, n: random.normal(size=n), 0.0),
    "Student's, five degrees": (lambda random, n: random.standard_t(5, size=n), 0.0),
    "exponential": (lambda random, n: random.exponential(size=n), 1.0),
    "gamma(4)": (lambda random, n: random.gamma(4, size=n), 4.0),
}


def means(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    for kinds, range in ((BOUNDED, SHARE), (UNBOUNDED, ANY)):
        for kind, (values, truth) in kinds.items():
            for size in sizes:

                def draw(random: Random) -> Interval | None:
                    return of_means([term(values(random, size), ones(size), range)])

                yield cell(f"mean, {kind}", f"{size} samples", size, truth, draws, draw)


# clusters


def cluster_sizes(kind: str, count: int) -> Counts:
    if kind == "equal":
        return np.full(count, 5, dtype=np.int64)
    if kind == "1 to 20":
        return np.linspace(1, 20, count).round().astype(np.int64)
    one_holds_half = [4 * (count - 1)] + [4] * (count - 1)
    return np.asarray(one_holds_half, dtype=np.int64)


def rights(random: Random, counts: Counts, chance: float, likeness: float) -> Values:
    """How many trials of each cluster are right; ``likeness`` is the correlation within
    a cluster, 0 to 1."""
    if likeness == 1:
        return np.where(random.random(len(counts)) < chance, counts, 0.0)
    if likeness == 0:
        return random.binomial(counts, chance).astype(float)
    weight = (1 - likeness) / likeness
    ease = random.beta(chance * weight, (1 - chance) * weight, len(counts))
    return random.binomial(counts, ease).astype(float)


def clustered(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    for kind in ("equal", "1 to 20", "one holds half"):
        for size in sizes:
            counts = cluster_sizes(kind, size)
            effective = 1 / float(((counts / counts.sum()) ** 2).sum())
            named = f"{size} clusters, {kind}"
            for likeness in (0.0, 0.3, 1.0):
                for chance in (0.5, 0.9, 0.98):

                    def draw(random: Random) -> Interval | None:
                        right = rights(random, counts, chance, likeness)
                        return of_means([term(right, counts)])

                    what = f"share of {chance:g}, alike {likeness:g}"
                    yield cell(what, named, effective, chance, draws, draw)

                def draw_normal(random: Random) -> Interval | None:
                    common = counts * math.sqrt(likeness) * random.normal(size=size)
                    own = np.sqrt(counts * (1 - likeness)) * random.normal(size=size)
                    return of_means([term(common + own, counts, ANY)])

                what = f"normal, alike {likeness:g}"
                yield cell(what, named, effective, 0.0, draws, draw_normal)


def repeated(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    """Samples that are answered four times, easy ones and hard ones."""
    for size in sizes:
        counts = np.full(size, 4)
        for chance in (0.5, 0.8, 0.95):

            def draw(random: Random) -> Interval | None:
                right = rights(random, counts, chance, 0.5)
                return of_means([term(right, counts)])

            what = f"four repeats, share of {chance:g}"
            yield cell(what, f"{size} samples", size, chance, draws, draw)


# groups

GROUPS: dict[str, Sequence[int]] = {
    "ISG-Bench, 8 categories": (50, 100, 30, 200, 20, 40, 150, 15),
    "UEval, 8 tasks": (125,) * 8,
    "MMMG, 49 tasks": (20,) * 49,
    "MME-Unify, 14 tasks": (40,) * 13 + (8,),
    "UniM, 30 domains": tuple(range(8, 68, 2)),
    "49 tasks of 4": (4,) * 49,
    "14 tasks of 5": (5,) * 14,
    "10 tasks of 2": (2,) * 10,
    "8 tasks of 8": (8,) * 8,
    "2 tasks of 20": (20, 20),
    "tasks of 5 and 1,000": (5, 1000),
    "tasks of 2, 50, 50": (2, 50, 50),
    "tasks of 8, 300, 31": (8, 300, 31),
    "tasks of 3 and 5": (3, 5),
}


def mixes(count: int) -> dict[str, list[float]]:
    """The chances of right answers in the tasks of a group."""
    spread = np.linspace(0.2, 0.98, count).tolist()
    return {
        "all .5": [0.5] * count,
        "all .9": [0.9] * count,
        "all .98": [0.98] * count,
        ".2 to .98": spread,
        ".98 to .2": spread[::-1],
        ".05 and .95": [0.95 if place % 2 else 0.05 for place in range(count)],
        "first .95, others .5": [0.95] + [0.5] * (count - 1),
        "first .92, others 0": [0.92] + [0.0] * (count - 1),
    }


def grouped(names: Sequence[str], draws: int) -> Iterator[Cell]:
    for name in names:
        sizes = GROUPS[name]
        clusters = sum(sizes)
        for mix, chances in mixes(len(sizes)).items():

            def draw(random: Random) -> Interval | None:
                members = enumerate(zip(sizes, chances, strict=True))
                return of_means(
                    [
                        term(
                            (random.random(size) < chance).astype(float),
                            ones(size),
                            prefix=f"{task}/",
                        )
                        for task, (size, chance) in members
                    ]
                )

            truth = math.fsum(chances) / len(chances)
            yield cell(f"group, {mix}", name, clusters, truth, draws, draw)
        for kind, (values, truth) in {**BOUNDED, **UNBOUNDED}.items():
            range = SHARE if kind in BOUNDED else ANY

            def draw_means(random: Random) -> Interval | None:
                return of_means(
                    [
                        term(values(random, size), ones(size), range, f"{task}/")
                        for task, size in enumerate(sizes)
                    ]
                )

            yield cell(f"group, {kind}", name, clusters, truth, draws, draw_means)


# numbers over the same samples


def column(values: Values, *, labels: str = "", first: int = 0) -> Scores:
    scores = Scores(range=SHARE)
    for place, value in enumerate(values):
        named = {"level": labels[place % len(labels)]} if labels else None
        number = place // len(labels) if labels else place
        scores.add_value(f"s{first + number}", 0, float(value), labels=named)
    return scores


def result(scores: Scores, task: str = "t") -> Result:
    return summarise(task, "m", scores)


def together(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    """Three numbers of each sample that are right or wrong together."""
    for size in sizes:
        for chance in (0.5, 0.9):

            def three(random: Random) -> Values:
                ease = random.beta(chance, 1 - chance, size)
                return (random.random((3, size)) < ease).astype(float)

            def levels(random: Random) -> Interval | None:
                scores = column(three(random).T.ravel(), labels="abc")
                return summarise("t", "m", scores, macro_mean, {"by": "level"}).ci95

            def group(random: Random) -> Interval | None:
                members = [
                    result(column(values), str(task))
                    for task, values in enumerate(three(random))
                ]
                return combine("g", "m", members, weight_by_size=False).ci95

            def numbers(random: Random) -> Interval | None:
                columns = [column(values) for values in three(random)]
                parts = [Averaged(result(own), own, mean, {}) for own in columns]
                return mean_of("t", "m", parts, skip=True).ci95

            for what, draw in (
                ("macro mean over shared samples", levels),
                ("group of tasks over the same samples", group),
                ("mean of three numbers", numbers),
            ):
                kind = f"{what}, {chance:g}"
                yield cell(kind, f"{size} samples", size, chance, draws, draw)


# medians, bootstrapped means, losses


def others(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    medians = {
        "normal": 0.0,
        "exponential": math.log(2),
        "beta(8, 1)": 0.5 ** (1 / 8),
    }
    everything = {**BOUNDED, **UNBOUNDED}
    for kind, truth in medians.items():
        for size in sizes:

            def draw_median(random: Random) -> Interval | None:
                values = everything[kind][0](random, size)
                return median(column(values)).ci95

            yield cell(
                f"median, {kind}", f"{size} samples", size, truth, draws, draw_median
            )
    for size in sizes:

        def repeats(random: Random) -> Interval | None:
            common = np.repeat(random.normal(size=size), 4)
            scores = Scores()
            for place, value in enumerate(common + random.normal(size=4 * size)):
                scores.add_value(f"s{place // 4}", place % 4, float(value))
            return median(scores).ci95

        kind = "median, four repeats"
        yield cell(kind, f"{size} samples", size, 0.0, draws, repeats)


def right_or_wrong(chance: float, random: Random, count: int) -> Values:
    return (random.random(count) < chance).astype(float)


def bootstrapped(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    kinds = {name: BOUNDED[name] for name in ("beta(8, 1)", "beta(2, 5)")} | {
        "normal": UNBOUNDED["normal"],
        "exponential": UNBOUNDED["exponential"],
    }
    for chance in (0.5, 0.9, 0.98):
        kinds[f"share of {chance:g}"] = (partial(right_or_wrong, chance), chance)
    for kind, (values, truth) in kinds.items():
        for size in sizes:

            def draw(random: Random) -> Interval | None:
                scores = column(values(random, size))
                scores.range = ANY if kind in UNBOUNDED else SHARE
                options = {"interval": "bootstrap"}
                found = summarise("t", "m", scores, mean, options, bootstrap_iters=400)
                return found.ci95

            kind_ = f"bootstrapped mean, {kind}"
            yield cell(kind_, f"{size} samples", size, truth, draws, draw)


def lossy(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    """One trial in ten is lost, and would have been wrong (or right): the worst for an
    interval of the others."""
    for size in sizes:
        for chance in (0.5, 0.9):
            for lost_one in (0.0, 1.0):

                def draw(random: Random) -> Interval | None:
                    right = random.random(size) < chance
                    is_lost = random.random(size) < 0.1
                    scores = Scores(range=SHARE)
                    for place in range(size):
                        if is_lost[place]:
                            scores.add(f"s{place}", 0, "failed")
                        else:
                            scores.add_value(f"s{place}", 0, float(right[place]))
                    return result(scores).bounds_ci95

                truth = 0.9 * chance + 0.1 * lost_one
                kind = f"share of {chance:g}, a tenth lost that is {lost_one:g}"
                yield cell(kind, f"{size} samples", size, truth, draws, draw)


CHANCES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
SIZES = (8, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000)
FEW_SIZES = (2, 3, 5, 8, 12, 20, 50, 100)


def cells(draws: int) -> dict[str, Iterator[Cell]]:
    fewer = max(100, draws // 2)
    return {
        "shares": shares(SIZES, CHANCES),
        "means": means((2, 3, 5, 8, 12, 20, 30, 50, 100, 200, 500), draws),
        "clusters": clustered(FEW_SIZES, draws),
        "repeats": repeated((5, 10, 20, 50, 200), draws),
        "groups": grouped(tuple(GROUPS), fewer),
        "same samples": together((10, 20, 50, 100), fewer),
        "medians": others((5, 6, 8, 10, 15, 20, 30, 50, 100, 200), draws),
        "bootstrapped": bootstrapped((5, 10, 15, 20, 30, 50, 100), fewer),
        "losses": lossy((10, 20, 50, 100), fewer),
    }


def margin(cell: Cell) -> float:
    return cell.covered - cell.goal if math.isfinite(cell.covered) else math.inf


def figures(quick: bool) -> Iterator[Figure]:
    for name, of_kind in cells(QUICK_DRAWS if quick else DRAWS).items():
        found = list(of_kind)
        worst = min(found, key=margin)
        note = f"worst of {len(found)} cells: {worst.kind}, {worst.size}"
        yield Figure(
            f"coverage, {name}", worst.covered, worst.goal, " %", True, note=note
        )


def main(names: Sequence[str]) -> None:
    for name, of_kind in cells(DRAWS).items():
        if names and name not in names:
            continue
        for found in of_kind:
            mark = "" if margin(found) >= 0 else "  BELOW"
            print(
                f"{found.kind:45} {found.size:35} {found.covered:6.1f} % "
                f"(printed {found.printed:3.0f} %){mark}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
