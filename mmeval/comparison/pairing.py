"""Pairs the trials of two runs by the name of their sample and by their request.

A pair needs a score in both runs. Trials without a pair are counted by reason and by
run. If unpaired trials might have had a score, the bounds of the difference are wider.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.aggregate.scores import Aggregator, ScoreRow, Scores
from mmeval.aggregate.statistics import Interval
from mmeval.records.digests import digest
from mmeval.results.stored_run import StoredRun, StoredTask, TaskRow, counted_by
from mmeval.results.task_results import fill, is_faulty
from mmeval.store.paths import TrialFilter

TrialName = tuple[str, int]
"""The name of a sample, and the number of the repeat."""

NOT_ASKED, ASKED_OTHERWISE, DAMAGED = "not_asked", "asked_otherwise", "damaged"
"""Reasons why a trial is not in a pair, in addition to the statuses of its scores. One
run did not include the trial, its prompts differ, or its record in one run is damaged.
"""
PROMPTS = "prompts"
"""With ``--across prompts``, trials with different prompts are paired."""
_REASONS = ("failed", "unscored", "unsupported", "unavailable", "inapplicable")
"""Trials with one of these statuses are not paired. If several apply to a trial, the
first one in this list is the reason."""
_MIGHT_SCORE = frozenset(("scored", "unscored", "failed"))
_ALL_LABELS = ""
End: TypeAlias = Literal[0, 1]
"""The lowest (0) or the highest (1) value of a range."""
_APART: tuple[tuple[End, End], ...] = ((1, 0), (0, 1))


Alike = Callable[[int, int], bool]
"""A function that checks whether two trials can be paired. Its arguments are the
positions of the trials in their runs."""
_ASKED_BY_CONTENT = re.compile(r"model(?:\+[^/]*)?/([0-9a-f]+)/\d+(?:/\d+)?")
"""Matches the journal key of a call to the model under test if the key contains the
digest of the request."""
_BESIDES_THE_QUESTION = ("references", "candidates", "metadata", "fault")


class TaskFolder(NamedTuple):
    """A task in one run folder. If several folders are treated as one run, the repeats
    in each folder are numbered after those in the previous folder."""

    run: StoredRun
    task: StoredTask


class TaskScores:
    """The scores of one task in a run, by number. The lists of names, digests and
    indexes have one entry for each trial: its name, the digest of its sample, and the
    sample's index in the data.

    Slices are formed by the values of ``label``, which are listed in ``levels``.
    ``offsets`` contains the number of the first repeat of each folder in ``parts``.
    ``worst`` maps numbers to the score of a failed answer. If a number is not in
    ``worst``, failed answers have no score. ``damaged`` is the number of damaged
    records of samples and of scores.
    """

    def __init__(
        self,
        parts: Sequence[TaskFolder],
        numbers: Mapping[str, Interval],
        label: str = _ALL_LABELS,
        worst: Mapping[str, float] | None = None,
    ) -> None:
        self.columns = {name: Scores(range=spread) for name, spread in numbers.items()}
        self.names: list[TrialName] = []
        self.digests: list[str] = []
        self.indexes: list[int] = []
        self.levels: list[Any] = []
        self.damaged: Counter[str] = Counter()
        self.parts, self._label, self._worst = parts, label, worst or {}
        self.offsets: list[int] = []
        self._recorded: set[int] = set()
        self._counts: list[TrialFilter] = []
        offset = 0
        for part in parts:
            self.offsets.append(offset)
            offset += self._add(part, offset)
        self.statuses: dict[str, list[str]] = {}
        self.values: dict[str, list[float | None]] = {}
        for name, column in self.columns.items():
            self.statuses[name] = column.statuses
            self.values[name] = column.values_or_none

    def _add(self, part: TaskFolder, offset: int) -> int:
        """Reads the trials of a folder and returns the number of its repeats."""
        damaged_samples: list[int] = []
        damaged_scores: list[int] = []
        digests: dict[int, str] = {}
        of_samples: dict[int, Any] = {}
        if self._label:
            for row in part.task.sample_rows(damaged_samples):
                digests[row["i"]] = row["d"]
                of_samples[row["i"]] = row["sample"]["metadata"].get(self._label)
        else:
            digests.update(part.task.sample_digests(damaged_samples))
        first = len(self.indexes)
        asked_rows = part.run.ours.get("asked", {})
        counts = counted_by(asked_rows.get(part.task.name))
        repeats = 1

        def noted(rows: Iterable[TaskRow]) -> Iterator[TaskRow]:
            nonlocal repeats
            for row in rows:
                if not counts(row["i"], row["n"]):
                    continue
                repeats = max(repeats, row["n"] + 1)
                self.indexes.append(row["i"])
                self.names.append((row["s"], row["n"] + offset))
                self.digests.append(digests.get(row["i"], ""))
                if self._label:
                    of_sample = of_samples.get(row["i"])
                    labels = row.get("labels", {})
                    self.levels.append(labels.get(self._label, of_sample))
                yield {**row, "n": row["n"] + offset} if offset else row

        rows = noted(part.task.score_rows(damaged_scores))
        fill(self.columns, self._with_failed(rows) if self._worst else rows)
        # 'mmeval score' removes damaged lines, so their samples have no record
        unread = len(set(self.indexes[first:]) - digests.keys())
        self.damaged["samples"] += max(unread, len(damaged_samples))
        self.damaged["scores"] += len(damaged_scores)
        self._recorded |= digests.keys()
        self._counts.append(counts)
        return repeats

    def _with_failed(self, rows: Iterable[TaskRow]) -> Iterator[TaskRow]:
        """Gives each failed answer the worst score. The weight of such an answer is
        unknown, so it gets the largest weight in the task."""
        all_rows = list(rows)
        weights: dict[str, float] = {}
        for row in all_rows:
            for name, score in row["scores"].items():
                weight = score.get("weight", 1.0)
                weights[name] = max(weight, weights.get(name, 1.0))
        for row in all_rows:
            if row["status"] != "failed" or is_faulty(row):
                yield row
                continue
            scores: dict[str, Any] = {
                name: {"status": "failed"} for name in self.columns
            }
            for name, value in self._worst.items():
                scores[name] = {
                    "status": "scored",
                    "value": value,
                    "weight": weights.get(name, 1.0),
                }
            yield {**row, "status": "ok", "scores": scores}

    @cached_property
    def places(self) -> dict[TrialName, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def by_sample(self) -> dict[str, str]:
        """The digest of each sample by its name. If the record of a sample is damaged,
        its digest is empty."""
        samples = [sample for sample, _ in self.names]
        return dict(zip(samples, self.digests, strict=True))

    @cached_property
    def requests(self) -> Mapping[tuple[int, int], str]:
        """The digest of the first request of each trial, by sample index and repeat.
        Answers whose key contains no digest, such as replayed answers, are left out."""
        digests: dict[tuple[int, int], str] = {}
        for part, offset in zip(self.parts, self.offsets, strict=True):
            for index, repeat, key in part.task.first_calls():
                match = _ASKED_BY_CONTENT.fullmatch(key)
                if match:
                    digests[index, repeat + offset] = match[1]
        return digests

    def trial_place(self, place: int) -> tuple[int, int]:
        """Returns the index of a trial's sample in the data, and the trial's repeat."""
        _, repeat = self.names[place]
        return self.indexes[place], repeat

    def request(self, place: int) -> str:
        return self.requests.get(self.trial_place(place), "")

    @cached_property
    def _rests(self) -> Mapping[int, str]:
        rests = {}
        for part in self.parts:
            for row in part.task.sample_rows():
                sample = row["sample"]
                rest = [sample.get(name) for name in _BESIDES_THE_QUESTION]
                rests[row["i"]] = digest(rest)
        return rests

    def rest(self, place: int) -> str:
        """Returns the digest of a trial's sample without its input. It covers the
        references and all other fields that affect the score."""
        return self._rests.get(self.indexes[place], "")

    def lost_by_damage(self, index: int, repeat: int) -> bool:
        """Returns whether a trial that is missing from this run may have been in a
        damaged line."""
        if not any(counts(index, repeat) for counts in self._counts):
            return False
        what = "scores" if index in self._recorded else "samples"
        return self.damaged[what] > 0

    def slices(self, label: str) -> dict[str, set[TrialName]]:
        """Returns the trials for each value of the label. If the label of a trial is a
        list, the trial is in the slice of each item."""
        trials: dict[str, set[TrialName]] = {}
        for name, value in zip(self.names, self.levels, strict=True):
            levels = value if isinstance(value, list) else [value]
            for level in levels:
                if isinstance(level, (str, int, float)):
                    trials.setdefault(f"{label}={level}", set()).add(name)
        return dict(sorted(trials.items()))


class TrialMatches(NamedTuple):
    """The matching trials of two runs, as their positions in both runs, and the trials
    that only one run has. ``otherwise`` counts the trials with different prompts.
    ``damaged_a`` and ``damaged_b`` are the trials with a damaged record in the first
    and in the second run. The position of a trial in that run is None if the record is
    missing."""

    both: Sequence[tuple[int, int]]
    only_a: Sequence[int] = ()
    only_b: Sequence[int] = ()
    otherwise: int = 0
    damaged_a: Sequence[tuple[int | None, int]] = ()
    damaged_b: Sequence[tuple[int, int | None]] = ()

    @classmethod
    def of(
        cls,
        a: TaskScores,
        b: TaskScores,
        alike: Alike,
        within: set[TrialName] | None = None,
    ) -> TrialMatches:
        """Matches trials by name. ``within`` contains the trials of a slice, or is None
        for all trials."""
        both: list[tuple[int, int]] = []
        damaged_a: list[tuple[int | None, int]] = []
        damaged_b: list[tuple[int, int | None]] = []
        otherwise = 0
        only_a, unread_b = _missing(a, b, within)
        only_b, unread_a = _missing(b, a, within)
        for place_a, name in enumerate(a.names):
            place_b = b.places.get(name)
            if place_b is None or (within is not None and name not in within):
                continue
            if not b.digests[place_b]:
                damaged_b.append((place_a, place_b))
            elif not a.digests[place_a]:
                damaged_a.append((place_a, place_b))
            elif alike(place_a, place_b):
                both.append((place_a, place_b))
            else:
                otherwise += 1
        damaged_a += [(None, place) for place in unread_a]
        damaged_b += [(place, None) for place in unread_b]
        return cls(both, only_a, only_b, otherwise, damaged_a, damaged_b)


def _missing(
    run: TaskScores, other: TaskScores, within: set[TrialName] | None
) -> tuple[list[int], list[int]]:
    """Returns the trials of a run that are missing from the other run, and the trials
    whose record in the other run may be damaged."""
    missing: list[int] = []
    unread: list[int] = []
    for place, name in enumerate(run.names):
        if name in other.places or (within is not None and name not in within):
            continue
        is_damaged = other.lost_by_damage(run.indexes[place], name[1])
        (unread if is_damaged else missing).append(place)
    return missing, unread


class Pairs(NamedTuple):
    """The paired scores of one number, in the same order in both runs. ``left_out``
    counts the unpaired trials by reason. ``missing_a`` and ``missing_b`` count the
    trials that each run lacks. ``lost`` contains the trials that are unpaired but might
    have had a score in both runs."""

    a: Scores
    b: Scores
    left_out: Counter[str]
    missing_a: Counter[str]
    missing_b: Counter[str]
    lost: Sequence[tuple[int | None, int | None]]
    samples: int

    @classmethod
    def of(
        cls,
        a: TaskScores,
        b: TaskScores,
        number: str,
        matches: TrialMatches,
    ) -> Pairs:
        first, second = a.statuses[number], b.statuses[number]
        left_out: Counter[str] = Counter()
        missing_a: Counter[str] = Counter()
        missing_b: Counter[str] = Counter()
        places_a: list[int] = []
        places_b: list[int] = []
        lost: list[tuple[int | None, int | None]] = []
        for place_a, place_b in matches.both:
            statuses = (first[place_a], second[place_b])
            if statuses == ("scored", "scored"):
                places_a.append(place_a)
                places_b.append(place_b)
                continue
            for reason in _REASONS:
                if reason in statuses:
                    left_out[reason] += 1
                    break
            for status, counts in zip(statuses, (missing_a, missing_b), strict=True):
                if status != "scored":
                    counts[status] += 1
            if _MIGHT_SCORE.issuperset(statuses):
                lost.append((place_a, place_b))

        not_asked_a = [(None, place_a) for place_a in matches.only_b]
        not_asked_b = [(place_a, None) for place_a in matches.only_a]
        for reason, not_in_a, not_in_b in (
            (NOT_ASKED, not_asked_a, not_asked_b),
            (DAMAGED, matches.damaged_a, matches.damaged_b),
        ):
            left_out[reason] += len(not_in_a) + len(not_in_b)
            missing_a[reason] += len(not_in_a)
            missing_b[reason] += len(not_in_b)
            for in_a, in_b in (*not_in_a, *not_in_b):
                a_might_score = in_a is None or first[in_a] in _MIGHT_SCORE
                b_might_score = in_b is None or second[in_b] in _MIGHT_SCORE
                if a_might_score and b_might_score:
                    lost.append((in_a, in_b))
        left_out[ASKED_OTHERWISE] += matches.otherwise
        return cls(
            a.columns[number].take(places_a),
            b.columns[number].take(places_b),
            +left_out,
            +missing_a,
            +missing_b,
            lost,
            samples=len({a.names[place_a][0] for place_a in places_a}),
        )

    @property
    def trials(self) -> int:
        return len(self.a)

    @property
    def values(self) -> tuple[Values, Values]:
        return np.asarray(self.a.values), np.asarray(self.b.values)

    @property
    def weights(self) -> tuple[Values, Values]:
        return np.asarray(self.a.weights), np.asarray(self.b.weights)

    def completed(
        self, columns: tuple[Scores, Scores], ends: tuple[End, End]
    ) -> Pairs | None:
        """Returns the pairs including the lost trials, with each run's lost scores at
        the lowest or highest value. Returns None if that value is unknown: the metric
        has no finite range, and a trial has no bounds."""
        whole = range(self.trials)
        sides = (self.a.take(whole), self.b.take(whole))
        lost_a = [place_a for place_a, _ in self.lost]
        lost_b = [place_b for _, place_b in self.lost]
        rows_a = _rows(columns[0].filled(ends[0]), lost_a)
        rows_b = _rows(columns[1].filled(ends[1]), lost_b)
        for rows in zip(rows_a, rows_b, strict=True):
            known = rows[0] or rows[1]
            assert known is not None
            for side, column, row, end in zip(sides, columns, rows, ends, strict=True):
                value = column.range[end] if row is None else row.value
                if value is None or not math.isfinite(value):
                    return None
                side.add_value(
                    known.sample,
                    known.repeat,
                    value,
                    cluster=known.cluster,
                    labels=known.labels,
                    weight=(row or known).weight,
                )
        return self._replace(a=sides[0], b=sides[1], lost=())


def _rows(column: Scores, places: Sequence[int | None]) -> Sequence[ScoreRow | None]:
    """Returns the rows at the given positions, with None for each missing position."""
    rows = iter(column.take([place for place in places if place is not None]))
    return [None if place is None else next(rows) for place in places]


def bounds_of(
    columns: tuple[Scores, Scores],
    pairs: Pairs,
    aggregator: Aggregator,
    options: Mapping[str, Any],
) -> Interval | None:
    """Returns the lowest and the highest possible difference for any scores of the lost
    trials. For one bound, the lost scores are lowest in the first run and highest in
    the second. For the other bound, it is the other way round.

    Returns None if the metric has no finite range and a trial has no bounds.
    """
    if not pairs.lost and not all(map(math.isfinite, columns[0].range)):
        return None
    differences = []
    for ends in _APART:
        whole = pairs.completed(columns, ends)
        if whole is None:
            return None
        a = aggregator(whole.a, **options).value
        b = aggregator(whole.b, **options).value
        if a is None or b is None or not math.isfinite(b - a):
            return None
        differences.append(b - a)
    return (min(differences), max(differences))
