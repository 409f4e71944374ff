"""Pairs the trials of two runs, by the name of their sample and by what was asked.

Only a trial that has a score in both runs is in a pair. The others are counted by
reason and by run, and those that might have had one make the bounds of a difference
wider.
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
"""A sample and a repeat."""

NOT_ASKED, ASKED_OTHERWISE, DAMAGED = "not_asked", "asked_otherwise", "damaged"
"""Why a trial is in no pair, besides the statuses of its scores: one run lacks it, it
was asked something else, or its record is damaged in one run."""
PROMPTS = "prompts"
"""The aspect across which trials are paired that were asked in other words."""
_REASONS = ("failed", "unscored", "unsupported", "unavailable", "inapplicable")
"""Of the statuses of a trial in two runs the first of these is the reason."""
_MIGHT_SCORE = frozenset(("scored", "unscored", "failed"))
_ALL_LABELS = ""
End: TypeAlias = Literal[0, 1]
"""The lowest value (0) or the highest (1)."""
_APART: tuple[tuple[End, End], ...] = ((1, 0), (0, 1))


Alike = Callable[[int, int], bool]
"""Whether a trial of one run was asked the same as one of another, by their places."""
_ASKED_BY_CONTENT = re.compile(r"model(?:\+[^/]*)?/([0-9a-f]+)/\d+(?:/\d+)?")
"""The key of an answer that is named by its request, of the model under test."""
_BESIDES_THE_QUESTION = ("references", "candidates", "metadata", "fault")


class TaskFolder(NamedTuple):
    """A task in one run folder. Of several that count as one run, the repeats of each
    follow those of the one before."""

    run: StoredRun
    task: StoredTask


class TaskScores:
    """A run's scores of a task by number, each trial with its name, its sample's place
    in the data and its digest.

    ``label`` is one of the sample's by which slices are made; its values are in
    ``levels``, a list for each trial. ``offsets`` are the first repeat of each of the
    ``parts``. ``worst`` is the value by number that a failed
    answer counts as; without one it has no score. ``damaged`` counts damaged records by
    what they hold.
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
            self.statuses[name], self.values[name] = [], []
            for score in column:
                self.statuses[name].append(score.status)
                self.values[name].append(score.value)

    def _add(self, part: TaskFolder, offset: int) -> int:
        """Read the trials of a folder; how many repeats it has."""
        damaged_samples: list[int] = []
        damaged_scores: list[int] = []
        digests: dict[int, str] = {}
        of_samples: dict[int, Any] = {}
        for row in part.task.sample_rows(damaged_samples):
            digests[row["i"]] = row["d"]
            if self._label:
                of_samples[row["i"]] = row["sample"]["metadata"].get(self._label)
        first = len(self.indexes)
        asked = part.run.ours.get("asked", {})
        counts = counted_by(asked.get(part.task.name))
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
        # 'mmeval score' takes damaged lines out: their samples have no record since
        unread = len(set(self.indexes[first:]) - digests.keys())
        self.damaged["samples"] += max(unread, len(damaged_samples))
        self.damaged["scores"] += len(damaged_scores)
        self._recorded |= digests.keys()
        self._counts.append(counts)
        return repeats

    def _with_failed(self, rows: Iterable[TaskRow]) -> Iterator[TaskRow]:
        """Rows in which a failed answer has the worst score there is. Nobody knows how
        much would have stood behind it, so it has the greatest weight."""
        known = list(rows)
        weights: dict[str, float] = {}
        for row in known:
            for name, score in row["scores"].items():
                weight = score.get("weight", 1.0)
                weights[name] = max(weight, weights.get(name, 1.0))
        for row in known:
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
        return {name: at for at, name in enumerate(self.names)}

    @cached_property
    def by_sample(self) -> dict[str, str]:
        """The digest of each sample by its name; empty where its record is damaged."""
        samples = [sample for sample, _ in self.names]
        return dict(zip(samples, self.digests, strict=True))

    @cached_property
    def requests(self) -> Mapping[tuple[int, int], str]:
        """The digest of the first request of each trial, by its sample's place and its
        repeat. Answers that were not asked for by their request have none, such as
        replayed ones."""
        found: dict[tuple[int, int], str] = {}
        for part, offset in zip(self.parts, self.offsets, strict=True):
            for index, repeat, key in part.task.first_calls():
                asked = _ASKED_BY_CONTENT.fullmatch(key)
                if asked:
                    found[index, repeat + offset] = asked[1]
        return found

    def trial_place(self, at: int) -> tuple[int, int]:
        """A trial's sample by its place in the data, and its repeat."""
        _, repeat = self.names[at]
        return self.indexes[at], repeat

    def request(self, at: int) -> str:
        return self.requests.get(self.trial_place(at), "")

    @cached_property
    def _rests(self) -> Mapping[int, str]:
        rests = {}
        for part in self.parts:
            for row in part.task.sample_rows():
                sample = row["sample"]
                rest = [sample.get(name) for name in _BESIDES_THE_QUESTION]
                rests[row["i"]] = digest(rest)
        return rests

    def rest(self, at: int) -> str:
        """The digest of a sample without what is asked: its right answers and what
        else it is scored by."""
        return self._rests.get(self.indexes[at], "")

    def lost_by_damage(self, index: int, repeat: int) -> bool:
        """Whether a trial that this run lacks may have stood in a damaged line."""
        if not any(counts(index, repeat) for counts in self._counts):
            return False
        what = "scores" if index in self._recorded else "samples"
        return self.damaged[what] > 0

    def slices(self, label: str) -> dict[str, set[TrialName]]:
        """The trials of each value of the label; one whose label is a list belongs to
        each of its members."""
        found: dict[str, set[TrialName]] = {}
        for name, value in zip(self.names, self.levels, strict=True):
            own = value if isinstance(value, list) else [value]
            for level in own:
                if isinstance(level, (str, int, float)):
                    found.setdefault(f"{label}={level}", set()).add(name)
        return dict(sorted(found.items()))


class TrialMatches(NamedTuple):
    """Trials that two runs were asked alike, by their places in both, and those that
    only one was asked. ``damaged_a`` and ``damaged_b`` are those whose record is
    damaged in that run; the other run's place is there, their own may be missing."""

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
        """Trials paired by name; ``within`` are those of a slice, None for all."""
        both: list[tuple[int, int]] = []
        damaged_a: list[tuple[int | None, int]] = []
        damaged_b: list[tuple[int, int | None]] = []
        otherwise = 0
        only_a, unread_b = _missing(a, b, within)
        only_b, unread_a = _missing(b, a, within)
        for at, name in enumerate(a.names):
            other = b.places.get(name)
            if other is None or (within is not None and name not in within):
                continue
            if not b.digests[other]:
                damaged_b.append((at, other))
            elif not a.digests[at]:
                damaged_a.append((at, other))
            elif alike(at, other):
                both.append((at, other))
            else:
                otherwise += 1
        damaged_a += [(None, at) for at in unread_a]
        damaged_b += [(at, None) for at in unread_b]
        return cls(both, only_a, only_b, otherwise, damaged_a, damaged_b)


def _missing(
    there: TaskScores, other: TaskScores, within: set[TrialName] | None
) -> tuple[list[int], list[int]]:
    """The trials of a run that another one lacks, and those of which a record there is
    damaged."""
    lacking: list[int] = []
    unread: list[int] = []
    for at, name in enumerate(there.names):
        if name in other.places or (within is not None and name not in within):
            continue
        is_damaged = other.lost_by_damage(there.indexes[at], name[1])
        (unread if is_damaged else lacking).append(at)
    return lacking, unread


class Pairs(NamedTuple):
    """The paired scores of one number, the rows of both runs in one order, and what is
    in no pair: by reason, and by reason what each run lacks."""

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
        for at, other in matches.both:
            statuses = (first[at], second[other])
            if statuses == ("scored", "scored"):
                places_a.append(at)
                places_b.append(other)
                continue
            for reason in _REASONS:
                if reason in statuses:
                    left_out[reason] += 1
                    break
            for status, counts in zip(statuses, (missing_a, missing_b), strict=True):
                if status != "scored":
                    counts[status] += 1
            if _MIGHT_SCORE.issuperset(statuses):
                lost.append((at, other))

        not_asked_a = [(None, at) for at in matches.only_b]
        not_asked_b = [(at, None) for at in matches.only_a]
        for reason, lacking_a, lacking_b in (
            (NOT_ASKED, not_asked_a, not_asked_b),
            (DAMAGED, matches.damaged_a, matches.damaged_b),
        ):
            left_out[reason] += len(lacking_a) + len(lacking_b)
            missing_a[reason] += len(lacking_a)
            missing_b[reason] += len(lacking_b)
            for mine, others in (*lacking_a, *lacking_b):
                might_score = mine is None or first[mine] in _MIGHT_SCORE
                others_might = others is None or second[others] in _MIGHT_SCORE
                if might_score and others_might:
                    lost.append((mine, others))
        left_out[ASKED_OTHERWISE] += matches.otherwise
        return cls(
            a.columns[number].take(places_a),
            b.columns[number].take(places_b),
            +left_out,
            +missing_a,
            +missing_b,
            lost,
            samples=len({a.names[at][0] for at in places_a}),
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
        """The pairs with the lost trials too, those of each run at one end of what
        they may be. None where that is not known: the metric has no finite range, and a
        trial no bounds of its own."""
        whole = range(self.trials)
        sides = (self.a.take(whole), self.b.take(whole))
        lost_a = [at for at, _ in self.lost]
        lost_b = [at for _, at in self.lost]
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
    """The rows at some places, None where there is no place."""
    found = iter(column.take([at for at in places if at is not None]))
    return [None if at is None else next(found) for at in places]


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
