"""Compares one number between two runs."""

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
from mmeval.program.prompt_origin import without_released_texts
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
"""The aggregators that compute a mean. Their differences are tested without
resampling."""
_BY_MEANS = (mean, weighted_mean, macro_mean)
_OF_OTHER_WORDS = frozenset((ASKED_OTHERWISE, NOT_ASKED))
ONE_SIDED = "one of the two runs does not have this number"
TASKS = "tasks"
"""The key in ``left_out`` for the unpaired tasks of a group."""


class Piece(NamedTuple):
    """A number of one task, with its ``share`` of the compared number."""

    task: str
    number: str
    share: float


class PairedPiece(NamedTuple):
    """A ``Piece`` in two runs, with its matching trials and the pairs of trials that
    have a score in both runs."""

    piece: Piece
    a: TaskScores
    b: TaskScores
    matches: TrialMatches
    pairs: Pairs

    @property
    def columns(self) -> tuple[Scores, Scores]:
        """All scores of the ``piece`` in both runs."""
        number = self.piece.number
        return self.a.columns[number], self.b.columns[number]


class LostTrials(NamedTuple):
    """The numbers of trials that are lost in one run and scored in the other."""

    in_a: int = 0
    in_b: int = 0


_NOTHING = LostTrials()


class Refusals(NamedTuple):
    """The number of answers that the model refused, and the number of trials."""

    answers: int = 0
    trials: int = 0


@dataclass(frozen=True)
class PairResult:
    """The result of comparing one number of two runs. If there is no ``test``, ``why``
    is the reason.

    ``left_out`` counts the unpaired trials by reason. ``missing`` counts the trials
    that each run lacks. ``refused`` counts the requests that the model refused in each
    run. ``is_incomplete`` is True if trials that might have a score are unpaired.
    ``worst`` is the test in which lost trials get the worst scores for the second run,
    or None if these are unknown. ``is_extra`` is True if the first run does not have
    the number. ``shift`` is the part of the difference that the judge causes, as JSON.
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
    """A run whose scores are read when they are first needed. Only the scores of
    ``requested_numbers`` are read.

    ``repeats`` are further runs of the same model, which are treated as more repeats of
    every sample. With ``failed_is_worst`` a failed answer has the worst possible score.
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
        """Returns the scores of a task's requested numbers, or None if the run lacks
        the task."""
        if task not in self.tasks:
            return None
        if task not in self._scores:
            requested = self.requested_numbers.get(task, ())
            ranges: dict[str, Interval] = {}
            for metric in metrics_of(self.run.ours, task).values():
                if metric.get("of_averages"):
                    continue
                for name in metric["outputs"]:
                    if name in requested:
                        ranges[name] = range_of(metric)
            worst = self._worst(task, ranges)
            folders = self.folders(task)
            self._scores[task] = TaskScores(folders, ranges, self._label, worst)
        return self._scores[task]

    def folders(self, task: str) -> list[TaskFolder]:
        """Returns the task in each of the run's folders that contains it."""
        folders = []
        for run in self.runs:
            for stored_task in run.tasks:
                if stored_task.name == task:
                    folders.append(TaskFolder(run, stored_task))
        return folders

    def _worst(self, task: str, ranges: Mapping[str, Interval]) -> dict[str, float]:
        """Returns the score of a failed answer, for each number where it is finite."""
        if not self._failed_is_worst:
            return {}
        worst_scores = {}
        for name, (low, high) in ranges.items():
            result = self.results.get(Key(task, name))
            is_higher_better = result is None or result.higher_is_better
            worst = low if is_higher_better else high
            if math.isfinite(worst):
                worst_scores[name] = worst
        return worst_scores

    def answers(self, task: str) -> Mapping[TrialName, str]:
        if task not in self._answers:
            digests: dict[TrialName, str] = {}
            scores = self.scores(task)
            assert scores is not None
            for part, offset in zip(scores.parts, scores.offsets, strict=True):
                for (name, repeat), answer in answers_of(*part).items():
                    digests[name, repeat + offset] = answer
            self._answers[task] = digests
        return self._answers[task]

    def template(self, task: str) -> Mapping[str, Any]:
        """Returns the prompts and the protocol of the task file.

        A released prompt is represented by its digest.
        """
        config = without_released_texts(self.tasks[task].config)
        prompt = config.get("prompt") or {}
        if "task_prompt" in config:
            replaced = config["task_prompt"]
            ids = replaced.get("released", "")
            prompt = replaced.get("text", f"{ids} {replaced['sha256']}")
        template = {"user": prompt} if isinstance(prompt, str) else dict(prompt)
        protocol = config.get("protocol")
        if isinstance(protocol, Mapping):
            template["protocol"] = protocol
        return template

    def request_settings(self, task: str) -> Sequence[Any]:
        """Returns the settings that change a request, except for the words of the
        task."""
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
        """Yields the numbers of single tasks whose mean is the given number."""
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
                part_share = shares.get(of_task, shares.get(of_number, 0.0))
            else:
                # a number without a value has no shares, so all parts count equally
                part_share = 1 / len(parts)
            if part_share:
                yield from self.pieces(of_task, of_number, share * part_share)

    @cached_property
    def asked_tasks(self) -> frozenset[str]:
        return frozenset(self.run.ours.get("protocols", self.tasks))

    def aggregator(
        self, task: str, number: str
    ) -> tuple[Aggregator, Mapping[str, Any]]:
        """Returns the aggregator of a number and its options. Raises MmevalError if it
        is not installed."""
        metric = self.metric(task, number)
        name = str(metric.get("aggregation", "mean"))
        if name in _MEANS:
            return _MEANS[name], {}
        aggregator = load_aggregator(name)
        options: dict[str, Any] = {}
        if "profile" in inspect.signature(aggregator).parameters:
            options["profile"] = metric.get("profile", "standard")
        metric_name = name_of(self.run.ours, task, number) or number
        for entry in self.tasks[task].config.get("metric_list") or []:
            if entry.get("metric") == metric_name:
                written = entry.get("aggregation")
                if isinstance(written, dict):
                    options |= written
                    options.pop("name", None)
                break
        return aggregator, options


class RunPair:
    """A pair of runs. Their trials are matched once for each task."""

    def __init__(
        self,
        a: ComparedRun,
        b: ComparedRun,
        across: Collection[str],
        *,
        with_worst: bool = False,
    ) -> None:
        """Pairs two runs. With ``with_worst``, numbers are also tested with the worst
        scores for lost trials."""
        self.a, self.b, self._across = a, b, across
        self._with_worst = with_worst
        self._matches: dict[str, TrialMatches] = {}
        self._plans: dict[str, tuple[TaskRow, TaskRow]] = {}

    def plans(self, task: str) -> tuple[TaskRow, TaskRow]:
        """Returns the definitions of a task's score sets in both runs."""
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
        """Returns a function that checks whether two trials ask the same question.
        Their samples must be equal, and so must the prompts of the task. The wire
        format, the parameters and a system instruction may differ, because they usually
        do between models."""

        def same_sample(place_a: int, place_b: int) -> bool:
            return a.digests[place_a] == b.digests[place_b]

        if PROMPTS in self._across:
            return lambda place_a, place_b: (
                same_sample(place_a, place_b)
                or a.rest(place_a) == b.rest(place_b) != ""
            )
        template, other_template = self.a.template(task), self.b.template(task)
        if template == other_template:
            settings_a = self.a.request_settings(task)
            settings_b = self.b.request_settings(task)
            tasks = (self.a.tasks[task], self.b.tasks[task])
            is_partial = any(row.config.get("partial_output") for row in tasks)
            if is_partial or settings_a != settings_b:
                # the requests differ, but not in the words of the task
                return same_sample
        has_same_protocol = template.get("protocol") == other_template.get("protocol")

        def same_request(place_a: int, place_b: int) -> bool:
            if not same_sample(place_a, place_b):
                return False
            request_a, request_b = a.request(place_a), b.request(place_b)
            if not request_a or not request_b:
                return True
            return request_a == request_b and has_same_protocol

        return same_request

    def compare(
        self, row: NumberRow, within: set[TrialName] | None = None
    ) -> PairResult:
        """Compares a number of both runs. For a slice, ``within`` contains the trials
        of the slice."""
        pieces = list(self.a.pieces(row.task, row.metric))
        paired_pieces: list[PairedPiece] = []
        for piece in pieces:
            paired_piece = self._paired(piece, within)
            if paired_piece is not None:
                paired_pieces.append(paired_piece)
        counts = self._counted(row, pieces, paired_pieces, within)
        if not paired_pieces:
            is_extra = Key(row.task, row.metric) not in self.a.results
            return replace(counts, why=ONE_SIDED, is_extra=is_extra)

        inside = tasks_inside(row.task, {**self.b.members, **self.a.members})
        common_tasks = sorted(inside & self.a.asked_tasks & self.b.asked_tasks)
        why_unlike = unlike(
            self.a.run.results,
            self.b.run.results,
            common_tasks,
            row.metric,
            across=self._across,
            plans=self.plans,
        )
        with_pairs = [piece for piece in paired_pieces if piece.pairs.trials]
        differ_by_judge = within is None and self._differ_by_judge(
            common_tasks, row.metric
        )
        try:
            if differ_by_judge:
                counts = replace(counts, shift=self._shift(with_pairs))
            if why_unlike:
                return replace(counts, is_unlike=True, why=why_unlike)
            if with_pairs:
                test = self._test(with_pairs)
                if test is None:
                    return replace(counts, why="it has no value over the pairs")
                worst = None
                is_whole = len(paired_pieces) == len(pieces)
                if self._with_worst and is_whole:
                    worst = self._worst(paired_pieces, row)
                bounds = self._bounds(with_pairs)
                return replace(counts, test=test, worst=worst, bounds=bounds)
        # a plugin's aggregator may be missing, raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            why = f"its aggregator cannot be used ({type(error).__name__}: {error})"
            return replace(counts, is_unlike=True, why=why)

        reasons = set(counts.left_out)
        is_unlike = ASKED_OTHERWISE in reasons and reasons <= _OF_OTHER_WORDS
        why = "no trial has a score in both runs"
        if is_unlike:
            why = (
                "every sample has a different prompt or different right answers "
                "(--across prompts compares different prompts)"
            )
        return replace(counts, is_unlike=is_unlike, why=why)

    def _counted(
        self,
        row: NumberRow,
        pieces: Sequence[Piece],
        paired_pieces: Sequence[PairedPiece],
        within: set[TrialName] | None,
    ) -> PairResult:
        """Returns the counts of a number, before anything is tested."""
        # numbers of one task are about the same trials, so only the largest counts
        by_task: dict[str, Pairs] = {}
        for paired in sorted(paired_pieces, key=lambda paired: paired.pairs.trials):
            by_task[paired.piece.task] = paired.pairs

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

        has_lost = any(paired.pairs.lost for paired in paired_pieces)
        return PairResult(
            pairs=sum(pairs.trials for pairs in by_task.values()),
            samples=sum(pairs.samples for pairs in by_task.values()),
            left_out=+left_out,
            missing=(missing_a, missing_b),
            lost=self._lost(pieces, paired_pieces),
            refused=(
                _refused_by(self.a, pieces, within),
                _refused_by(self.b, pieces, within),
            ),
            is_incomplete=has_lost or len(paired_pieces) < len(pieces),
        )

    def _differ_by_judge(self, tasks: Sequence[str], metric: str) -> bool:
        """Returns whether the runs differ in a judge, and in nothing else except
        possibly the protocol."""
        a, b = self.a.run.results, self.b.run.results
        aspects: set[str] = set()
        for task in tasks:
            for difference in differences(a, b, task, metric, self.plans):
                aspects.add(difference.aspect)
        of_judge = {"judge", JUDGE_PARAMETERS}
        return bool(aspects & of_judge) and aspects <= of_judge | {"protocol"}

    def _paired(
        self, piece: Piece, within: set[TrialName] | None
    ) -> PairedPiece | None:
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

    def _test(self, paired_pieces: Sequence[PairedPiece]) -> PairedTest | None:
        """Tests a mean of numbers, or a single number with another aggregator."""
        aggregators = []
        widths = []
        for paired in paired_pieces:
            aggregators.append(
                self.a.aggregator(paired.piece.task, paired.piece.number)
            )
            low, high = paired.pairs.a.range
            widths.append(high - low)
        if not all(aggregator in _BY_MEANS for aggregator, _ in aggregators):
            if len(paired_pieces) > 1:
                return None
            aggregator, options = aggregators[0]
            a, b = paired_pieces[0].pairs.a, paired_pieces[0].pairs.b
            return compare_by_draws(a, b, aggregator, options, widths[0])

        parts: list[PairedMean] = []
        shares = _shares(paired_pieces)
        for paired, share, of_piece in zip(
            paired_pieces, shares, aggregators, strict=True
        ):
            parts += _parts(paired.pairs, share, *of_piece)
        for part in parts:
            has_weights = part.weights_a.sum() > 0 and part.weights_b.sum() > 0
            if not has_weights:
                return None
        return compare_means(parts, max(widths))

    def _worst(
        self, paired_pieces: Sequence[PairedPiece], row: NumberRow
    ) -> PairedTest | None:
        """Tests a number if lost trials get the worst scores for the second run."""
        ends: tuple[End, End] = (1, 0) if row.higher_is_better else (0, 1)
        whole = []
        for paired in paired_pieces:
            pairs = paired.pairs.completed(paired.columns, ends)
            if pairs is None:
                return None
            if pairs.trials:
                whole.append(paired._replace(pairs=pairs))
        return self._test(whole)

    def _lost(
        self, pieces: Sequence[Piece], paired_pieces: Sequence[PairedPiece]
    ) -> LostTrials:
        """Counts the trials that are lost in one run only, for the task number with the
        most losses in the second run."""
        pairs = {paired.piece: paired.pairs for paired in paired_pieces}
        counts = [_NOTHING]
        for piece in pieces:
            a, b = self.a.scores(piece.task), self.b.scores(piece.task)
            first = [] if a is None else a.statuses.get(piece.number, [])
            second = [] if b is None else b.statuses.get(piece.number, [])
            if piece not in pairs:
                counts.append(LostTrials(second.count("scored"), first.count("scored")))
                continue
            in_a = in_b = 0
            for place_a, place_b in pairs[piece].lost:
                has_a = place_a is not None and first[place_a] == "scored"
                has_b = place_b is not None and second[place_b] == "scored"
                in_a += has_b and not has_a
                in_b += has_a and not has_b
            counts.append(LostTrials(in_a, in_b))
        return max(counts, key=lambda lost: lost.in_b)

    def _bounds(self, paired_pieces: Sequence[PairedPiece]) -> Interval | None:
        low = high = 0.0
        shares = _shares(paired_pieces)
        for paired, share in zip(paired_pieces, shares, strict=True):
            piece = paired.piece
            aggregator, options = self.a.aggregator(piece.task, piece.number)
            if aggregator in (mean, weighted_mean):
                # only the value is used, and it is faster without an interval
                options = {"interval": "bootstrap"}
            ends = bounds_of(paired.columns, paired.pairs, aggregator, options)
            if ends is None:
                return None
            low += share * ends[0]
            high += share * ends[1]
        return (low, high)

    def _shift(self, paired_pieces: Sequence[PairedPiece]) -> Mapping[str, Any] | None:
        """Returns the difference over the answers that are equal in both runs, which
        the judge causes, and the difference over the ``rest``. Returns None if no
        answers are equal."""
        alike: list[PairedPiece] = []
        others: list[PairedPiece] = []
        for paired in paired_pieces:
            piece, a, b = paired.piece, paired.a, paired.b
            first = self.a.answers(piece.task)
            second = self.b.answers(piece.task)
            both_alike: list[tuple[int, int]] = []
            both_others: list[tuple[int, int]] = []
            for place_a, place_b in paired.matches.both:
                answer = first.get(a.names[place_a])
                if answer is not None and answer == second.get(b.names[place_b]):
                    both_alike.append((place_a, place_b))
                else:
                    both_others.append((place_a, place_b))
            for both, into in ((both_alike, alike), (both_others, others)):
                matches = TrialMatches(both)
                pairs = Pairs.of(a, b, piece.number, matches)
                if pairs.trials:
                    into.append(paired._replace(matches=matches, pairs=pairs))
        shift = self._shift_over(alike)
        if shift is None:
            return None
        return {**shift, "rest": self._shift_over(others)}

    def _shift_over(
        self, paired_pieces: Sequence[PairedPiece]
    ) -> Mapping[str, Any] | None:
        test = self._test(paired_pieces) if paired_pieces else None
        if test is None:
            return None
        trials = [paired.pairs.trials for paired in paired_pieces]
        tasks = {paired.piece.task for paired in paired_pieces}
        # numbers of one task are about the same trials, so only the largest counts
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
    """Counts the requests that a run's model refused in the tasks of some numbers.
    ``within`` contains the trials of a slice. If a task has several numbers, the number
    with the largest counts is used."""
    by_task: dict[str, Refusals] = {}
    for piece in pieces:
        scores = run.scores(piece.task)
        if scores is None or piece.number not in scores.columns:
            continue
        places = scores.columns[piece.number].refused
        trials = len(scores.names)
        if within is not None:
            inside = {i for i, name in enumerate(scores.names) if name in within}
            places, trials = places & inside, len(inside)
        refused = Refusals(len(places), trials)
        by_task[piece.task] = max(refused, by_task.get(piece.task, refused))
    answers = sum(refused.answers for refused in by_task.values())
    trials = sum(refused.trials for refused in by_task.values())
    return Refusals(answers, trials)


def _shares(paired_pieces: Sequence[PairedPiece]) -> list[float]:
    """Returns the shares of the task numbers that have pairs, scaled to sum to 1."""
    total = math.fsum(paired.piece.share for paired in paired_pieces)
    return [paired.piece.share / total for paired in paired_pieces]


def _parts(
    pairs: Pairs, share: float, aggregator: Aggregator, options: Mapping[str, Any]
) -> list[PairedMean]:
    """Returns the paired means of a number. There is one mean, or one for each value of
    a label."""
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
