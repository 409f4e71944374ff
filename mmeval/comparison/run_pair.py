"""The numbers that runs are compared by, and one of them compared between two runs."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mmeval.aggregate.aggregators import macro_mean, mean, weighted_mean
from mmeval.aggregate.scores import Aggregator, load_aggregator
from mmeval.aggregate.statistics import Interval
from mmeval.comparison.answers import answers_of
from mmeval.comparison.paired.contributions import Part
from mmeval.comparison.pairing import (
    ASKED_OTHERWISE,
    NOT_ASKED,
    PROMPTS,
    Alike,
    End,
    Matched,
    Pairs,
    TaskScores,
    TrialName,
    bounds_of,
)
from mmeval.comparison.pairing import Part as Folder
from mmeval.comparison.statistics import Paired, compare_by_draws, compare_means
from mmeval.records.score import Key
from mmeval.results.compare import (
    JUDGE_PARAMETERS,
    differences,
    metric_of,
    range_of,
    unlike,
)
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import NumberRow, groups_of, results_of
from mmeval.results.stored_run import StoredRun, TaskRow

_MEANS: Mapping[str, Aggregator] = {
    "mean": mean,
    "repeats": mean,
    "weighted_mean": weighted_mean,
}
"""The aggregators whose value is a mean: their differences are tested without drawing
anything."""
_BY_MEANS = (mean, weighted_mean, macro_mean)
ONE_SIDED = "one of the two runs has no such number"
TASKS = "tasks"
"""Members of a group that are in no pair, among what is left out."""


class Piece(NamedTuple):
    """A task's number that a compared one is made of, with its share."""

    task: str
    number: str
    share: float


class Found(NamedTuple):
    """The trials of a piece that are asked alike in two runs, and those of them that
    have a score in both."""

    piece: Piece
    matched: Matched
    pairs: Pairs


class Lost(NamedTuple):
    """How many trials have no score in one run though they might have had one, and have
    one in the other."""

    in_a: int = 0
    in_b: int = 0


_NOTHING = Lost()


class Refused(NamedTuple):
    """How many answers the model refused, of how many trials."""

    answers: int = 0
    trials: int = 0


@dataclass(frozen=True)
class Compared:
    """A number of two runs. ``test`` is None where nothing is tested, and ``why`` says
    why.

    ``left_out`` counts trials in no pair by reason, ``lacking`` what each of the two
    runs lacks of them, ``refused`` what each refused. ``lacks_trials``: some that might
    have had a score are in no pair. ``worst`` is the test with the lost trials at their
    worst for the second run, None where that is not known. ``is_extra``: the first run
    has no such number. ``shift`` is that of the judge, as its JSON has it.
    """

    pairs: int = 0
    samples: int = 0
    test: Paired | None = None
    worst: Paired | None = None
    bounds: Interval | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    lacking: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
    lost: Lost = _NOTHING
    refused: tuple[Refused, Refused] = (Refused(), Refused())
    lacks_trials: bool = False
    shift: Mapping[str, Any] | None = None
    is_unlike: bool = False
    is_extra: bool = False
    why: str = ""


class ComparedRun:
    """A run with what its numbers are made of. The scores of a task are read when they
    are first needed: those of the numbers in ``wanted``.

    ``repeats`` are further runs of the same model, each of which counts as more repeats
    of every sample. With ``failed_is_worst`` a failed answer has the worst score there
    is.
    """

    def __init__(
        self,
        run: StoredRun,
        name: str,
        label: str,
        *,
        repeats: Sequence[StoredRun] = (),
        failed_is_worst: bool = False,
    ) -> None:
        self.run, self.name, self._label = run, name, label
        self.runs = (run, *repeats)
        self._failed_is_worst = failed_is_worst
        self.tasks = {task.name: task for task in run.tasks}
        self.results = results_of(run.results)
        self.members = groups_of([run.results])
        self.wanted: dict[str, set[str]] = {}
        self._scores: dict[str, TaskScores | None] = {}
        self._answers: dict[str, Mapping[TrialName, str]] = {}

    def metric(self, task: str, number: str) -> Mapping[str, Any]:
        return metric_of(self.run.ours, task, number)

    def scores(self, task: str) -> TaskScores | None:
        """Those of the wanted numbers of a task; None where the run has no such
        task."""
        if task not in self._scores:
            found = self.tasks.get(task)
            numbers = self.run.ours.get("metrics", {}).get(task, {}).values()
            outputs = {
                name: one
                for one in numbers
                if not one.get("of_averages")
                for name in one["outputs"]
            }
            ranges = {
                name: range_of(one)
                for name, one in outputs.items()
                if name in self.wanted.get(task, ())
            }
            self._scores[task] = (
                None
                if found is None
                else TaskScores(
                    self.folders(task), ranges, self._label, self._worst(task, ranges)
                )
            )
        return self._scores[task]

    def folders(self, task: str) -> list[Folder]:
        """The task in each of the run's folders that has it."""
        found = []
        for run in self.runs:
            for one in run.tasks:
                if one.name == task:
                    found.append(Folder(run, one))
        return found

    def _worst(self, task: str, ranges: Mapping[str, Interval]) -> dict[str, float]:
        """By number what a failed answer counts as, where that is finite."""
        if not self._failed_is_worst:
            return {}
        found = {}
        for name, (low, high) in ranges.items():
            result = self.results.get(Key(task, name))
            is_higher_better = result is None or result.higher_is_better
            worst = low if is_higher_better else high
            if math.isfinite(worst):
                found[name] = worst
        return found

    def answers(self, task: str) -> Mapping[TrialName, str]:
        if task not in self._answers:
            found: dict[TrialName, str] = {}
            scores = self.scores(task)
            assert scores is not None
            for part, offset in zip(scores.parts, scores.offsets, strict=True):
                for (name, repeat), answer in answers_of(*part).items():
                    found[name, repeat + offset] = answer
            self._answers[task] = found
        return self._answers[task]

    def template(self, task: str) -> Mapping[str, Any]:
        """What the task file says of the words that are asked."""
        config = self.tasks[task].config
        prompt = config.get("prompt") or {}
        protocol = config.get("protocol")
        return {
            **({"user": prompt} if isinstance(prompt, str) else prompt),
            **({"protocol": protocol} if isinstance(protocol, Mapping) else {}),
        }

    def manner(self, task: str) -> Sequence[Any]:
        """What else stands in a request besides the words of the task."""
        config = self.tasks[task].config
        model = self.run.record.get("identity", {}).get("model", {})
        names = ("generation_kwargs", "system_instruction", "output_modalities")
        return [
            model.get("outputs"),
            self.run.ours.get("protocols", {}).get(task),
            *(config.get(name) for name in names),
        ]

    def pieces(self, task: str, number: str, share: float = 1.0) -> Iterator[Piece]:
        """The single numbers of tasks that a number is the mean of."""
        result = self.results.get(Key(task, number))
        shares: Mapping[str, float] = {} if result is None else result.weights
        if task in self.members:
            names = [
                name for name in self.members[task] if Key(name, number) in self.results
            ]
            yield from self._parts([(name, number) for name in names], shares, share)
        elif self.metric(task, number).get("of_averages"):
            yield from self._parts(
                [(task, name) for name in self.metric(task, number)["pieces"]],
                shares,
                share,
            )
        else:
            yield Piece(task, number, share)

    def _parts(
        self,
        parts: Sequence[tuple[str, str]],
        shares: Mapping[str, float],
        whole: float,
    ) -> Iterator[Piece]:
        """Those that count; all alike where a number has no value, and so no shares."""
        for task, number in parts:
            own = (
                shares.get(task, shares.get(number, 0.0)) if shares else 1 / len(parts)
            )
            if own:
                yield from self.pieces(task, number, whole * own)

    @cached_property
    def asked(self) -> frozenset[str]:
        return frozenset(self.run.ours.get("protocols", self.tasks))

    def aggregator(
        self, task: str, number: str
    ) -> tuple[Aggregator, Mapping[str, Any]]:
        """The aggregator of a number and its options. Raises MmevalError where it is
        not installed."""
        metric = self.metric(task, number)
        name = str(metric.get("aggregation", "mean"))
        if name in _MEANS:
            return _MEANS[name], {}
        found = load_aggregator(name)
        metrics = self.run.ours.get("metrics", {}).get(task, {})
        own = next(
            (key for key, one in metrics.items() if number in one.get("outputs", ())),
            number,
        )
        entries: list[Mapping[str, Any]] = (
            self.tasks[task].config.get("metric_list") or []
        )
        written = next(
            (one.get("aggregation") for one in entries if one.get("metric") == own),
            None,
        )
        options = (
            {key: value for key, value in written.items() if key != "name"}
            if isinstance(written, dict)
            else {}
        )
        if "profile" in inspect.signature(found).parameters:
            options = {"profile": metric.get("profile", "standard"), **options}
        return found, options


class RunPair:
    """Two runs, whose trials are matched once for each task."""

    def __init__(
        self,
        a: ComparedRun,
        b: ComparedRun,
        across: Collection[str],
        *,
        with_worst: bool = False,
    ) -> None:
        """``with_worst``: numbers are also tested with what is lost at its worst."""
        self.a, self.b, self._across = a, b, across
        self._with_worst = with_worst
        self._matched: dict[str, Matched | None] = {}
        self._plans: dict[str, tuple[TaskRow, TaskRow]] = {}

    def plans(self, task: str) -> tuple[TaskRow, TaskRow]:
        """The definitions of the score sets of a task in both runs."""
        if task not in self._plans:
            first, second = self.a.tasks.get(task), self.b.tasks.get(task)
            self._plans[task] = (
                {} if first is None else first.plan,
                {} if second is None else second.plan,
            )
        return self._plans[task]

    def matched(self, task: str) -> Matched | None:
        if task not in self._matched:
            first, second = self.a.scores(task), self.b.scores(task)
            self._matched[task] = (
                None
                if first is None or second is None
                else Matched.of(first, second, self._alike(task, first, second))
            )
        return self._matched[task]

    def _alike(self, task: str, a: TaskScores, b: TaskScores) -> Alike:
        """Whether trials were asked the same: their samples, and what a task makes of
        them. The wire form does not count, nor do parameters and a system instruction:
        models differ in them."""

        def same_sample(at: int, other: int) -> bool:
            return a.digests[at] == b.digests[other]

        if PROMPTS in self._across:
            return lambda at, other: (
                same_sample(at, other) or a.rest(at) == b.rest(other) != ""
            )
        templates = [run.template(task) for run in (self.a, self.b)]
        has_same_words = templates[0] == templates[1]
        is_asked_alike = self.a.manner(task) == self.b.manner(task)
        is_partial = any(
            run.tasks[task].config.get("partial_output") for run in (self.a, self.b)
        )
        if has_same_words and (is_partial or not is_asked_alike):
            # requests differ, but not in the words of the task
            return same_sample
        follow_ups = [one.get("protocol") for one in templates]

        def same_request(at: int, other: int) -> bool:
            if not same_sample(at, other):
                return False
            asked = (a.request(at), b.request(other))
            if not all(asked):
                return True
            return asked[0] == asked[1] and follow_ups[0] == follow_ups[1]

        return same_request

    def compare(self, row: NumberRow, within: set[TrialName] | None = None) -> Compared:
        """A number between both runs; of a slice, ``within`` are its trials."""
        pieces = list(self.a.pieces(row.task, row.metric))
        found: list[Found] = []
        for piece in pieces:
            of_piece = self._find(piece, within)
            if of_piece is not None:
                found.append(of_piece)
        known = self._counted(row, pieces, found, within)
        if not found:
            is_extra = Key(row.task, row.metric) not in self.a.results
            return replace(known, why=ONE_SIDED, is_extra=is_extra)

        inside = tasks_inside(row.task, {**self.b.members, **self.a.members})
        asked = sorted(inside & self.a.asked & self.b.asked)
        why_unlike = unlike(
            self.a.run.results,
            self.b.run.results,
            asked,
            row.metric,
            across=self._across,
            plans=self.plans,
        )
        differ_by_judge = self._differ_by_judge(asked, row.metric)
        paired = [one for one in found if one.pairs.trials]
        try:
            if within is None and differ_by_judge:
                known = replace(known, shift=self._shift(paired))
            if why_unlike:
                return replace(known, is_unlike=True, why=why_unlike)
            if paired:
                is_whole = len(found) == len(pieces)
                return self._tested(known, row, found, paired, is_whole=is_whole)
        # a plugin's aggregator may be missing, raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            why = f"its aggregator cannot be used ({type(error).__name__}: {error})"
            return replace(known, is_unlike=True, why=why)

        reasons = set(known.left_out)
        if ASKED_OTHERWISE in reasons and reasons <= {ASKED_OTHERWISE, NOT_ASKED}:
            why = (
                "every sample was asked in other words, or has other right answers "
                "(--across prompts compares other words)"
            )
            return replace(known, is_unlike=True, why=why)
        return replace(known, why="no trial has a score in both runs")

    def _counted(
        self,
        row: NumberRow,
        pieces: Sequence[Piece],
        found: Sequence[Found],
        within: set[TrialName] | None,
    ) -> Compared:
        """What there is of a number, before anything is tested."""
        # several numbers of one task are about the same trials: the largest counts
        by_task: dict[str, Pairs] = {}
        for piece, _, pairs in sorted(found, key=lambda one: one.pairs.trials):
            by_task[piece.task] = pairs

        left_out: Counter[str] = Counter()
        of_a: Counter[str] = Counter()
        of_b: Counter[str] = Counter()
        for pairs in by_task.values():
            left_out += pairs.left_out
            of_a += pairs.of_a
            of_b += pairs.of_b
        if row.is_group:
            tasks = {piece.task for piece in pieces}
            left_out[TASKS] = len(tasks - by_task.keys())

        has_lost = any(one.pairs.lost for one in found)
        return Compared(
            pairs=sum(pairs.trials for pairs in by_task.values()),
            samples=sum(pairs.samples for pairs in by_task.values()),
            left_out=+left_out,
            lacking=(of_a, of_b),
            lost=self._lost(pieces, found),
            refused=(
                _refused_by(self.a, pieces, within),
                _refused_by(self.b, pieces, within),
            ),
            lacks_trials=has_lost or len(found) < len(pieces),
        )

    def _differ_by_judge(self, tasks: Sequence[str], metric: str) -> bool:
        """Whether a judge is what differs, and nothing but its protocol with it."""
        aspects: set[str] = set()
        for task in tasks:
            for difference in differences(
                self.a.run.results,
                self.b.run.results,
                task,
                metric,
                self.plans,
            ):
                aspects.add(difference.aspect)
        of_judge = {"judge", JUDGE_PARAMETERS}
        return bool(aspects & of_judge) and aspects <= of_judge | {"protocol"}

    def _tested(
        self,
        known: Compared,
        row: NumberRow,
        found: Sequence[Found],
        paired: Sequence[Found],
        *,
        is_whole: bool,
    ) -> Compared:
        """With the test of the ``paired`` pieces; ``is_whole``: none is missing."""
        test = self._test(paired)
        if test is None:
            return replace(known, why="it has no value over the pairs")
        worst = None
        if self._with_worst and is_whole:
            worst = self._worst(found, row)
        return replace(known, test=test, worst=worst, bounds=self._bounds(paired))

    def _find(self, piece: Piece, within: set[TrialName] | None) -> Found | None:
        a, b = self.a.scores(piece.task), self.b.scores(piece.task)
        if (
            a is None
            or b is None
            or piece.number not in a.columns
            or piece.number not in b.columns
        ):
            return None
        matched = (
            Matched.of(a, b, self._alike(piece.task, a, b), within)
            if within is not None
            else self.matched(piece.task)
        )
        return (
            None
            if matched is None
            else Found(piece, matched, Pairs.of(a, b, piece.number, matched))
        )

    def _test(self, found: Sequence[Found]) -> Paired | None:
        """The test of a mean of pieces, or of the only piece with another
        aggregator."""
        aggregators = [
            self.a.aggregator(piece.task, piece.number) for piece, _, _ in found
        ]
        widths = [pairs.a.range[1] - pairs.a.range[0] for _, _, pairs in found]
        if all(aggregator in _BY_MEANS for aggregator, _ in aggregators):
            parts: list[Part] = []
            for one, share, (aggregator, options) in zip(
                found, _shares(found), aggregators, strict=True
            ):
                parts += _parts(one.pairs, share, aggregator, options)
            weights = [side for part in parts for side in part[-2:]]
            if not all(side.sum() > 0 for side in weights):
                return None
            return compare_means(parts, max(widths))
        if len(found) > 1:
            return None
        ((aggregator, options),) = aggregators
        return compare_by_draws(
            found[0].pairs.a, found[0].pairs.b, aggregator, options, widths[0]
        )

    def _worst(self, found: Sequence[Found], row: NumberRow) -> Paired | None:
        """The test with lost trials at their worst for the second run."""
        ends: tuple[End, End] = (1, 0) if row.higher_is_better else (0, 1)
        whole = []
        for one in found:
            a, b = self.a.scores(one.piece.task), self.b.scores(one.piece.task)
            assert a is not None and b is not None
            number = one.piece.number
            pairs = one.pairs.completed((a.columns[number], b.columns[number]), ends)
            if pairs is None:
                return None
            if pairs.trials:
                whole.append(one._replace(pairs=pairs))
        return self._test(whole)

    def _lost(self, pieces: Sequence[Piece], found: Sequence[Found]) -> Lost:
        """What is lost in one run only, of the piece of which the second run lacks the
        most."""
        pairs = {one.piece: one.pairs for one in found}
        counts = [_NOTHING]
        for piece in pieces:
            a, b = self.a.scores(piece.task), self.b.scores(piece.task)
            first = [] if a is None else a.statuses.get(piece.number, [])
            second = [] if b is None else b.statuses.get(piece.number, [])
            if piece not in pairs:
                counts.append(Lost(second.count("scored"), first.count("scored")))
                continue
            in_a = in_b = 0
            for at, other in pairs[piece].lost:
                has_a = at is not None and first[at] == "scored"
                has_b = other is not None and second[other] == "scored"
                in_a += has_b and not has_a
                in_b += has_a and not has_b
            counts.append(Lost(in_a, in_b))
        return max(counts, key=lambda one: one.in_b)

    def _bounds(self, found: Sequence[Found]) -> Interval | None:
        low = high = 0.0
        for (piece, _, pairs), share in zip(found, _shares(found), strict=True):
            a, b = self.a.scores(piece.task), self.b.scores(piece.task)
            assert a is not None and b is not None
            aggregator, options = self.a.aggregator(piece.task, piece.number)
            quick = (
                {"interval": "bootstrap"}
                if aggregator in (mean, weighted_mean)
                else options
            )
            ends = bounds_of(
                (a.columns[piece.number], b.columns[piece.number]),
                pairs,
                aggregator,
                quick,
            )
            if ends is None:
                return None
            low, high = low + share * ends[0], high + share * ends[1]
        return (low, high)

    def _shift(self, found: Sequence[Found]) -> Mapping[str, Any] | None:
        """The difference over the answers that both runs gave alike, which is the
        judge's, and over the ``rest``. None without such answers."""
        alike: list[Found] = []
        others: list[Found] = []
        for piece, matched, _ in found:
            a, b = self.a.scores(piece.task), self.b.scores(piece.task)
            assert a is not None and b is not None
            first, second = self.a.answers(piece.task), self.b.answers(piece.task)
            sorted_out: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
            for at, other in matched.both:
                answer = first.get(a.names[at])
                sorted_out[
                    answer is not None and answer == second.get(b.names[other])
                ].append((at, other))
            for into, both in zip((others, alike), sorted_out, strict=True):
                kept = Matched(both)
                pairs = Pairs.of(a, b, piece.number, kept)
                if pairs.trials:
                    into.append(Found(piece, kept, pairs))
        shift = self._told(alike)
        return None if shift is None else {**shift, "rest": self._told(others)}

    def _told(self, found: Sequence[Found]) -> Mapping[str, Any] | None:
        test = self._test(found) if found else None
        if test is None:
            return None
        pairs = (
            max(one.pairs.trials for one in found)
            if len({one.piece.task for one in found}) == 1
            else None
        )
        return {
            "pairs": sum(one.pairs.trials for one in found) if pairs is None else pairs,
            "clusters": test.clusters,
            "difference": test.difference,
            "stderr": test.stderr,
            "ci95": test.ci95,
        }


def _refused_by(
    run: ComparedRun, pieces: Sequence[Piece], within: set[TrialName] | None
) -> Refused:
    """What a run refused of the tasks of some numbers; ``within`` are the trials of a
    slice. Of several numbers of a task the one with most counts."""
    by_task: dict[str, Refused] = {}
    for piece in pieces:
        scores = run.scores(piece.task)
        if scores is None or piece.number not in scores.columns:
            continue
        places = scores.columns[piece.number].refused
        trials = len(scores.names)
        if within is not None:
            own = {at for at, name in enumerate(scores.names) if name in within}
            places, trials = places & own, len(own)
        refused = Refused(len(places), trials)
        by_task[piece.task] = max(refused, by_task.get(piece.task, refused))
    return Refused(
        sum(refused.answers for refused in by_task.values()),
        sum(refused.trials for refused in by_task.values()),
    )


def _shares(found: Sequence[Found]) -> list[float]:
    """Those of the pieces that have pairs, which sum to 1."""
    total = math.fsum(one.piece.share for one in found)
    return [one.piece.share / total for one in found]


def _parts(
    pairs: Pairs, share: float, aggregator: Aggregator, options: Mapping[str, Any]
) -> list[Part]:
    """The means that a number is the mean of: one, or that of each level of a label."""
    values, clusters = pairs.values, pairs.a.clusters
    ones = np.ones(pairs.trials)
    weights = pairs.weights if aggregator is weighted_mean else (ones, ones)
    levels: list[Sequence[int]] = [range(pairs.trials)]
    if aggregator is macro_mean:
        levels = list(pairs.a.places(options["by"]).values()) or levels
    return [
        Part(
            share / len(levels),
            [clusters[place] for place in level],
            *(side[list(level)] for side in (*values, *weights)),
        )
        for level in levels
    ]
