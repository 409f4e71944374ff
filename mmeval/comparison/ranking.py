"""Several runs in their order, how sure each place is, and which of them cannot be told
apart.

One rule stands behind places and groups: a run is surely before another one where their
corrected difference is beyond chance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from mmeval.aggregate.scores import Scores
from mmeval.comparison.run_pair import (
    ONE_SIDED,
    PairResult,
    Piece,
    RunPair,
)
from mmeval.comparison.statistics import corrected, levels
from mmeval.records.score import Key
from mmeval.results.numbers import NumberRow

Place = tuple[Key, int, int]
"""A number between two runs, by their places; the first one is the reference of the
two."""
Order = tuple[int, int]
"""Two runs by their places, of which the first is surely before the second."""

ALPHA = 0.05
"""The intervals of ranks hold in 95 %, all together. So they and the groups are
corrected by Holm at this level, whatever correction and level the verdicts have."""


def key_of(row: NumberRow) -> Key:
    return Key(row.task, row.metric)


class Rank(NamedTuple):
    """A place among some runs, 1 the best, and the places that it may have."""

    rank: int
    ci95: tuple[int, int]


def ranks(values: Sequence[float], surely: Collection[Order]) -> list[Rank]:
    """The rank of each run by its value (higher is better), and the places that are
    left by the runs that are surely before it, and surely behind it."""
    count = len(values)
    places = []
    for run, value in enumerate(values):
        rank = 1 + sum(other > value for other in values)
        first = 1 + sum(behind == run for _, behind in surely)
        last = count - sum(before == run for before, _ in surely)
        # Values are over the trials of all runs, tests over those of two. Where trials
        # are lost they may disagree, and the interval then holds both.
        ci95 = (min(first, rank), max(last, rank))
        places.append(Rank(rank, ci95))
    return places


def groups(order: Sequence[int], surely: Collection[Order]) -> list[list[int]]:
    """The largest sets of neighbours of which no two are surely apart; ``order`` has
    the runs from the best to the worst."""
    found: list[list[int]] = []
    covered = 0
    for start in range(len(order)):
        group: list[int] = []
        for run in order[start:]:
            before = [other for other in group if (other, run) in surely]
            behind = [other for other in group if (run, other) in surely]
            if before or behind:
                break
            group.append(run)
        # A group that ends no later than the one before is a part of it.
        if start + len(group) > covered:
            covered = start + len(group)
            found.append(group)
    return found


@dataclass(frozen=True)
class RankedRun:
    """A run's place; ``ci95`` are the places that it may have.

    ``ci95`` is None where no test could have told the run from another one. All three
    are None where the runs are not ranked. ``why`` then says why.
    """

    run: str
    value: float | None
    rank: int | None
    ci95: tuple[int, int] | None
    why: str = ""


@dataclass(frozen=True)
class Ranking:
    """The runs by one number, over the trials that have a score in all of them.

    ``groups`` are the largest ones within which no two runs are surely apart; none
    where the runs are not ranked. ``differences`` has a row and a column for each run,
    in the order of the runs: the column's minus the row's, None on the diagonal and
    where nothing is tested.
    """

    task: str
    metric: str
    pairs: int
    runs: tuple[RankedRun, ...]
    groups: tuple[tuple[str, ...], ...]
    differences: tuple[tuple[Mapping[str, float | None] | None, ...], ...]

    @property
    def is_ranked(self) -> bool:
        return all(run.rank is not None for run in self.runs)


def rankings_of(
    rows: Sequence[NumberRow],
    of_first: Sequence[RunPair],
    found: Mapping[Place, PairResult],
    adjusted: Mapping[Place, float],
) -> tuple[Ranking, ...]:
    """The rankings by all numbers that every run has.

    ``of_first`` are the pairs of the first run with each other one; ``adjusted`` has
    the corrected p that are shown with the differences.
    """
    tested = {}
    for place, compared in found.items():
        if compared.test is not None and compared.test.p is not None:
            tested[place] = compared.test.p
    p = list(tested.values())
    holm = dict(zip(tested, corrected(p, "holm"), strict=True))
    level = dict(zip(tested, levels(p, "holm", ALPHA), strict=True))
    rankings = []
    for row in rows:
        pairs: dict[tuple[int, int], PairResult] = {}
        surely: set[Order] = set()
        seen: set[int] = set()
        for i, j in combinations(range(1 + len(of_first)), 2):
            place = (key_of(row), i, j)
            compared = pairs[i, j] = found[place]
            test = compared.test
            if test is None or place not in tested:
                continue
            is_apart = holm[place] < ALPHA and test.difference != 0
            if is_apart:
                is_better = (test.difference > 0) == row.higher_is_better
                surely.add((j, i) if is_better else (i, j))
            if is_apart or test.least_p < level[place]:
                seen.update((i, j))
        if not any(compared.why == ONE_SIDED for compared in pairs.values()):
            ranking = _ranking(row, of_first, pairs, adjusted, surely=surely, seen=seen)
            rankings.append(ranking)
    return tuple(rankings)


def _ranking(
    row: NumberRow,
    of_first: Sequence[RunPair],
    pairs: Mapping[tuple[int, int], PairResult],
    adjusted: Mapping[Place, float],
    *,
    surely: Collection[Order],
    seen: Collection[int],
) -> Ranking:
    """``surely`` are the runs that are apart, ``seen`` those of which a test could have
    found anything."""
    runs = [of_first[0].a, *(pair.b for pair in of_first)]
    names = [run.name for run in runs]
    differences = _differences(row, pairs, adjusted, len(runs))
    values: list[float] | None = None
    trials = 0
    why = ""
    for (i, j), compared in pairs.items():
        if compared.test is None:
            why = f"runs {names[i]} and {names[j]} do not compare: {compared.why}"
            break
    if not why:
        try:
            values, trials, why = _joint(row, of_first)
        # a plugin's aggregator may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            why = f"its aggregator cannot be used ({type(error).__name__}: {error})"
    if values is None:
        unranked = tuple(RankedRun(name, None, None, None, why) for name in names)
        return Ranking(row.task, row.metric, trials, unranked, (), differences)

    sign = 1 if row.higher_is_better else -1
    places = ranks([sign * value for value in values], surely)
    order = sorted(range(len(runs)), key=lambda run: places[run].rank)
    ranked = []
    for run in order:
        rank, ci95 = places[run]
        if run in seen:
            ranked.append(RankedRun(names[run], values[run], rank, ci95))
        else:
            why = _unseen(run, pairs)
            ranked.append(RankedRun(names[run], values[run], rank, None, why))
    together = []
    for group in groups(order, surely):
        together.append(tuple(names[run] for run in group))
    return Ranking(
        task=row.task,
        metric=row.metric,
        pairs=trials,
        runs=tuple(ranked),
        groups=tuple(together),
        differences=differences,
    )


def _unseen(run: int, pairs: Mapping[tuple[int, int], PairResult]) -> str:
    """Why no test could have told the run from another one."""
    clusters = []
    for pair, compared in pairs.items():
        if run in pair and compared.test is not None and compared.test.p is not None:
            clusters.append(compared.test.clusters)
    if not clusters:
        return "its differences from other runs cannot be tested"
    return f"too few samples to rank (clusters: {max(clusters):,})"


def _differences(
    row: NumberRow,
    pairs: Mapping[tuple[int, int], PairResult],
    adjusted: Mapping[Place, float],
    count: int,
) -> tuple[tuple[Mapping[str, float | None] | None, ...], ...]:
    """The differences of each two of ``count`` runs, the column's minus the row's."""
    matrix: list[list[Mapping[str, float | None] | None]] = []
    for _ in range(count):
        matrix.append([None] * count)
    for (i, j), compared in pairs.items():
        test = compared.test
        if test is not None:
            p = adjusted.get((key_of(row), i, j))
            matrix[i][j] = {"difference": test.difference, "p_adjusted": p}
            matrix[j][i] = {"difference": test.a - test.b, "p_adjusted": p}
    return tuple(map(tuple, matrix))


def _joint(
    row: NumberRow, of_first: Sequence[RunPair]
) -> tuple[list[float] | None, int, str]:
    """Each run's value over the trials that all runs have scored, how many those are,
    and why there are no values."""
    first = of_first[0].a
    pieces: list[tuple[Piece, list[Scores]]] = []
    for piece in first.pieces(row.task, row.metric):
        shared = _shared(piece, of_first)
        if shared:
            pieces.append((piece, shared))
    total = math.fsum(piece.share for piece, _ in pieces)
    if not total:
        return None, 0, "no trial has a score in all runs"
    # several numbers of one task are about the same trials: the largest counts
    by_task: dict[str, int] = {}
    for piece, sides in pieces:
        so_far = by_task.get(piece.task, 0)
        by_task[piece.task] = max(so_far, len(sides[0]))
    trials = sum(by_task.values())
    values = [0.0] * (1 + len(of_first))
    for piece, sides in pieces:
        aggregator, options = first.aggregator(piece.task, piece.number)
        for run, side in enumerate(sides):
            value = aggregator(side, **options).value
            if value is None:  # a weighted mean without any weight
                return None, trials, "it has no value over the trials of all runs"
            values[run] += piece.share / total * value
    return values, trials, ""


def _shared(piece: Piece, of_first: Sequence[RunPair]) -> list[Scores]:
    """The scores of each run, of the trials that have one in all runs and were asked
    alike. ``of_first`` are the pairs of the first run with each other one."""
    runs = [of_first[0].a, *(pair.b for pair in of_first)]
    columns: list[Scores] = []
    values: list[Sequence[float | None]] = []
    for run in runs:
        scores = run.scores(piece.task)
        if scores is None or piece.number not in scores.columns:
            return []
        columns.append(scores.columns[piece.number])
        values.append(scores.values[piece.number])

    # by the place of a trial in the first run, its places in all of them
    places = {at: [at] for at in range(len(values[0]))}
    for pair in of_first:
        matches = pair.matches(piece.task)
        both = () if matches is None else matches.both
        known = [(at, other) for at, other in both if at in places]
        places = {at: [*places[at], other] for at, other in known}
    shared: list[list[int]] = []
    for trial in places.values():
        scores_of_trial = [side[at] for side, at in zip(values, trial, strict=True)]
        if None not in scores_of_trial:
            shared.append(trial)
    if not shared:
        return []
    places_by_run = zip(*shared, strict=True)
    return [
        column.take(own) for column, own in zip(columns, places_by_run, strict=True)
    ]
