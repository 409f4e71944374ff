"""From score rows to the numbers of a report: per task, per slice, per group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmeval.aggregate import Scores, combine, summarise
from mmeval.records import Result, Score
from mmeval.scoreset import ScoreSet
from mmeval.task import Group, Task, TaskMetric


def task_results(task: Task, scores: ScoreSet, wanted: Callable[[int, int], bool]) -> list[Result]:
    """Every metric of a task over the trials that are wanted, whole and by each label of its ``breakdown``."""
    columns = {name: _column(metric) for metric in task.metrics for name in metric.bound.metric.outputs}
    fill(columns, scores.rows(wanted))
    results: list[Result] = []
    for metric in task.metrics:
        for name in metric.bound.metric.outputs:
            results.extend(_results(task, name, metric, columns[name]))
    return results


def unscored_reasons(scores: ScoreSet, wanted: Callable[[int, int], bool], name: str) -> Counter[str]:
    """Why the trials that one number lacks have no score."""
    found = (row["scores"].get(name, {}) for row in scores.rows(wanted) if row["status"] == "ok")
    return Counter(score["reason"] for score in found if score.get("status") == "unscored" and score.get("reason"))


def fill(columns: Mapping[str, Scores], rows: Iterable[Mapping[str, Any]]) -> None:
    """Put rows into columns; equal labels are one object, so that a long run stays small."""
    interned: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        labels = row.get("labels")
        if labels is not None:
            labels = interned.setdefault(repr(labels), labels)
        for name, column in columns.items():
            score = row["scores"].get(name)
            if row["status"] != "ok":
                column.add(row["s"], row["n"], row["status"], cluster=row.get("cluster", ""), labels=labels)
            else:
                given = Score.unscored("not scored yet") if score is None else Score(score["value"], score["status"])
                column.add(row["s"], row["n"], given, cluster=row.get("cluster", ""), labels=labels)


def _column(metric: TaskMetric) -> Scores:
    described = metric.bound.metric
    return Scores(range=described.range, higher_is_better=described.higher_is_better)


def _results(task: Task, name: str, metric: TaskMetric, column: Scores) -> Iterator[Result]:
    yield summarise(task.name, name, column, metric.aggregator, metric.options)
    for key in task.breakdown:
        for level in column.levels(key):
            result = summarise(task.name, name, column.where(key, level), metric.aggregator, metric.options)
            yield replace(result, slice=f"{key}={level}")


def group_results(groups: Sequence[Group], results: Sequence[Result]) -> list[Result]:
    """The groups' numbers, in the order of the groups. A group may count other groups among its members; a task that
    it reaches twice, directly and through one of them, counts once."""
    by_name = {group.name: group for group in groups}
    whole = {(result.task, result.metric): result for result in results if not result.slice}

    def of(group: Group, metric: str, weight_by_size: bool, counted: set[str]) -> Result | None:
        members: list[Result] = []
        for name in sorted(group.members, key=lambda name: name in by_name):  # its own tasks first: they are its own
            if name in by_name:
                nested = of(by_name[name], metric, weight_by_size, counted)
                members.extend([] if nested is None else [nested])
            elif (name, metric) in whole and name not in counted:
                counted.add(name)
                members.append(whole[name, metric])
        return combine(group.name, metric, members, weight_by_size=weight_by_size) if members else None

    found = (of(group, m.metric, m.weight_by_size, set()) for group in groups for m in group.metrics)
    return [result for result in found if result is not None]
