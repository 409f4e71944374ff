"""Computes the numbers of a report from score rows: per task, slice and group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.aggregate.combination import mean_of
from mmeval.aggregate.scores import AggregatedNumber, Scores, load_aggregator
from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.aggregate.summary import combine, summarise
from mmeval.errors import MmevalError, PluginError
from mmeval.metric.scoring.score_set import ScoreSet, finished_rows
from mmeval.records.score import NO_OPTION, UNUSED_REPLY, Cause, Result, Score
from mmeval.store.paths import TrialFilter
from mmeval.task.task import CombinedNumber, Group, GroupMetric, Task


@dataclass(frozen=True)
class TaskNumber:
    """One number of a task: an output of a metric, and how its scores are aggregated.

    The aggregator is given by name, so that a task number can be sent to another
    process.
    """

    name: str
    range: tuple[float, float]
    higher_is_better: bool = True
    aggregation: str = "mean"
    options: Mapping[str, Any] = field(default_factory=dict)
    switches: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskNumbers:
    """The numbers of a task, each for the whole task and for every value of the labels
    in ``breakdown``."""

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
    """Returns the numbers of a task over the trials that the filter keeps.

    The numbers are computed from the finished rows of the task's score set.
    ``suspended`` names the numbers whose scoring stopped during the run. For these,
    only counts and bounds are computed.
    """
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
        for level, positions in columns[first].places(label).items():
            places[f"{label}={level}"] = positions
    needed: set[str] = set()
    for combined_number in task.combined:
        needed.update((*combined_number.of, first))
    results: list[Result] = []
    for number in task.numbers:
        column = columns[number.name]
        if number.name not in needed:
            del columns[
                number.name
            ]  # frees memory, as the scores of a long run are large
        is_suspended = number.name in suspended
        results += _results(
            task, number, column, places, bootstrap_iters, suspended=is_suspended
        )
    for combined_number in task.combined:
        combined_results = _combined(
            task,
            combined_number,
            columns,
            results,
            places,
            bootstrap_iters=bootstrap_iters,
        )
        results += list(combined_results)
    return results


class UnscoredReason(NamedTuple):
    """The reason why a trial has no score."""

    reason: str
    cause: Cause


@dataclass
class UnscoredReasons:
    """The numbers of unscored trials by reason, and the first reply of a judge for each
    reason."""

    counts: Counter[UnscoredReason] = field(default_factory=Counter)
    replies: dict[UnscoredReason, str] = field(default_factory=dict)


def unscored_reasons(
    scores: ScoreSet,
    trial_filter: TrialFilter,
    name: str,
) -> UnscoredReasons:
    """Returns the reasons for the unscored trials of one number. Refused answers that
    the user leaves out are not included."""
    reasons = UnscoredReasons()
    for row in finished_rows(scores.folder, trial_filter):
        score = row["scores"].get(name, {})
        if row["status"] != "ok" or score.get("status") != "unscored":
            continue
        parsed = Score.from_json(score)
        is_left_out = bool(row.get("refused")) and parsed.cause == "refused"
        if is_left_out:
            continue
        reason = UnscoredReason(parsed.reason, parsed.cause)
        reasons.counts[reason] += 1
        if reason not in reasons.replies:
            reply = next(in_evidence(parsed.evidence, UNUSED_REPLY), "")
            if reply:
                reasons.replies[reason] = str(reply)
    return reasons


def in_evidence(evidence: Any, key: str) -> Iterator[Any]:
    """Yields the values of a key in JSON evidence, at any depth."""
    if isinstance(evidence, Mapping):
        if key in evidence:
            yield evidence[key]
        for value in evidence.values():
            yield from in_evidence(value, key)
    elif isinstance(evidence, list):
        for item in evidence:
            yield from in_evidence(item, key)


_WITHOUT_VALUE = frozenset(("bounds", "cause", "evidence", "weight"))
"""Fields of a score without a value, in addition to its status."""


def fill(columns: Mapping[str, Scores], rows: Iterable[Mapping[str, Any]]) -> None:
    """Adds rows to columns. Equal labels share one object, to save memory."""
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
                score_or_status = Score.unscored("not scored yet")
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
                score_or_status = Score.from_json(score)
            else:
                score_or_status = score["status"]
            column.add(
                sample,
                repeat,
                score_or_status,
                cluster=cluster,
                labels=labels,
                refused=refused,
            )


def is_faulty(row: Mapping[str, Any]) -> bool:
    """Returns True if a trial could not be asked because of the data of its sample."""
    return bool(row.get("error", {}).get("kind") == "bad_sample")


Slices = Mapping[str, Sequence[int]]
"""The positions of each slice's rows, by the name of the slice. All columns of a task
use the same positions."""


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
    for name, positions in (("", None), *places.items()):
        part = column if positions is None else column.take(positions)
        with _named_errors(task, number.name, name, number.aggregation):
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
    combined_number: CombinedNumber,
    columns: Mapping[str, Scores],
    results: Sequence[Result],
    places: Slices,
    *,
    bootstrap_iters: int,
) -> Iterator[Result]:
    """Yields a combined number, for the whole and by slice. ``results`` are the results
    of its parts."""
    of_parts = {(result.metric, result.slice): result for result in results}
    numbers = [number for number in task.numbers if number.name in combined_number.of]
    if not numbers:
        # All parts were skipped, so the counts of trials are the same for any number.
        numbers = [task.numbers[0]]
    aggregations = dict.fromkeys(number.aggregation for number in numbers)
    for name, positions in (("", None), *places.items()):
        parts = []
        for number in numbers:
            column = columns[number.name]
            part = AggregatedNumber(
                of_parts[number.name, name],
                column if positions is None else column.take(positions),
                load_aggregator(number.aggregation),
                number.options,
            )
            parts.append(part)
        with _named_errors(
            task, combined_number.name, name, " and ".join(aggregations)
        ):
            result = mean_of(
                task.task,
                combined_number.name,
                parts,
                skip=combined_number.missing != "unknown",
                higher_is_better=combined_number.higher_is_better,
                unavailable=bool(combined_number.unavailable),
                bootstrap_iters=bootstrap_iters,
            )
        yield replace(result, slice=name, evidence=None if name else result.evidence)


@contextmanager
def _named_errors(
    task: TaskNumbers, number: str, slice: str, aggregation: str
) -> Iterator[None]:
    """Raises PluginError with the names if the aggregator in the block fails."""
    try:
        yield
    except MmevalError:
        raise
    # a plugin's aggregator may raise anything and call sys.exit
    except (Exception, SystemExit) as error:
        place = f"{number} of {slice}" if slice else number
        raise PluginError(
            f"{task.task}: the aggregator {aggregation!r} failed on {place} "
            f"({type(error).__name__}: {error}). The scores are kept: fix it, then run "
            "the same command"
        ) from error


def group_results(groups: Sequence[Group], results: Sequence[Result]) -> list[Result]:
    """Returns the numbers of groups, in the order of the groups.

    If a group reaches a task twice, directly and through a nested group, the task is
    included once. A nested group weights its members by its own entry for the metric,
    or else by the entry of the outer group. If absent members are included, a member
    without the number has an unknown value.
    """
    by_name = {group.name: group for group in groups}
    entries: dict[tuple[str, str], GroupMetric] = {}
    for group in groups:
        for entry in group.metrics:
            entries[group.name, entry.metric] = entry
    whole: dict[tuple[str, str], Result] = {}
    for result in results:
        if not result.slice:
            whole[result.task, result.metric] = result

    def result_of_group(
        group: Group,
        entry: GroupMetric,
        counted: set[str],
    ) -> Result | None:
        metric = entry.metric
        members: list[Result] = []
        # direct tasks first, so that nested groups do not count them again
        for name in sorted(group.members, key=lambda name: name in by_name):
            if name in by_name:
                member_entry = entries.get((name, metric), entry)
                member = result_of_group(by_name[name], member_entry, counted)
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

    group_numbers = []
    for group in groups:
        for entry in group.metrics:
            number = result_of_group(group, entry, set())
            if number is not None:
                group_numbers.append(number)
    return group_numbers
