"""Pairs the trials of two runs, by the name of their sample and by what was asked.

Only a trial that has a score in both runs is in a pair. The others are counted by
reason, and those that might have had one make the bounds of a difference wider.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.aggregate.scores import Aggregator, Scores
from mmeval.aggregate.statistics import Interval
from mmeval.results.stored_run import StoredRun, StoredTask, TaskRow, counted_by
from mmeval.results.task_results import fill

TrialName = tuple[str, int]
"""A sample and a repeat."""

NOT_ASKED, ASKED_OTHERWISE = "not_asked", "asked_otherwise"
"""Why a trial is in no pair, besides the statuses of its scores: one run lacks it, or
it was asked something else."""
_REASONS = ("failed", "unscored", "unsupported", "unavailable", "inapplicable")
"""Of the statuses of a trial in two runs the first of these is the reason."""
_MIGHT_SCORE = frozenset(("scored", "unscored", "failed"))
_ALL_LABELS = ""
_ENDS: tuple[Literal[0, 1], ...] = (0, 1)


class TaskScores:
    """A run's scores of a task by number, each trial with its name, its sample's place
    in the data and its digest.

    ``label`` is one of the sample's by which slices are made; its values are in
    ``levels``, a list for each trial.
    """

    def __init__(
        self,
        run: StoredRun,
        task: StoredTask,
        numbers: Mapping[str, Interval],
        label: str = _ALL_LABELS,
    ) -> None:
        self.columns = {name: Scores(range=spread) for name, spread in numbers.items()}
        digests: dict[int, str] = {}
        of_samples: dict[int, Any] = {}
        for row in task.sample_rows():
            digests[row["i"]] = row["d"]
            if label:
                of_samples[row["i"]] = row["sample"]["metadata"].get(label)
        self.names: list[TrialName] = []
        self.digests: list[str] = []
        self.indexes: list[int] = []
        self.levels: list[Any] = []
        counts = counted_by(run.ours.get("asked", {}).get(task.name))

        def noted(rows: Iterable[TaskRow]) -> Iterator[TaskRow]:
            for row in rows:
                if counts(row["i"], row["n"]):
                    self.indexes.append(row["i"])
                    self.names.append((row["s"], row["n"]))
                    self.digests.append(digests.get(row["i"], ""))
                    if label:
                        self.levels.append(
                            row.get("labels", {}).get(label, of_samples.get(row["i"]))
                        )
                    yield row

        fill(self.columns, noted(task.score_rows()))
        self.statuses: dict[str, list[str]] = {}
        self.values: dict[str, list[float | None]] = {}
        for name, column in self.columns.items():
            self.statuses[name], self.values[name] = [], []
            for score in column:
                self.statuses[name].append(score.status)
                self.values[name].append(score.value)

    @cached_property
    def places(self) -> dict[TrialName, int]:
        return {name: at for at, name in enumerate(self.names)}

    def slices(self, label: str) -> dict[str, set[TrialName]]:
        """The trials of each value of the label; one whose label is a list belongs to
        each of its members."""
        found: dict[str, set[TrialName]] = {}
        for name, value in zip(self.names, self.levels, strict=True):
            for level in value if isinstance(value, list) else [value]:
                if isinstance(level, (str, int, float)):
                    found.setdefault(f"{label}={level}", set()).add(name)
        return dict(sorted(found.items()))


class Matched(NamedTuple):
    """Trials that two runs were asked alike, by their places in both, and those that
    only one was asked."""

    both: Sequence[tuple[int, int]]
    only_a: Sequence[int]
    only_b: Sequence[int]
    otherwise: int

    @classmethod
    def of(
        cls, a: TaskScores, b: TaskScores, within: set[TrialName] | None = None
    ) -> Matched:
        """Trials paired by name; ``within`` are those of a slice, None for all."""
        both, only_a, otherwise = [], [], 0
        for at, name in enumerate(a.names):
            if within is not None and name not in within:
                continue
            other = b.places.get(name)
            if other is None:
                only_a.append(at)
            elif a.digests[at] != b.digests[other]:
                otherwise += 1
            else:
                both.append((at, other))
        only_b = [
            at
            for at, name in enumerate(b.names)
            if name not in a.places and (within is None or name in within)
        ]
        return cls(both, only_a, only_b, otherwise)


class Pairs(NamedTuple):
    """The paired scores of one number, the rows of both runs in one order, and what is
    in no pair."""

    a: Scores
    b: Scores
    left_out: Counter[str]
    lost: Sequence[tuple[int | None, int | None]]

    @classmethod
    def of(cls, a: TaskScores, b: TaskScores, number: str, matched: Matched) -> Pairs:
        first, second = a.statuses[number], b.statuses[number]
        left_out: Counter[str] = Counter()
        places: list[tuple[int, int]] = []
        lost: list[tuple[int | None, int | None]] = []
        for at, other in matched.both:
            found = (first[at], second[other])
            if found == ("scored", "scored"):
                places.append((at, other))
                continue
            left_out[next(reason for reason in _REASONS if reason in found)] += 1
            if _MIGHT_SCORE.issuperset(found):
                lost.append((at, other))
        lost += [(at, None) for at in matched.only_a if first[at] in _MIGHT_SCORE]
        lost += [(None, at) for at in matched.only_b if second[at] in _MIGHT_SCORE]
        left_out[NOT_ASKED] += len(matched.only_a) + len(matched.only_b)
        left_out[ASKED_OTHERWISE] += matched.otherwise
        own = (
            a.columns[number].at([at for at, _ in places]),
            b.columns[number].at([at for _, at in places]),
        )
        return cls(*own, +left_out, lost)

    @property
    def trials(self) -> int:
        return len(self.a)

    @property
    def samples(self) -> int:
        return len({row.sample for row in self.a})

    @property
    def values(self) -> tuple[Values, Values]:
        return np.asarray(self.a.values), np.asarray(self.b.values)

    @property
    def weights(self) -> tuple[Values, Values]:
        return np.asarray(self.a.weights), np.asarray(self.b.weights)


def bounds_of(
    columns: tuple[Scores, Scores],
    pairs: Pairs,
    aggregator: Aggregator,
    options: Mapping[str, Any],
) -> Interval | None:
    """The differences that lost trials could make it: lowest in one run and highest in
    the other, and the reverse.

    None where the metric has no finite range and a trial no bounds of its own.
    """
    column, other = columns
    if not pairs.lost and not all(map(math.isfinite, column.range)):
        return None
    of_a, of_b = [at for at, _ in pairs.lost], [at for _, at in pairs.lost]
    found = []
    for end in _ENDS:
        first = _completed(pairs.a, column, of_a, 1 if end == 0 else 0)
        second = _completed(pairs.b, other, of_b, end)
        values = [
            None if side is None else aggregator(side, **options).value
            for side in (first, second)
        ]
        if (
            values[0] is None
            or values[1] is None
            or not math.isfinite(values[1] - values[0])
        ):
            return None
        found.append(values[1] - values[0])
    return (min(found), max(found))


def _completed(
    paired: Scores, column: Scores, lost: Sequence[int | None], end: Literal[0, 1]
) -> Scores | None:
    """Paired rows and the lost ones at one end; None where an end is not finite."""
    whole, filled = paired.at(range(len(paired))), column.filled(end)
    rows = list(filled.at([at for at in lost if at is not None]))
    values = [row.value for row in rows] + [filled.range[end]] * (len(lost) - len(rows))
    if not all(value is not None and math.isfinite(value) for value in values):
        return None
    for number, value in enumerate(values):
        row = rows[number] if number < len(rows) else None
        assert value is not None
        if row is None:
            whole.add_value(f"lost {number}", 0, value)
        else:
            whole.add_value(
                row.sample,
                row.repeat,
                value,
                cluster=row.cluster,
                labels=row.labels,
                weight=row.weight,
            )
    return whole
