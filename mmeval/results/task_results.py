"""From score rows to the numbers of a report: per task, per slice, per group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.aggregate.combination import mean_of
from mmeval.aggregate.scores import Averaged, Scores, load_aggregator
from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.aggregate.summary import combine, summarise
from mmeval.errors import MmevalError, PluginError
from mmeval.metric.scoring.score_set import ScoreSet, finished_rows
from mmeval.records.score import NO_OPTION, UNUSED_REPLY, Cause, Result, Score
from mmeval.store.paths import TrialFilter
from mmeval.task.task import CombinedNumber, Group, GroupMetric, Task


@dataclass(frozen=True)
class TaskNumber:
    """One number of a task: a metric's output, and how its scores become one value.
    The aggregator is named, so that this can be sent to another process."""

    name: str
    range: tuple[float, float]
    higher_is_better: bool = True
    aggregation: str = "mean"
    options: Mapping[str, Any] = field(default_factory=dict)
    switches: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskNumbers:
    """A task's numbers, each whole and by every value of the labels in
    ``breakdown``."""

    task: str
    numbers: tuple[TaskNumber, ...]
    breakdown: tuple[str, ...] = ()
    combined: tuple[CombinedNumber, ...] = ()

    @classmethod
    def of(cls, task: Task) -> TaskNumbers:
        numbers = []
        for task_metric in task.metrics:
            metric = task_metric.bound.metric
            for name in metric.outputs:
                number = TaskNumber(
                    name,
                    metric.range_for(name),
                    metric.higher_is_better,
                    task_metric.aggregation,
                    task_metric.options,
                    task_metric.bound.params,
                )
                numbers.append(number)
        return cls(task.name, tuple(numbers), task.breakdown, task.numbers)


def task_results(
    task: TaskNumbers,
    scores: Path,
    trial_filter: TrialFilter,
    suspended: Collection[str] = (),
    *,
    bootstrap_iters: int = BOOTSTRAP_ITERS,
) -> list[Result]:
    """A task's numbers over the trials that the filter keeps, from finished rows.
    ``suspended`` names the numbers whose scoring was given up during the run: they get
    counts and bounds alone."""
    columns: dict[str, Scores] = {}
    for number in task.numbers:
        columns[number.name] = Scores(
            range=number.range,
            higher_is_better=number.higher_is_better,
            switches=number.switches,
        )
    fill(columns, finished_rows(scores, trial_filter))
    if not columns:
        return []
    first = task.numbers[0].name
    places: dict[str, Sequence[int]] = {}
    for label in task.breakdown:
        for level, at in columns[first].places(label).items():
            places[f"{label}={level}"] = at
    kept: set[str] = set()
    for made in task.combined:
        kept.update((*made.of, first))
    results: list[Result] = []
    for number in task.numbers:
        column = columns[number.name]
        if number.name not in kept:
            del columns[number.name]  # a long run is large
        is_suspended = number.name in suspended
        results += _results(
            task, number, column, places, bootstrap_iters, suspended=is_suspended
        )
    for made in task.combined:
        combined = _combined(
            task, made, columns, results, places, bootstrap_iters=bootstrap_iters
        )
        results += list(combined)
    return results


class UnscoredReason(NamedTuple):
    """Why a trial has no score."""

    reason: str
    cause: Cause


@dataclass
class UnscoredReasons:
    """How many trials have no score, by reason, and of each reason the first reply that
    a judge gave for one of them."""

    counts: Counter[UnscoredReason] = field(default_factory=Counter)
    replies: dict[UnscoredReason, str] = field(default_factory=dict)


def unscored_reasons(
    scores: ScoreSet,
    trial_filter: TrialFilter,
    name: str,
) -> UnscoredReasons:
    """Why the trials that one number lacks have no score.

    Refused answers that the user leaves out are none of these.
    """
    found = UnscoredReasons()
    for row in finished_rows(scores.folder, trial_filter):
        score = row["scores"].get(name, {})
        if row["status"] != "ok" or score.get("status") != "unscored":
            continue
        given = Score.from_json(score)
        is_left_out = bool(row.get("refused")) and given.cause == "refused"
        if is_left_out:
            continue
        why = UnscoredReason(given.reason, given.cause)
        found.counts[why] += 1
        if why not in found.replies:
            reply = next(in_evidence(given.evidence, UNUSED_REPLY), "")
            if reply:
                found.replies[why] = str(reply)
    return found


def in_evidence(evidence: Any, key: str) -> Iterator[Any]:
    """The values of a key in evidence of JSON, at any depth."""
    if isinstance(evidence, Mapping):
        if key in evidence:
            yield evidence[key]
        for value in evidence.values():
            yield from in_evidence(value, key)
    elif isinstance(evidence, list):
        for item in evidence:
            yield from in_evidence(item, key)


_WITHOUT_VALUE = frozenset(("bounds", "cause", "evidence", "weight"))
"""What may be known of a score without a value besides its status."""


def fill(columns: Mapping[str, Scores], rows: Iterable[Mapping[str, Any]]) -> None:
    """Put rows into columns; equal labels are one object, to keep a long run small."""
    interned: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        labels = row.get("labels")
        if labels is not None:
            labels = interned.setdefault(repr(labels), labels)
        sample, repeat, cluster = row["s"], row["n"], row.get("cluster", "")
        status, scores = row["status"], row["scores"]
        refused = row.get("refused", False)
        for name, column in columns.items():
            score = scores.get(name)
            if status != "ok":
                column.add(
                    sample,
                    repeat,
                    status,
                    cluster=cluster,
                    labels=labels,
                    faulty=is_faulty(row),
                )
                continue
            if score is None:
                known = Score.unscored("not scored yet")
            elif score["status"] == "scored" and score["value"] is not None:
                weight = score.get("weight", 1.0)
                no_option = score.get("evidence", {}).get(NO_OPTION, False)
                column.add_value(
                    sample,
                    repeat,
                    score["value"],
                    cluster=cluster,
                    labels=labels,
                    weight=weight,
                    no_option=bool(no_option),
                    refused=refused,
                )
                continue
            elif _WITHOUT_VALUE & score.keys():
                known = Score.from_json(score)
            else:
                known = score["status"]
            column.add(
                sample,
                repeat,
                known,
                cluster=cluster,
                labels=labels,
                refused=refused,
            )


def is_faulty(row: Mapping[str, Any]) -> bool:
    """Whether a trial could not be asked because of its sample's own data."""
    return bool(row.get("error", {}).get("kind") == "bad_sample")


Slices = Mapping[str, Sequence[int]]
"""The places of a slice's rows by its name; the columns of a task have the same."""


def _results(
    task: TaskNumbers,
    number: TaskNumber,
    column: Scores,
    places: Slices,
    bootstrap_iters: int,
    *,
    suspended: bool,
) -> Iterator[Result]:
    aggregator = load_aggregator(number.aggregation)
    for name, at in (("", None), *places.items()):
        part = column if at is None else column.at(at)
        with _named(task, number.name, name, number.aggregation):
            result = summarise(
                task.task,
                number.name,
                part,
                aggregator,
                number.options,
                bootstrap_iters=bootstrap_iters,
                suspended=suspended,
            )
        yield replace(result, slice=name, evidence=None if name else result.evidence)


def _combined(
    task: TaskNumbers,
    made: CombinedNumber,
    columns: Mapping[str, Scores],
    results: Sequence[Result],
    places: Slices,
    *,
    bootstrap_iters: int,
) -> Iterator[Result]:
    """A number of numbers, whole and by slices; ``results`` are those of its parts."""
    of_parts = {(result.metric, result.slice): result for result in results}
    numbers = [number for number in task.numbers if number.name in made.of]
    if not numbers:
        # All parts were skipped: what is known of the trials is that of any number.
        numbers = [task.numbers[0]]
    aggregations = dict.fromkeys(number.aggregation for number in numbers)
    for name, at in (("", None), *places.items()):
        parts = []
        for number in numbers:
            column = columns[number.name]
            part = Averaged(
                of_parts[number.name, name],
                column if at is None else column.at(at),
                load_aggregator(number.aggregation),
                number.options,
            )
            parts.append(part)
        with _named(task, made.name, name, " and ".join(aggregations)):
            result = mean_of(
                task.task,
                made.name,
                parts,
                skip=made.missing != "unknown",
                higher_is_better=made.higher_is_better,
                unavailable=bool(made.unavailable),
                bootstrap_iters=bootstrap_iters,
            )
        yield replace(result, slice=name, evidence=None if name else result.evidence)


@contextmanager
def _named(
    task: TaskNumbers, number: str, slice: str, aggregation: str
) -> Iterator[None]:
    """Raises PluginError with the names where an aggregator fails."""
    try:
        yield
    except MmevalError:
        raise
    # a plugin's aggregator may raise anything and call sys.exit
    except (Exception, SystemExit) as error:
        place = f"{number} of {slice}" if slice else number
        raise PluginError(
            f"{task.task}: the aggregator {aggregation!r} failed on {place} "
            f"({type(error).__name__}: {error}). The scores are kept: mend it, then "
            "run the same command"
        ) from error


def group_results(groups: Sequence[Group], results: Sequence[Result]) -> list[Result]:
    """The groups' numbers, in the order of the groups. A task that a group reaches
    twice, directly and through another group among its members, counts once. A group
    among the members weighs its own as it says itself; one that has no such number does
    as the group around it. Where absent members count, one without the number is
    unknown: it was not asked."""
    by_name = {group.name: group for group in groups}
    entries: dict[tuple[str, str], GroupMetric] = {}
    for group in groups:
        for entry in group.metrics:
            entries[group.name, entry.metric] = entry
    whole: dict[tuple[str, str], Result] = {}
    for result in results:
        if not result.slice:
            whole[result.task, result.metric] = result

    def of(
        group: Group,
        entry: GroupMetric,
        counted: set[str],
    ) -> Result | None:
        metric = entry.metric
        members: list[Result] = []
        # its own tasks first: they are its own
        for name in sorted(group.members, key=lambda name: name in by_name):
            if name in by_name:
                own = entries.get((name, metric), entry)
                member = of(by_name[name], own, counted)
            elif name not in counted:
                counted.add(name)
                member = whole.get((name, metric))
            else:
                continue
            if member is None and entry.counts_absent:
                member = Result(name, metric, None, n=0, scored=0)
            if member is not None:
                members.append(member)
        if not members:
            return None
        return combine(
            group.name,
            metric,
            members,
            weight_by_size=entry.weight_by_size,
            counts_absent=entry.counts_absent,
        )

    found = []
    for group in groups:
        for entry in group.metrics:
            number = of(group, entry, set())
            if number is not None:
                found.append(number)
    return found
