"""Several runs in their order, how sure each place is, and which of them cannot be told
apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from mmeval.aggregate.resampling import Values, distribution, drawn_statistic
from mmeval.aggregate.scores import Scores
from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.comparison.pairing import TrialName
from mmeval.comparison.run_pair import Compared, ComparedRun, Piece
from mmeval.records.score import Key
from mmeval.report.numbers import NumberRow

Place = tuple[Key, int, int]
"""A number between two runs, by their places; the first one is the reference of the
two."""


def key_of(row: NumberRow) -> Key:
    return Key(row.task, row.metric)


class Rank(NamedTuple):
    """A place among some runs, 1 the best, and its 95 % interval."""

    rank: int
    ci95: tuple[int, int]


def ranks(values: Sequence[float], draws: Values) -> list[Rank]:
    """The rank of each run by its value (higher is better), from joint draws of all: a
    row a draw, a column a run.

    A run is before another where its difference from it is beyond what the draws make
    likely, at once for all others: the interval leaves out the places of those that are
    surely before, and surely behind.
    """
    found, seen = [], np.asarray(values, dtype=float)
    for own in range(len(values)):
        apart = seen - seen[own]
        drawn = draws - draws[:, [own]] - apart
        errors = drawn.std(axis=0, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            largest = np.nan_to_num(np.abs(drawn) / errors).max(axis=1)
        reach = float(np.quantile(largest, 0.95)) * errors
        before, behind = int((apart > reach).sum()), int((apart < -reach).sum())
        found.append(
            Rank(1 + int((apart > 0).sum()), (1 + before, len(values) - behind))
        )
    return found


@dataclass(frozen=True)
class RankedRun:
    """A run's place; ``ci95`` are the places that it may have."""

    run: str
    value: float
    rank: int
    ci95: tuple[int, int]


@dataclass(frozen=True)
class Ranking:
    """The runs by one number, over the trials that have a score in all of them.

    ``groups`` are the largest ones within which no corrected difference is seen.
    ``differences`` has a row and a column for each run, in the order of the runs: the
    column's minus the row's, None on the diagonal.
    """

    task: str
    metric: str
    pairs: int
    runs: tuple[RankedRun, ...]
    groups: tuple[tuple[str, ...], ...]
    differences: tuple[tuple[Mapping[str, float | None] | None, ...], ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ranking_of(
    row: NumberRow,
    runs: Sequence[ComparedRun],
    found: Mapping[Place, Compared],
    adjusted: Mapping[Place, float],
    alpha: float,
) -> Ranking | None:
    """None where not every two of the runs compare, or a number is no mean of
    scores."""
    count = len(runs)
    tests = {
        (i, j): found[key_of(row), i, j]
        for i in range(count)
        for j in range(i + 1, count)
    }
    if any(
        one.test is None or one.test.method == "bootstrap" for one in tests.values()
    ):
        return None
    joint = _joint(row, runs)
    if joint is None:
        return None
    values, draws, trials = joint
    sign = 1 if row.higher_is_better else -1
    places = ranks([sign * value for value in values], sign * draws)
    order = sorted(range(count), key=lambda run: (places[run].rank, run))
    seen = {pair for pair in tests if adjusted.get((key_of(row), *pair), 1.0) < alpha}
    return Ranking(
        task=row.task,
        metric=row.metric,
        pairs=trials,
        runs=tuple(
            RankedRun(runs[run].name, values[run], *places[run]) for run in order
        ),
        groups=tuple(
            tuple(runs[run].name for run in group) for group in _groups(order, seen)
        ),
        differences=tuple(
            tuple(
                None if i == j else _cell(i, j, tests, adjusted, row)
                for j in range(count)
            )
            for i in range(count)
        ),
    )


def _cell(
    i: int,
    j: int,
    tests: Mapping[tuple[int, int], Compared],
    adjusted: Mapping[Place, float],
    row: NumberRow,
) -> Mapping[str, float | None]:
    low, high = min(i, j), max(i, j)
    test = tests[low, high].test
    assert test is not None
    difference = test.difference if i < j else test.a - test.b
    return {
        "difference": difference,
        "p_adjusted": adjusted.get((key_of(row), low, high)),
    }


def _groups(order: Sequence[int], seen: set[tuple[int, int]]) -> list[list[int]]:
    """Neighbours in the ranking of which no two differ; a group inside of another one
    is left out."""
    found: list[list[int]] = []
    last = -1
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and not any(
            (min(one, order[end + 1]), max(one, order[end + 1])) in seen
            for one in order[start : end + 1]
        ):
            end += 1
        if end > last:
            found.append(list(order[start : end + 1]))
            last = end
    return found


def _joint(
    row: NumberRow, runs: Sequence[ComparedRun]
) -> tuple[list[float], Values, int] | None:
    """Each run's value, joint draws of clusters (a row a draw), and how many trials all
    runs have scored."""
    by_task: dict[str, list[tuple[Piece, list[Scores]]]] = {}
    for piece in runs[0].pieces(row.task, row.metric):
        if shared := _shared(piece, runs):
            by_task.setdefault(piece.task, []).append((piece, shared))
    total = math.fsum(piece.share for parts in by_task.values() for piece, _ in parts)
    if not total:
        return None
    values, draws = np.zeros(len(runs)), np.zeros((BOOTSTRAP_ITERS, len(runs)))
    for parts in by_task.values():
        clusters = list(
            dict.fromkeys(
                cluster
                for _, sides in parts
                for side in sides
                for cluster in side.clusters
            )
        )
        for piece, sides in parts:
            aggregator, _ = runs[0].aggregator(piece.task, piece.number)
            for run, side in enumerate(sides):
                value = aggregator(side).value
                if value is None:  # a weighted mean without any weight
                    return None
                values[run] += piece.share / total * value
                # All runs and pieces have the same draws, as their seed is. One of no
                # trial of a piece adds nothing.
                drawn = distribution(
                    drawn_statistic(side, aggregator, {}, clusters),
                    len(clusters),
                    BOOTSTRAP_ITERS,
                )
                draws[:, run] += piece.share / total * np.nan_to_num(drawn)
    trials = sum(max(len(sides[0]) for _, sides in parts) for parts in by_task.values())
    return values.tolist(), draws, trials


def _shared(piece: Piece, runs: Sequence[ComparedRun]) -> list[Scores]:
    """The scores of each run, of the trials that have one in all runs."""
    found: list[tuple[Scores, dict[tuple[TrialName, str], int]]] = []
    for run in runs:
        scores = run.scores(piece.task)
        if scores is None or piece.number not in scores.columns:
            return []
        trials = zip(scores.names, scores.digests, strict=True)
        known = zip(trials, scores.values[piece.number], strict=True)
        places = {
            trial: at for at, (trial, value) in enumerate(known) if value is not None
        }
        found.append((scores.columns[piece.number], places))
    shared = [
        trial for trial in found[0][1] if all(trial in places for _, places in found)
    ]
    return (
        [column.at([places[trial] for trial in shared]) for column, places in found]
        if shared
        else []
    )
