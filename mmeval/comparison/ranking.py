"""Ranks runs, with intervals of their ranks and groups of indistinguishable runs.

Intervals and groups follow from one rule: a run counts as better than another if the
difference between them is significant after the correction.
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
"""A number and the positions of two runs, of which the first is the reference."""
Order = tuple[int, int]
"""The positions of two runs, of which the first counts as better than the second."""

ALPHA = 0.05
"""The level of the intervals of ranks. In 95 % of cases, all of these intervals contain
the true ranks. Intervals and groups are corrected by Holm at this level, whatever
correction and level the verdicts use."""


def key_of(row: NumberRow) -> Key:
    return Key(row.task, row.metric)


class Rank(NamedTuple):
    """The rank of a run (1 is the best), and the interval of its rank."""

    rank: int
    ci95: tuple[int, int]


def ranks(values: Sequence[float], surely: Collection[Order]) -> list[Rank]:
    """Returns the rank of each run by its value (higher is better). The interval
    excludes the ranks of runs that are significantly better or worse."""
    count = len(values)
    places = []
    for run, value in enumerate(values):
        rank = 1 + sum(other > value for other in values)
        first = 1 + sum(behind == run for _, behind in surely)
        last = count - sum(before == run for before, _ in surely)
        # Values are over the common trials of all runs, tests over those of two runs.
        # If trials are lost, they may disagree, so the interval contains both.
        ci95 = (min(first, rank), max(last, rank))
        places.append(Rank(rank, ci95))
    return places


def groups(order: Sequence[int], surely: Collection[Order]) -> list[list[int]]:
    """Returns the largest sets of neighbours with no significant difference between
    them. ``order`` lists the runs from the best to the worst."""
    all_groups: list[list[int]] = []
    covered = 0
    for start in range(len(order)):
        group: list[int] = []
        for run in order[start:]:
            before = [other for other in group if (other, run) in surely]
            behind = [other for other in group if (run, other) in surely]
            if before or behind:
                break
            group.append(run)
        # a group that does not extend beyond the previous group is a part of it
        if start + len(group) > covered:
            covered = start + len(group)
            all_groups.append(group)
    return all_groups


@dataclass(frozen=True)
class RankedRun:
    """The rank of a run.

    ``ci95`` is the interval of the rank. It is None if no test could have distinguished
    the run from any other run. Value, rank and interval are None if the runs are not
    ranked. ``why`` is the reason.
    """

    run: str
    value: float | None
    rank: int | None
    ci95: tuple[int, int] | None
    why: str = ""


@dataclass(frozen=True)
class Ranking:
    """The runs ranked by one number, over the trials that have a score in all of them.

    ``groups`` are the largest groups of neighbours with no significant difference
    between them; the list is empty if the runs are not ranked. ``differences`` contains
    a row and a column for each run, in the order of the runs. An entry is the column's
    value minus the row's. It is None on the diagonal, and if there is no test.
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
    results: Mapping[Place, PairResult],
    adjusted: Mapping[Place, float],
) -> tuple[Ranking, ...]:
    """Returns the rankings by all numbers that every run has.

    ``of_first`` contains the first run paired with each other run. ``adjusted``
    contains the corrected p values that are shown with the differences.
    """
    tested = {}
    for place, result in results.items():
        if result.test is not None and result.test.p is not None:
            tested[place] = result.test.p
    p = list(tested.values())
    holm = dict(zip(tested, corrected(p, "holm"), strict=True))
    level = dict(zip(tested, levels(p, "holm", ALPHA), strict=True))
    rankings = []
    for row in rows:
        pairs: dict[tuple[int, int], PairResult] = {}
        surely: set[Order] = set()
        testable: set[int] = set()
        for i, j in combinations(range(1 + len(of_first)), 2):
            place = (key_of(row), i, j)
            result = pairs[i, j] = results[place]
            test = result.test
            if test is None or place not in tested:
                continue
            is_apart = holm[place] < ALPHA and test.difference != 0
            if is_apart:
                is_better = (test.difference > 0) == row.higher_is_better
                surely.add((j, i) if is_better else (i, j))
            if is_apart or test.least_p < level[place]:
                testable.update((i, j))
        if not any(result.why == ONE_SIDED for result in pairs.values()):
            ranking = _ranking(
                row, of_first, pairs, adjusted, surely=surely, testable=testable
            )
            rankings.append(ranking)
    return tuple(rankings)


def _ranking(
    row: NumberRow,
    of_first: Sequence[RunPair],
    pairs: Mapping[tuple[int, int], PairResult],
    adjusted: Mapping[Place, float],
    *,
    surely: Collection[Order],
    testable: Collection[int],
) -> Ranking:
    """Ranks the runs by one number. ``surely`` contains the pairs of runs with a
    significant difference. ``testable`` contains the runs for which a test could have
    found a significant difference."""
    runs = [of_first[0].a, *(pair.b for pair in of_first)]
    names = [run.name for run in runs]
    differences = _differences(row, pairs, adjusted, len(runs))
    values: list[float] | None = None
    trials = 0
    why = ""
    for (i, j), compared in pairs.items():
        if compared.test is None:
            why = f"runs {names[i]} and {names[j]} are not comparable: {compared.why}"
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
        if run in testable:
            ranked.append(RankedRun(names[run], values[run], rank, ci95))
        else:
            why = _why_untested(run, pairs)
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


def _why_untested(run: int, pairs: Mapping[tuple[int, int], PairResult]) -> str:
    """Returns why no test could have distinguished the run from any other run."""
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
    """Returns the differences of ``count`` runs. An entry is the value of the column's
    run minus the value of the row's run."""
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
    """Returns each run's value over the trials that all runs have scored, the number of
    those trials, and the reason if there are no values."""
    first = of_first[0].a
    pieces: list[tuple[Piece, list[Scores]]] = []
    for piece in first.pieces(row.task, row.metric):
        shared = _shared(piece, of_first)
        if shared:
            pieces.append((piece, shared))
    total = math.fsum(piece.share for piece, _ in pieces)
    if not total:
        return None, 0, "no trial has a score in all runs"
    # numbers of one task are about the same trials, so only the largest counts
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
    """Returns the scores of each run over the trials that match and are scored in all
    runs. ``of_first`` contains the first run paired with each other run."""
    runs = [of_first[0].a, *(pair.b for pair in of_first)]
    columns: list[Scores] = []
    values: list[Sequence[float | None]] = []
    for run in runs:
        scores = run.scores(piece.task)
        if scores is None or piece.number not in scores.columns:
            return []
        columns.append(scores.columns[piece.number])
        values.append(scores.values[piece.number])

    # by the position of a trial in the first run, its positions in all runs
    places = {place: [place] for place in range(len(values[0]))}
    for pair in of_first:
        matches = pair.matches(piece.task)
        both = () if matches is None else matches.both
        known = [(place, other) for place, other in both if place in places]
        places = {place: [*places[place], other] for place, other in known}
    shared: list[list[int]] = []
    for trial in places.values():
        scores_of_trial = [side[i] for side, i in zip(values, trial, strict=True)]
        if None not in scores_of_trial:
            shared.append(trial)
    if not shared:
        return []
    places_by_run = zip(*shared, strict=True)
    pairs = zip(columns, places_by_run, strict=True)
    return [column.take(run_places) for column, run_places in pairs]
