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
from mmeval.aggregate.intervals import uncertainty_of_terms
from mmeval.aggregate.resampling import Values
from mmeval.aggregate.scores import AggregatedNumber, ClusterSums, Scores
from mmeval.aggregate.statistics import Interval
from mmeval.aggregate.summary import combine, summarise
from mmeval.aggregate.terms import scaled, term_of_sums
from mmeval.records.evidence import Term
from mmeval.records.score import Result

Random = np.random.Generator
Counts: TypeAlias = NDArray[np.int64]

SEED = 40
DRAWS = 2000
QUICK_DRAWS = 300
GOAL, SMALL_GOAL, SMALL = 93.0, 90.0, 20
SHARE: Interval = (0.0, 1.0)
ANY: Interval = (-math.inf, math.inf)
REACH = 1e-12
"""An end of an interval that lies so near to the truth holds it."""


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
    kind: str,
    size: str,
    clusters: float,
    truth: float,
    draws: int,
    draw: Draw,
) -> Cell:
    """Simulate a cell."""
    random = np.random.default_rng(SEED)
    printed = 0
    inside = 0
    for _ in range(draws):
        interval = draw(random)
        if interval is not None:
            printed += 1
            inside += holds(interval, truth)
    covered = 100 * inside / printed if printed else math.nan
    return Cell(kind, size, clusters, covered, 100 * printed / draws)


def holds(interval: Interval, truth: float) -> bool:
    low, high = interval
    return low - REACH <= truth <= high + REACH


# what one evaluation comes to


@cache
def names_of(count: int, prefix: str) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def term(
    totals: Values,
    counts: Counts,
    range: Interval = SHARE,
    prefix: str = "c",
) -> Term:
    """The mean of trials that are summed by cluster."""
    sums = ClusterSums(
        names_of(len(totals), prefix),
        array("d", totals),
        array("d", counts.astype(float)),
    )
    found = term_of_sums(sums, range)
    assert found is not None
    return found


def mean_interval(
    values: Values,
    range: Interval = SHARE,
) -> Interval | None:
    """The interval of the mean of single trials."""
    return of_means([term(values, ones(len(values)), range)])


def of_means(terms: Sequence[Term]) -> Interval | None:
    """The interval of the unweighted mean of some means."""
    shared = scaled(terms, 1 / len(terms))
    values = [term.share * term.value for term in shared]
    return uncertainty_of_terms(math.fsum(values), shared).ci95


def ones(count: int) -> Counts:
    return np.ones(count, dtype=np.int64)


# shares of right answers


def shares(sizes: Sequence[int], chances: Sequence[float]) -> Iterator[Cell]:
    """One trial a cluster: the coverage itself, without draws."""
    for size in sizes:
        interval = cache(partial(share_interval, size))
        counts = np.arange(size + 1)
        for chance in chances:
            weights = stats.binom.pmf(counts, size, chance)
            covered = 0.0
            for right in np.flatnonzero(weights > 1e-9):
                if holds(interval(int(right)), chance):
                    covered += weights[right]
            yield Cell(
                f"share of {chance:g}",
                f"{size} samples",
                size,
                100 * covered,
                printed=100.0,
            )


def share_interval(size: int, right: int) -> Interval:
    values = np.repeat([1.0, 0.0], [right, size - right])
    interval = mean_interval(values)
    assert interval is not None
    return interval


# means


def mostly_whole(chance: float, random: Random, count: int) -> Values:
    """Whole with this chance, else any part of it."""
    is_whole = random.random(count) < chance
    parts = random.random(count)
    return np.where(is_whole, 1.0, parts)


def two_values(random: Random, count: int) -> Values:
    is_high = random.random(count) < 0.9
    return np.where(is_high, 0.8, 0.0)


def grades(random: Random, count: int) -> Values:
    return random.choice(
        [0, 0.25, 0.5, 0.75, 1],
        p=[0.03, 0.03, 0.04, 0.2, 0.7],
        size=count,
    )


def right_or_wrong(chance: float, random: Random, count: int) -> Values:
    is_right = random.random(count) < chance
    return is_right.astype(float)


class Rule(NamedTuple):
    """How values are made, and their true mean."""

    values: Callable[[Random, int], Values]
    mean: float


def beta(a: float, b: float) -> Rule:
    def values(random: Random, count: int) -> Values:
        return random.beta(a, b, count)

    return Rule(values, a / (a + b))


BOUNDED = {
    "beta(8, 1)": beta(8, 1),
    "beta(.5, .5)": beta(0.5, 0.5),
    "beta(2, 5)": beta(2, 5),
    "four in five whole": Rule(partial(mostly_whole, 0.8), 0.9),
    "19 in 20 whole": Rule(partial(mostly_whole, 0.95), 0.975),
    "nine in ten .8, else 0": Rule(two_values, 0.72),
    "five grades, skewed": Rule(grades, 0.8775),
}
UNBOUNDED = {
    "normal": Rule(lambda random, n: random.normal(size=n), 0.0),
    "Student's, five degrees": Rule(lambda random, n: random.standard_t(5, n), 0.0),
    "exponential": Rule(lambda random, n: random.exponential(size=n), 1.0),
    "gamma(4)": Rule(lambda random, n: random.gamma(4, size=n), 4.0),
}
EVERYTHING = {**BOUNDED, **UNBOUNDED}


def range_of(kind: str) -> Interval:
    return SHARE if kind in BOUNDED else ANY


def means(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    for kind, rule in EVERYTHING.items():
        for size in sizes:

            def draw(random: Random) -> Interval | None:
                values = rule.values(random, size)
                return mean_interval(values, range_of(kind))

            yield cell(
                f"mean, {kind}",
                f"{size} samples",
                size,
                rule.mean,
                draws,
                draw,
            )


# clusters


def cluster_sizes(kind: str, count: int) -> Counts:
    if kind == "equal":
        return np.full(count, 5, dtype=np.int64)
    if kind == "1 to 20":
        steps = np.linspace(1, 20, count)
        return steps.round().astype(np.int64)
    others = count - 1
    one_holds_half = [4 * others] + [4] * others
    return np.asarray(one_holds_half, dtype=np.int64)


def rights(
    random: Random,
    counts: Counts,
    chance: float,
    likeness: float,
) -> Values:
    """How many trials of each cluster are right; ``likeness`` is the correlation within
    a cluster, 0 to 1."""
    clusters = len(counts)
    if likeness == 1:
        is_right = random.random(clusters) < chance
        return np.where(is_right, counts, 0.0)
    if likeness == 0:
        return random.binomial(counts, chance).astype(float)
    weight = (1 - likeness) / likeness
    a, b = chance * weight, (1 - chance) * weight
    ease = random.beta(a, b, clusters)
    return random.binomial(counts, ease).astype(float)


def normal_sums(random: Random, counts: Counts, likeness: float) -> Values:
    """The sum of normal values in each cluster."""
    clusters = len(counts)
    of_cluster = math.sqrt(likeness) * random.normal(size=clusters)
    own = np.sqrt(counts * (1 - likeness)) * random.normal(size=clusters)
    added: Values = counts * of_cluster + own
    return added


def clustered(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    for kind in ("equal", "1 to 20", "one holds half"):
        for size in sizes:
            counts = cluster_sizes(kind, size)
            held = counts / counts.sum()
            effective = 1 / float((held**2).sum())
            simulated = partial(
                cell,
                size=f"{size} clusters, {kind}",
                clusters=effective,
                draws=draws,
            )
            for likeness in (0.0, 0.3, 1.0):
                for chance in (0.5, 0.9, 0.98):

                    def draw(random: Random) -> Interval | None:
                        right = rights(random, counts, chance, likeness)
                        return of_means([term(right, counts)])

                    yield simulated(
                        f"share of {chance:g}, alike {likeness:g}",
                        truth=chance,
                        draw=draw,
                    )

                def draw_normal(random: Random) -> Interval | None:
                    totals = normal_sums(random, counts, likeness)
                    return of_means([term(totals, counts, ANY)])

                yield simulated(
                    f"normal, alike {likeness:g}",
                    truth=0.0,
                    draw=draw_normal,
                )


def repeated(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    """Samples that are answered four times, easy ones and hard ones."""
    for size in sizes:
        counts = np.full(size, 4)
        for chance in (0.5, 0.8, 0.95):

            def draw(random: Random) -> Interval | None:
                right = rights(random, counts, chance, likeness=0.5)
                return of_means([term(right, counts)])

            yield cell(
                f"four repeats, share of {chance:g}",
                f"{size} samples",
                size,
                chance,
                draws,
                draw,
            )


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
    by_turns = [0.05, 0.95] * count
    return {
        "all .5": [0.5] * count,
        "all .9": [0.9] * count,
        "all .98": [0.98] * count,
        ".2 to .98": spread,
        ".98 to .2": spread[::-1],
        ".05 and .95": by_turns[:count],
        "first .95, others .5": [0.95] + [0.5] * (count - 1),
        "first .92, others 0": [0.92] + [0.0] * (count - 1),
    }


def grouped(names: Sequence[str], draws: int) -> Iterator[Cell]:
    for name in names:
        sizes = GROUPS[name]
        simulated = partial(cell, size=name, clusters=sum(sizes), draws=draws)
        for mix, chances in mixes(len(sizes)).items():

            def draw(random: Random) -> Interval | None:
                tasks = []
                for task, chance in enumerate(chances):
                    right = right_or_wrong(chance, random, sizes[task])
                    tasks.append(term(right, ones(len(right)), prefix=f"{task}/"))
                return of_means(tasks)

            truth = math.fsum(chances) / len(chances)
            yield simulated(f"group, {mix}", truth=truth, draw=draw)

        for kind, rule in EVERYTHING.items():

            def draw_means(random: Random) -> Interval | None:
                tasks = []
                for task, size in enumerate(sizes):
                    values = rule.values(random, size)
                    range = range_of(kind)
                    tasks.append(term(values, ones(size), range, f"{task}/"))
                return of_means(tasks)

            yield simulated(f"group, {kind}", truth=rule.mean, draw=draw_means)


# numbers over the same samples


def column(values: Values) -> Scores:
    scores = Scores(range=SHARE)
    for place, value in enumerate(values):
        scores.add_value(f"s{place}", 0, float(value))
    return scores


def leveled(columns: Values) -> Scores:
    """A score of each sample for each of some levels, a row a level."""
    scores = Scores(range=SHARE)
    for level, values in enumerate(columns):
        for place, value in enumerate(values):
            scores.add_value(
                f"s{place}",
                0,
                float(value),
                labels={"level": f"{level}"},
            )
    return scores


def result(scores: Scores, task: str = "t") -> Result:
    return summarise(task, "m", scores)


def macro_interval(columns: Values) -> Interval | None:
    options = {"by": "level"}
    return summarise("t", "m", leveled(columns), macro_mean, options).ci95


def group_interval(columns: Values) -> Interval | None:
    members = []
    for task, values in enumerate(columns):
        members.append(result(column(values), str(task)))
    return combine("g", "m", members, weight_by_size=False).ci95


def combined_interval(columns: Values) -> Interval | None:
    parts = []
    for values in columns:
        scores = column(values)
        parts.append(AggregatedNumber(result(scores), scores, mean, {}))
    return mean_of("t", "m", parts, skip=True).ci95


OVER_SHARED_SAMPLES = {
    "macro mean over shared samples": macro_interval,
    "group of tasks over the same samples": group_interval,
    "mean of three numbers": combined_interval,
}


def together(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    """Three numbers of each sample that are right or wrong together."""
    for size in sizes:
        for chance in (0.5, 0.9):
            for what, interval in OVER_SHARED_SAMPLES.items():

                def draw(random: Random) -> Interval | None:
                    ease = random.beta(chance, 1 - chance, size)
                    luck = random.random((3, size))
                    is_right = luck < ease
                    return interval(is_right.astype(float))

                yield cell(
                    f"{what}, {chance:g}",
                    f"{size} samples",
                    size,
                    chance,
                    draws,
                    draw,
                )


# medians, bootstrapped means, losses

MEDIANS = {
    "normal": 0.0,
    "exponential": math.log(2),
    "beta(8, 1)": 0.5 ** (1 / 8),
}


def medians(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    for kind, truth in MEDIANS.items():
        for size in sizes:

            def draw_median(random: Random) -> Interval | None:
                values = EVERYTHING[kind].values(random, size)
                return median(column(values)).ci95

            yield cell(
                f"median, {kind}",
                f"{size} samples",
                size,
                truth,
                draws,
                draw_median,
            )
    for size in sizes:

        def repeats(random: Random) -> Interval | None:
            of_samples = random.normal(size=size)
            own = random.normal(size=4 * size)
            values = np.repeat(of_samples, 4) + own
            scores = Scores()
            for place, value in enumerate(values):
                sample, repeat = divmod(place, 4)
                scores.add_value(f"s{sample}", repeat, float(value))
            return median(scores).ci95

        yield cell(
            "median, four repeats",
            f"{size} samples",
            size,
            0.0,
            draws,
            repeats,
        )


RESAMPLED = {
    "beta(8, 1)": beta(8, 1),
    "beta(2, 5)": beta(2, 5),
    "normal": UNBOUNDED["normal"],
    "exponential": UNBOUNDED["exponential"],
    "share of 0.5": Rule(partial(right_or_wrong, 0.5), 0.5),
    "share of 0.9": Rule(partial(right_or_wrong, 0.9), 0.9),
    "share of 0.98": Rule(partial(right_or_wrong, 0.98), 0.98),
}


def bootstrapped(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    for kind, rule in RESAMPLED.items():
        for size in sizes:

            def draw(random: Random) -> Interval | None:
                scores = column(rule.values(random, size))
                if kind in UNBOUNDED:
                    scores.range = ANY
                found = summarise(
                    "t",
                    "m",
                    scores,
                    mean,
                    {"interval": "bootstrap"},
                    bootstrap_iters=400,
                )
                return found.ci95

            yield cell(
                f"bootstrapped mean, {kind}",
                f"{size} samples",
                size,
                rule.mean,
                draws,
                draw,
            )


def lossy(sizes: Sequence[int], draws: int) -> Iterator[Cell]:
    """One trial in ten is lost, and would have been wrong (or right): the worst for an
    interval of the others."""
    for size in sizes:
        for chance in (0.5, 0.9):
            for lost_one in (0.0, 1.0):

                def draw(random: Random) -> Interval | None:
                    right = right_or_wrong(chance, random, size)
                    is_lost = random.random(size) < 0.1
                    scores = Scores(range=SHARE)
                    for place in range(size):
                        name = f"s{place}"
                        if is_lost[place]:
                            scores.add(name, 0, "failed")
                        else:
                            scores.add_value(name, 0, float(right[place]))
                    return result(scores).bounds_ci95

                yield cell(
                    f"share of {chance:g}, a tenth lost that is {lost_one:g}",
                    f"{size} samples",
                    size,
                    0.9 * chance + 0.1 * lost_one,
                    draws,
                    draw,
                )


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
        "medians": medians((5, 6, 8, 10, 15, 20, 30, 50, 100, 200), draws),
        "bootstrapped": bootstrapped((5, 10, 15, 20, 30, 50, 100), fewer),
        "losses": lossy((10, 20, 50, 100), fewer),
    }


def margin(cell: Cell) -> float:
    if not math.isfinite(cell.covered):
        return math.inf
    return cell.covered - cell.goal


def figures(quick: bool) -> Iterator[Figure]:
    draws = QUICK_DRAWS if quick else DRAWS
    for name, of_kind in cells(draws).items():
        found = list(of_kind)
        worst = min(found, key=margin)
        yield Figure(
            f"coverage, {name}",
            worst.covered,
            worst.goal,
            " %",
            at_least=True,
            note=f"worst of {len(found)} cells: {worst.kind}, {worst.size}",
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
