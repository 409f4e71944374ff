"""The numbers that runs are compared by, and one of them compared between two runs."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mmeval.aggregate.aggregators import mean, weighted_mean
from mmeval.aggregate.scores import Aggregator, load_aggregator
from mmeval.aggregate.statistics import Interval
from mmeval.comparison.answers import answers_of
from mmeval.comparison.pairing import ASKED_OTHERWISE, NOT_ASKED, Matched, Pairs, TaskScores, TrialName, bounds_of
from mmeval.comparison.statistics import Paired, Part, compare_by_draws, compare_means
from mmeval.errors import MmevalError
from mmeval.records.score import Key
from mmeval.report.numbers import NumberRow, groups_of, results_of
from mmeval.results.compare import Aspect, differences, metric_of, unlike
from mmeval.results.groups import tasks_inside
from mmeval.results.stored_run import StoredRun

_MEANS: Mapping[str, Aggregator] = {"mean": mean, "repeats": mean, "weighted_mean": weighted_mean}
"""The aggregators whose value is a mean: their differences are tested without drawing anything."""
TASKS = "tasks"
"""Members of a group that are in no pair, among what is left out."""


class Piece(NamedTuple):
    """A task's number that a compared one is made of, with its share."""

    task: str
    number: str
    share: float


@dataclass(frozen=True)
class Compared:
    """A number of two runs. ``test`` is None where nothing is tested, and ``why`` says why.

    ``left_out`` counts trials in no pair by reason, ``shift`` is that of the judge: the difference over the answers
    that both runs gave alike, and ``rest`` the one over all other pairs.
    """

    pairs: int = 0
    samples: int = 0
    clusters: int = 0
    test: Paired | None = None
    bounds: Interval | None = None
    left_out: Mapping[str, int] | None = None
    shift: Paired | None = None
    shift_pairs: int = 0
    rest: Paired | None = None
    rest_pairs: int = 0
    is_unlike: bool = False
    why: str = ""


class ComparedRun:
    """A run with what its numbers are made of. The scores of a task are read when they are first needed: those of the
    numbers in ``wanted``."""

    def __init__(self, run: StoredRun, name: str, label: str) -> None:
        self.run, self.name, self._label = run, name, label
        self.tasks = {task.name: task for task in run.tasks}
        self.results = results_of(run.results)
        self.members = groups_of([run.results])
        self.wanted: dict[str, set[str]] = {}
        self._scores: dict[str, TaskScores | None] = {}
        self._answers: dict[str, Mapping[TrialName, str]] = {}

    def metric(self, task: str, number: str) -> Mapping[str, Any]:
        return metric_of(self.run.ours, task, number)

    def scores(self, task: str) -> TaskScores | None:
        """Those of the wanted numbers of a task; None where the run has no such task."""
        if task not in self._scores:
            found = self.tasks.get(task)
            numbers = self.run.ours.get("metrics", {}).get(task, {}).values()
            outputs = {name: one for one in numbers if not one.get("of_averages") for name in one["outputs"]}
            ranges = {name: _range(one) for name, one in outputs.items() if name in self.wanted.get(task, ())}
            self._scores[task] = None if found is None else TaskScores(self.run, found, ranges, self._label)
        return self._scores[task]

    def answers(self, task: str) -> Mapping[TrialName, str]:
        if task not in self._answers:
            self._answers[task] = answers_of(self.run, self.tasks[task])
        return self._answers[task]

    def pieces(self, task: str, number: str, share: float = 1.0) -> Iterator[Piece]:
        """The single numbers of tasks that a number is the mean of."""
        result = self.results.get(Key(task, number))
        shares: Mapping[str, float] = {} if result is None else result.weights
        if task in self.members:
            names = [name for name in self.members[task] if Key(name, number) in self.results]
            for name in names:
                yield from self.pieces(name, number, share * _share(shares, name, names))
        elif self.metric(task, number).get("of_averages"):
            names = list(self.metric(task, number)["pieces"])
            for name in names:
                yield from self.pieces(task, name, share * _share(shares, name, names))
        else:
            yield Piece(task, number, share)

    @cached_property
    def asked(self) -> frozenset[str]:
        return frozenset(self.run.ours.get("protocols", self.tasks))

    def aggregator(self, task: str, number: str) -> tuple[Aggregator, Mapping[str, Any]]:
        """The aggregator of a number and its options. Raises MmevalError where it is not installed."""
        metric = self.metric(task, number)
        name = str(metric.get("aggregation", "mean"))
        if name in _MEANS:
            return _MEANS[name], {}
        found = load_aggregator(name)
        metrics = self.run.ours.get("metrics", {}).get(task, {})
        own = next((key for key, one in metrics.items() if number in one.get("outputs", ())), number)
        entries: list[Mapping[str, Any]] = self.tasks[task].config.get("metric_list") or []
        written = next((one.get("aggregation") for one in entries if one.get("metric") == own), None)
        options = {key: value for key, value in written.items() if key != "name"} if isinstance(written, dict) else {}
        if "profile" in inspect.signature(found).parameters:
            options = {"profile": metric.get("profile", "standard"), **options}
        return found, options


def _share(shares: Mapping[str, float], name: str, names: Sequence[str]) -> float:
    """A member's share; equal ones where a number has no value, and so no weights."""
    return shares.get(name, 0.0) if shares else 1 / len(names)


def _range(metric: Mapping[str, Any]) -> Interval:
    spread = metric.get("range")
    return (-math.inf, math.inf) if spread is None else (spread[0], spread[1])


class RunPair:
    """Two runs, whose trials are matched once for each task."""

    def __init__(self, a: ComparedRun, b: ComparedRun, across: Collection[str]) -> None:
        self.a, self.b, self._across = a, b, across
        self._matched: dict[str, Matched | None] = {}

    def matched(self, task: str) -> Matched | None:
        if task not in self._matched:
            first, second = self.a.scores(task), self.b.scores(task)
            self._matched[task] = None if first is None or second is None else Matched.of(first, second)
        return self._matched[task]

    def compare(self, row: NumberRow, within: set[TrialName] | None = None, *, shift: bool = True) -> Compared:
        """A number between both runs; of a slice, ``within`` are its trials."""
        first, other = self.a.run.results, self.b.run.results
        inside = tasks_inside(row.task, {**self.b.members, **self.a.members})
        asked = sorted(inside & self.a.asked & self.b.asked)
        why = unlike(first, other, asked, row.metric, across=self._across)
        aspects = {one.aspect for task in asked for one in differences(first, other, task, row.metric)}
        pieces = [*self.a.pieces(row.task, row.metric)]
        found = [one for piece in pieces if (one := self._pairs(piece, within)) is not None]
        by_task = {piece.task: pairs for piece, pairs, _ in reversed(found)}
        missing = len({piece.task for piece in pieces} - by_task.keys())
        left_out = sum((pairs.left_out for pairs in by_task.values()), Counter[str]())
        known = Compared(
            pairs=_once(found, lambda pairs: pairs.trials),
            samples=_once(found, lambda pairs: pairs.samples),
            left_out={**left_out, **({TASKS: missing} if missing and row.is_group else {})},
            is_unlike=bool(why),
            why=why,
        )
        if why:
            return self._with_shift(known, found, aspects) if shift else known
        paired = [(piece, pairs, scores) for piece, pairs, scores in found if pairs.trials]
        if not paired:
            return _unpaired(known, left_out, has_task=bool(found))
        try:
            tested = self._test(paired)
        except MmevalError as error:
            return replace(known, is_unlike=True, why=f"its aggregator cannot be used: {error}")
        if tested is None:
            return replace(known, why="it has no value over the pairs")
        bounds = self._bounds(paired)
        known = replace(known, test=tested, clusters=tested.clusters, bounds=bounds)
        return self._with_shift(known, found, aspects) if shift else known

    def _pairs(self, piece: Piece, within: set[TrialName] | None) -> tuple[Piece, Pairs, Matched] | None:
        a, b = self.a.scores(piece.task), self.b.scores(piece.task)
        if a is None or b is None or piece.number not in a.columns or piece.number not in b.columns:
            return None
        matched = self.matched(piece.task) if within is None else Matched.of(a, b, within)
        return None if matched is None else (piece, Pairs.of(a, b, piece.number, matched), matched)

    def _test(self, found: Sequence[tuple[Piece, Pairs, Matched]]) -> Paired | None:
        aggregators = [self.a.aggregator(piece.task, piece.number) for piece, _, _ in found]
        widths = [pairs.a.range[1] - pairs.a.range[0] for _, pairs, _ in found]
        if all(aggregator in (mean, weighted_mean) for aggregator, _ in aggregators):
            total = math.fsum(piece.share for piece, _, _ in found) or 1.0
            parts = []
            for (piece, pairs, _), (aggregator, _) in zip(found, aggregators, strict=True):
                ones = np.ones(pairs.trials)
                weights = pairs.weights if aggregator is weighted_mean else (ones, ones)
                parts.append(Part(piece.task, piece.share / total, pairs.a.clusters, *pairs.values, *weights))
            return compare_means(parts, max(widths))
        if len(found) > 1:
            return None
        ((_, pairs, _),) = found
        ((aggregator, options),) = aggregators
        return compare_by_draws(pairs.a, pairs.b, aggregator, options, widths[0])

    def _bounds(self, found: Sequence[tuple[Piece, Pairs, Matched]]) -> Interval | None:
        total = math.fsum(piece.share for piece, _, _ in found) or 1.0
        low = high = 0.0
        for piece, pairs, _ in found:
            a, b = self.a.scores(piece.task), self.b.scores(piece.task)
            assert a is not None and b is not None
            aggregator, options = self.a.aggregator(piece.task, piece.number)
            quick = {"interval": "bootstrap"} if aggregator in (mean, weighted_mean) else {}
            ends = bounds_of(
                (a.columns[piece.number], b.columns[piece.number]), pairs, aggregator, {**options, **quick}
            )
            if ends is None:
                return None
            low, high = low + piece.share / total * ends[0], high + piece.share / total * ends[1]
        return (low, high)

    def _with_shift(
        self, known: Compared, found: Sequence[tuple[Piece, Pairs, Matched]], aspects: Collection[Aspect]
    ) -> Compared:
        """The judge's shift, where another judge alone scored and some answers are the same in both runs."""
        if "judge" not in aspects or not {"judge", "protocol"}.issuperset(aspects):
            return known
        alike: list[tuple[Piece, Pairs, Matched]] = []
        others: list[tuple[Piece, Pairs, Matched]] = []
        for piece, _, matched in found:
            a, b = self.a.scores(piece.task), self.b.scores(piece.task)
            assert a is not None and b is not None
            first, second = self.a.answers(piece.task), self.b.answers(piece.task)
            same = [
                (at, other)
                for at, other in matched.both
                if (answer := first.get(a.names[at])) is not None and answer == second.get(b.names[other])
            ]
            for into, kept in ((alike, matched.kept(same)), (others, matched.without(same))):
                pairs = Pairs.of(a, b, piece.number, kept)
                if pairs.trials:
                    into.append((piece, pairs, kept))
        if not alike:
            return known
        return replace(
            known,
            shift=self._test(alike),
            shift_pairs=_once(alike, lambda pairs: pairs.trials),
            rest=self._test(others) if others else None,
            rest_pairs=_once(others, lambda pairs: pairs.trials),
        )


def _once(found: Sequence[tuple[Piece, Pairs, Matched]], count: Callable[[Pairs], int]) -> int:
    """A count over tasks: several numbers of one task are about the same trials, so the largest counts."""
    by_task: dict[str, int] = {}
    for piece, pairs, _ in found:
        by_task[piece.task] = max(count(pairs), by_task.get(piece.task, 0))
    return sum(by_task.values())


def _unpaired(known: Compared, left_out: Mapping[str, int], *, has_task: bool) -> Compared:
    if not has_task:
        return replace(known, why="one of the two runs has no such number")
    if left_out.get(ASKED_OTHERWISE) and not any(
        count for reason, count in left_out.items() if reason not in (ASKED_OTHERWISE, NOT_ASKED)
    ):
        return replace(known, is_unlike=True, why="every sample was asked in other words, or has other right answers")
    return replace(known, why="no trial has a score in both runs")
