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
from mmeval.aggregate.scores import Aggregator, Scores, load_aggregator
from mmeval.aggregate.statistics import Interval
from mmeval.comparison.answers import answers_of
from mmeval.comparison.paired.contributions import PairedMean
from mmeval.comparison.pairing import (
    ASKED_OTHERWISE,
    NOT_ASKED,
    PROMPTS,
    Alike,
    End,
    Pairs,
    TaskFolder,
    TaskScores,
    TrialMatches,
    TrialName,
    bounds_of,
)
from mmeval.comparison.statistics import PairedTest, compare_by_draws, compare_means
from mmeval.records.score import Key
from mmeval.results.compare import (
    JUDGE_PARAMETERS,
    differences,
    metric_of,
    metrics_of,
    name_of,
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
_OF_OTHER_WORDS = frozenset((ASKED_OTHERWISE, NOT_ASKED))
ONE_SIDED = "one of the two runs has no such number"
TASKS = "tasks"
"""Members of a group that are in no pair, among what is left out."""


class Piece(NamedTuple):
    """A task's number that a compared one is made of, with its share."""

    task: str
    number: str
    share: float


class PairedPiece(NamedTuple):
    """The trials of a piece that are asked alike in two runs, and those of them that
    have a score in both."""

    piece: Piece
    a: TaskScores
    b: TaskScores
    matches: TrialMatches
    pairs: Pairs

    @property
    def columns(self) -> tuple[Scores, Scores]:
        """All scores of the piece in both runs."""
        number = self.piece.number
        return self.a.columns[number], self.b.columns[number]


class LostTrials(NamedTuple):
    """How many trials have no score in one run though they might have had one, and have
    one in the other."""

    in_a: int = 0
    in_b: int = 0


_NOTHING = LostTrials()


class Refusals(NamedTuple):
    """How many answers the model refused, of how many trials."""

    answers: int = 0
    trials: int = 0


@dataclass(frozen=True)
class PairResult:
    """One number of two runs; without a ``test``, ``why`` is the reason.

    ``left_out`` counts by reason the trials in no pair, ``missing`` those that each run
    lacks, ``refused`` the answers that each refused. ``is_incomplete``: trials that
    might have a score are in no pair. ``worst`` is the test with lost trials at their
    worst for the second run; None if that is unknown. ``is_extra``: the first run does
    not have the number. ``shift`` is the judge's share of the difference, as JSON.
    """

    pairs: int = 0
    samples: int = 0
    test: PairedTest | None = None
    worst: PairedTest | None = None
    bounds: Interval | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
    lost: LostTrials = _NOTHING
    refused: tuple[Refusals, Refusals] = (Refusals(), Refusals())
    is_incomplete: bool = False
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
        self.requested_numbers: dict[str, set[str]] = {}
        self._scores: dict[str, TaskScores] = {}
        self._answers: dict[str, Mapping[TrialName, str]] = {}

    def metric(self, task: str, number: str) -> Mapping[str, Any]:
        return metric_of(self.run.ours, task, number)

    def scores(self, task: str) -> TaskScores | None:
        """Those of the wanted numbers of a task; None where the run has no such
        task."""
        if task not in self.tasks:
            return None
        if task not in self._scores:
            wanted = self.requested_numbers.get(task, ())
            ranges: dict[str, Interval] = {}
            for metric in metrics_of(self.run.ours, task).values():
                if metric.get("of_averages"):
                    continue
                for name in metric["outputs"]:
                    if name in wanted:
                        ranges[name] = range_of(metric)
            worst = self._worst(task, ranges)
            folders = self.folders(task)
            self._scores[task] = TaskScores(folders, ranges, self._label, worst)
        return self._scores[task]

    def folders(self, task: str) -> list[TaskFolder]:
        """The task in each of the run's folders that has it."""
        found = []
        for run in self.runs:
            for one in run.tasks:
                if one.name == task:
                    found.append(TaskFolder(run, one))
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
        template = {"user": prompt} if isinstance(prompt, str) else dict(prompt)
        protocol = config.get("protocol")
        if isinstance(protocol, Mapping):
            template["protocol"] = protocol
        return template

    def manner(self, task: str) -> Sequence[Any]:
        """What else stands in a request besides the words of the task."""
        config = self.tasks[task].config
        model = self.run.record.get("identity", {}).get("model", {})
        return [
            model.get("outputs"),
            self.run.ours.get("protocols", {}).get(task),
            config.get("generation_kwargs"),
            config.get("system_instruction"),
            config.get("output_modalities"),
        ]

    def pieces(
        self,
        task: str,
        number: str,
        share: float = 1.0,
    ) -> Iterator[Piece]:
        """The single numbers of tasks that a number is the mean of."""
        parts: list[tuple[str, str]] = []
        if task in self.members:
            for name in self.members[task]:
                if Key(name, number) in self.results:
                    parts.append((name, number))
        elif self.metric(task, number).get("of_averages"):
            parts = [(task, name) for name in self.metric(task, number)["pieces"]]
        else:
            yield Piece(task, number, share)
            return

        result = self.results.get(Key(task, number))
        shares: Mapping[str, float] = {} if result is None else result.weights
        for of_task, of_number in parts:
            if shares:
                own = shares.get(of_task, shares.get(of_number, 0.0))
            else:
                # a number without a value has no shares: all count alike
                own = 1 / len(parts)
            if own:
                yield from self.pieces(of_task, of_number, share * own)

    @cached_property
    def asked_tasks(self) -> frozenset[str]:
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
        options: dict[str, Any] = {}
        if "profile" in inspect.signature(found).parameters:
            options["profile"] = metric.get("profile", "standard")
        metric_name = name_of(self.run.ours, task, number) or number
        for entry in self.tasks[task].config.get("metric_list") or []:
            if entry.get("metric") == metric_name:
                written = entry.get("aggregation")
                if isinstance(written, dict):
                    options |= written
                    options.pop("name", None)
                break
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
        self._matches: dict[str, TrialMatches] = {}
        self._plans: dict[str, tuple[TaskRow, TaskRow]] = {}

    def plans(self, task: str) -> tuple[TaskRow, TaskRow]:
        """The definitions of the score sets of a task in both runs."""
        if task not in self._plans:
            plans: list[TaskRow] = []
            for run in (self.a, self.b):
                plans.append(run.tasks[task].plan if task in run.tasks else {})
            self._plans[task] = (plans[0], plans[1])
        return self._plans[task]

    def matches(self, task: str) -> TrialMatches | None:
        if task not in self._matches:
            first, second = self.a.scores(task), self.b.scores(task)
            if first is None or second is None:
                return None
            alike = self._alike(task, first, second)
            self._matches[task] = TrialMatches.of(first, second, alike)
        return self._matches[task]

    def _alike(
        self,
        task: str,
        a: TaskScores,
        b: TaskScores,
    ) -> Alike:
        """Whether trials were asked the same: their samples, and what a task makes of
        them. The wire form does not count, nor do parameters and a system instruction:
        models differ in them."""

        def same_sample(at: int, other: int) -> bool:
            return a.digests[at] == b.digests[other]

        if PROMPTS in self._across:
            return lambda at, other: (
                same_sample(at, other) or a.rest(at) == b.rest(other) != ""
            )
        template, other_template = self.a.template(task), self.b.template(task)
        if template == other_template:
            is_asked_alike = self.a.manner(task) == self.b.manner(task)
            tasks = (self.a.tasks[task], self.b.tasks[task])
            is_partial = any(one.config.get("partial_output") for one in tasks)
            if is_partial or not is_asked_alike:
                # requests differ, but not in the words of the task
                return same_sample
        has_same_protocol = template.get("protocol") == other_template.get("protocol")

        def same_request(at: int, other: int) -> bool:
            if not same_sample(at, other):
                return False
            asked, other_asked = a.request(at), b.request(other)
            if not asked or not other_asked:
                return True
            return asked == other_asked and has_same_protocol

        return same_request

    def compare(
        self, row: NumberRow, within: set[TrialName] | None = None
    ) -> PairResult:
        """A number between both runs; of a slice, ``within`` are its trials."""
        pieces = list(self.a.pieces(row.task, row.metric))
        found: list[PairedPiece] = []
        for piece in pieces:
            of_piece = self._find(piece, within)
            if of_piece is not None:
                found.append(of_piece)
        known = self._counted(row, pieces, found, within)
        if not found:
            is_extra = Key(row.task, row.metric) not in self.a.results
            return replace(known, why=ONE_SIDED, is_extra=is_extra)

        inside = tasks_inside(row.task, {**self.b.members, **self.a.members})
        asked = sorted(inside & self.a.asked_tasks & self.b.asked_tasks)
        why_unlike = unlike(
            self.a.run.results,
            self.b.run.results,
            asked,
            row.metric,
            across=self._across,
            plans=self.plans,
        )
        paired = [one for one in found if one.pairs.trials]
        differ_by_judge = within is None and self._differ_by_judge(asked, row.metric)
        try:
            if differ_by_judge:
                known = replace(known, shift=self._shift(paired))
            if why_unlike:
                return replace(known, is_unlike=True, why=why_unlike)
            if paired:
                test = self._test(paired)
                if test is None:
                    return replace(known, why="it has no value over the pairs")
                worst = None
                is_whole = len(found) == len(pieces)
                if self._with_worst and is_whole:
                    worst = self._worst(found, row)
                bounds = self._bounds(paired)
                return replace(known, test=test, worst=worst, bounds=bounds)
        # a plugin's aggregator may be missing, raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            why = f"its aggregator cannot be used ({type(error).__name__}: {error})"
            return replace(known, is_unlike=True, why=why)

        reasons = set(known.left_out)
        is_unlike = ASKED_OTHERWISE in reasons and reasons <= _OF_OTHER_WORDS
        why = "no trial has a score in both runs"
        if is_unlike:
            why = (
                "every sample was asked in other words, or has other right answers "
                "(--across prompts compares other words)"
            )
        return replace(known, is_unlike=is_unlike, why=why)

    def _counted(
        self,
        row: NumberRow,
        pieces: Sequence[Piece],
        found: Sequence[PairedPiece],
        within: set[TrialName] | None,
    ) -> PairResult:
        """What there is of a number, before anything is tested."""
        # several numbers of one task are about the same trials: the largest counts
        by_task: dict[str, Pairs] = {}
        for one in sorted(found, key=lambda one: one.pairs.trials):
            by_task[one.piece.task] = one.pairs

        left_out: Counter[str] = Counter()
        missing_a: Counter[str] = Counter()
        missing_b: Counter[str] = Counter()
        for pairs in by_task.values():
            left_out += pairs.left_out
            missing_a += pairs.missing_a
            missing_b += pairs.missing_b
        if row.is_group:
            tasks = {piece.task for piece in pieces}
            left_out[TASKS] = len(tasks - by_task.keys())

        has_lost = any(one.pairs.lost for one in found)
        return PairResult(
            pairs=sum(pairs.trials for pairs in by_task.values()),
            samples=sum(pairs.samples for pairs in by_task.values()),
            left_out=+left_out,
            missing=(missing_a, missing_b),
            lost=self._lost(pieces, found),
            refused=(
                _refused_by(self.a, pieces, within),
                _refused_by(self.b, pieces, within),
            ),
            is_incomplete=has_lost or len(found) < len(pieces),
        )

    def _differ_by_judge(self, tasks: Sequence[str], metric: str) -> bool:
        """Whether a judge is what differs, and nothing but its protocol with it."""
        a, b = self.a.run.results, self.b.run.results
        aspects: set[str] = set()
        for task in tasks:
            for difference in differences(a, b, task, metric, self.plans):
                aspects.add(difference.aspect)
        of_judge = {"judge", JUDGE_PARAMETERS}
        return bool(aspects & of_judge) and aspects <= of_judge | {"protocol"}

    def _find(self, piece: Piece, within: set[TrialName] | None) -> PairedPiece | None:
        a, b = self.a.scores(piece.task), self.b.scores(piece.task)
        matches = self.matches(piece.task)
        if a is None or b is None or matches is None:
            return None
        if piece.number not in a.columns or piece.number not in b.columns:
            return None
        if within is not None:
            alike = self._alike(piece.task, a, b)
            matches = TrialMatches.of(a, b, alike, within)
        return PairedPiece(piece, a, b, matches, Pairs.of(a, b, piece.number, matches))

    def _test(self, found: Sequence[PairedPiece]) -> PairedTest | None:
        """The test of a mean of pieces, or of the only piece with another
        aggregator."""
        aggregators = []
        widths = []
        for one in found:
            aggregators.append(self.a.aggregator(one.piece.task, one.piece.number))
            low, high = one.pairs.a.range
            widths.append(high - low)
        if not all(aggregator in _BY_MEANS for aggregator, _ in aggregators):
            if len(found) > 1:
                return None
            aggregator, options = aggregators[0]
            a, b = found[0].pairs.a, found[0].pairs.b
            return compare_by_draws(a, b, aggregator, options, widths[0])

        parts: list[PairedMean] = []
        shares = _shares(found)
        for one, share, of_piece in zip(found, shares, aggregators, strict=True):
            parts += _parts(one.pairs, share, *of_piece)
        for part in parts:
            has_weights = part.weights_a.sum() > 0 and part.weights_b.sum() > 0
            if not has_weights:
                return None
        return compare_means(parts, max(widths))

    def _worst(self, found: Sequence[PairedPiece], row: NumberRow) -> PairedTest | None:
        """The test with lost trials at their worst for the second run."""
        ends: tuple[End, End] = (1, 0) if row.higher_is_better else (0, 1)
        whole = []
        for one in found:
            pairs = one.pairs.completed(one.columns, ends)
            if pairs is None:
                return None
            if pairs.trials:
                whole.append(one._replace(pairs=pairs))
        return self._test(whole)

    def _lost(
        self, pieces: Sequence[Piece], found: Sequence[PairedPiece]
    ) -> LostTrials:
        """What is lost in one run only, of the piece of which the second run lacks the
        most."""
        pairs = {one.piece: one.pairs for one in found}
        counts = [_NOTHING]
        for piece in pieces:
            a, b = self.a.scores(piece.task), self.b.scores(piece.task)
            first = [] if a is None else a.statuses.get(piece.number, [])
            second = [] if b is None else b.statuses.get(piece.number, [])
            if piece not in pairs:
                counts.append(LostTrials(second.count("scored"), first.count("scored")))
                continue
            in_a = in_b = 0
            for at, other in pairs[piece].lost:
                has_a = at is not None and first[at] == "scored"
                has_b = other is not None and second[other] == "scored"
                in_a += has_b and not has_a
                in_b += has_a and not has_b
            counts.append(LostTrials(in_a, in_b))
        return max(counts, key=lambda one: one.in_b)

    def _bounds(self, found: Sequence[PairedPiece]) -> Interval | None:
        low = high = 0.0
        for one, share in zip(found, _shares(found), strict=True):
            piece = one.piece
            aggregator, options = self.a.aggregator(piece.task, piece.number)
            if aggregator in (mean, weighted_mean):
                # only the value is used: this interval is the quickest one
                options = {"interval": "bootstrap"}
            ends = bounds_of(one.columns, one.pairs, aggregator, options)
            if ends is None:
                return None
            low += share * ends[0]
            high += share * ends[1]
        return (low, high)

    def _shift(self, found: Sequence[PairedPiece]) -> Mapping[str, Any] | None:
        """The difference over the answers that both runs gave alike, which is the
        judge's, and over the ``rest``. None without such answers."""
        alike: list[PairedPiece] = []
        others: list[PairedPiece] = []
        for one in found:
            piece, a, b = one.piece, one.a, one.b
            first = self.a.answers(piece.task)
            second = self.b.answers(piece.task)
            both_alike: list[tuple[int, int]] = []
            both_others: list[tuple[int, int]] = []
            for at, other in one.matches.both:
                answer = first.get(a.names[at])
                if answer is not None and answer == second.get(b.names[other]):
                    both_alike.append((at, other))
                else:
                    both_others.append((at, other))
            for both, into in ((both_alike, alike), (both_others, others)):
                kept = TrialMatches(both)
                pairs = Pairs.of(a, b, piece.number, kept)
                if pairs.trials:
                    into.append(one._replace(matches=kept, pairs=pairs))
        shift = self._shift_over(alike)
        if shift is None:
            return None
        return {**shift, "rest": self._shift_over(others)}

    def _shift_over(self, found: Sequence[PairedPiece]) -> Mapping[str, Any] | None:
        test = self._test(found) if found else None
        if test is None:
            return None
        trials = [one.pairs.trials for one in found]
        tasks = {one.piece.task for one in found}
        # several numbers of one task are about the same trials: the largest counts
        pairs = max(trials) if len(tasks) == 1 else sum(trials)
        return {
            "pairs": pairs,
            "clusters": test.clusters,
            "difference": test.difference,
            "stderr": test.stderr,
            "ci95": test.ci95,
        }


def _refused_by(
    run: ComparedRun, pieces: Sequence[Piece], within: set[TrialName] | None
) -> Refusals:
    """What a run refused of the tasks of some numbers; ``within`` are the trials of a
    slice. Of several numbers of a task the one with most counts."""
    by_task: dict[str, Refusals] = {}
    for piece in pieces:
        scores = run.scores(piece.task)
        if scores is None or piece.number not in scores.columns:
            continue
        places = scores.columns[piece.number].refused
        trials = len(scores.names)
        if within is not None:
            own = {at for at, name in enumerate(scores.names) if name in within}
            places, trials = places & own, len(own)
        refused = Refusals(len(places), trials)
        by_task[piece.task] = max(refused, by_task.get(piece.task, refused))
    answers = sum(refused.answers for refused in by_task.values())
    trials = sum(refused.trials for refused in by_task.values())
    return Refusals(answers, trials)


def _shares(found: Sequence[PairedPiece]) -> list[float]:
    """Those of the pieces that have pairs, which sum to 1."""
    total = math.fsum(one.piece.share for one in found)
    return [one.piece.share / total for one in found]


def _parts(
    pairs: Pairs, share: float, aggregator: Aggregator, options: Mapping[str, Any]
) -> list[PairedMean]:
    """The means that a number is the mean of: one, or that of each level of a label."""
    clusters = pairs.a.clusters
    values_a, values_b = pairs.values
    weights_a = weights_b = np.ones(pairs.trials)
    if aggregator is weighted_mean:
        weights_a, weights_b = pairs.weights
    levels: list[Sequence[int]] = [range(pairs.trials)]
    if aggregator is macro_mean:
        levels = list(pairs.a.places(options["by"]).values()) or levels
    parts = []
    for level in levels:
        places = list(level)
        part = PairedMean(
            share=share / len(levels),
            clusters=[clusters[place] for place in places],
            a=values_a[places],
            b=values_b[places],
            weights_a=weights_a[places],
            weights_b=weights_b[places],
        )
        parts.append(part)
    return parts
