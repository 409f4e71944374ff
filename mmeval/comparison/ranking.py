"""Several runs in their order, how sure each place is, and which of them cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mmeval.aggregate.resampling import Values, distribution
from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.comparison.pairing import TrialName
from mmeval.comparison.run_pair import Compared, ComparedRun, Piece
from mmeval.comparison.statistics import Rank, ranks
from mmeval.records.score import Key
from mmeval.report.numbers import NumberRow

Place = tuple[Key, int, int]
"""A number between two runs, by their places; the first one is the reference of the two."""


def key_of(row: NumberRow) -> Key:
    return Key(row.task, row.metric)


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

    ``groups`` are the largest ones within which no corrected difference is seen. ``differences`` has a row and a column
    for each run, in the order of the runs: the column's minus the row's, None on the diagonal.
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
    """None where not every two of the runs compare, or a number is no mean of scores."""
    count = len(runs)
    tests = {(i, j): found[key_of(row), i, j] for i in range(count) for j in range(i + 1, count)}
    if any(one.test is None or one.test.method == "bootstrap" for one in tests.values()):
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
        runs=tuple(_ranked(runs[run].name, values[run], places[run]) for run in order),
        groups=tuple(tuple(runs[run].name for run in group) for group in _groups(order, seen)),
        differences=tuple(
            tuple(None if i == j else _cell(i, j, tests, adjusted, row) for j in range(count)) for i in range(count)
        ),
    )


def _ranked(name: str, value: float, place: Rank) -> RankedRun:
    return RankedRun(name, value, place.rank, (place.low, place.high))


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
    return {"difference": difference, "p_adjusted": adjusted.get((key_of(row), low, high))}


def _groups(order: Sequence[int], seen: set[tuple[int, int]]) -> list[list[int]]:
    """Neighbours in the ranking of which no two differ; a group inside of another one is left out."""
    found: list[list[int]] = []
    last = -1
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and not any(
            (min(one, order[end + 1]), max(one, order[end + 1])) in seen for one in order[start : end + 1]
        ):
            end += 1
        if end > last:
            found.append(list(order[start : end + 1]))
            last = end
    return found


def _joint(row: NumberRow, runs: Sequence[ComparedRun]) -> tuple[list[float], Values, int] | None:
    """Each run's value, joint draws of clusters (a row a draw), and how many trials all runs have scored."""
    pieces = list(runs[0].pieces(row.task, row.metric))
    parts = [(piece, found) for piece in pieces if (found := _shared(piece, runs)) is not None]
    if not parts:
        return None
    total = sum(piece.share for piece, _ in parts) or 1.0
    values = sum(piece.share / total * scores.mean(axis=0) for piece, (_, scores) in parts)
    strata = {piece.task for piece, _ in parts}
    by_task = [_drawn([(piece, own) for piece, own in parts if piece.task == task], total) for task in sorted(strata)]
    trials = sum(max(len(own[0]) for piece, own in parts if piece.task == task) for task in strata)
    return np.asarray(values).tolist(), np.sum(by_task, axis=0), trials


def _shared(piece: Piece, runs: Sequence[ComparedRun]) -> tuple[list[str], Values] | None:
    """The clusters of the trials that have a score in all runs, and the scores, a column a run."""
    columns: list[dict[tuple[TrialName, str], float]] = []
    clusters: dict[tuple[TrialName, str], str] = {}
    for run in runs:
        scores = run.scores(piece.task)
        if scores is None or piece.number not in scores.columns:
            return None
        rows = zip(scores.names, scores.digests, scores.columns[piece.number], strict=True)
        columns.append({})
        for name, digest, one in rows:
            if one.value is not None:
                columns[-1][name, digest] = one.value
                clusters.setdefault((name, digest), one.cluster)
    shared = [trial for trial in columns[0] if all(trial in column for column in columns)]
    if not shared:
        return None
    return [clusters[trial] for trial in shared], np.array([[column[trial] for column in columns] for trial in shared])


def _drawn(parts: Sequence[tuple[Piece, tuple[list[str], Values]]], total: float) -> Values:
    """What a task adds to the value of each run, in each draw of its clusters."""
    places: dict[str, int] = {}
    for _, (names, _) in parts:
        for name in names:
            places.setdefault(name, len(places))
    sums = []
    for piece, (names, scores) in parts:
        at = np.array([places[name] for name in names])
        columns = [np.bincount(at, scores[:, run], len(places)) for run in range(scores.shape[1])]
        sums.append((piece.share / total, np.stack(columns), np.bincount(at, minlength=len(places))))
    rows = []
    for run in range(len(sums[0][1])):
        # The draws are the same for every run: their seed is.
        def value(drawn: Any, run: int = run) -> Values:
            added: Values = sum(
                share * columns[run][drawn].sum(axis=1) / np.maximum(counts[drawn].sum(axis=1), 1)
                for share, columns, counts in sums
            )
            return added

        rows.append(distribution(value, len(places), BOOTSTRAP_ITERS))
    return np.stack(rows, axis=1)
