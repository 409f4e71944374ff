"""Computes the numbers of ISG-Bench's tables that no task has.

These are the numbers of judge files, and those of the released script.

A category's value is the mean of its samples, not of its subtasks. The released script
leaves out Semantic Segmentation, and prints 0 for a category without a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.aggregate import known_mean
from mmeval.metric.judge import UNREAD
from mmeval.metrics.judged.isg.isg_recorded import OUTPUTS as RECORDED
from mmeval.metrics.judged.isg.rows import CATEGORY
from mmeval.results import NumberKey, TableNumber, counted_by, result_of
from mmeval.tasks.isg.subtasks import CATEGORIES, LEVELS, SEMANTIC, TASKS, category_of

if TYPE_CHECKING:
    from mmeval.results import StoredRun, StoredTask

RELEASED = "released"
"""The slice of the numbers that the released script prints."""
NO_QUESTIONS = ("image", "vqa")
"""The level and category without questions about pictures."""
Values: TypeAlias = dict[tuple[str, str], list[float | None]]
"""The values of the answers, by level and category."""


def category_numbers(run: StoredRun) -> Iterator[TableNumber]:
    """Yields the numbers of judge files by category, and those of the released script
    for tasks in the official profile."""
    of_files: Values = {}
    of_script: Values = {}
    for task in run.tasks:
        is_file, is_official = _kind_of(run, task)
        if not is_file and not is_official:
            continue
        for subtask, level, score in _scores(run, task):
            if subtask not in TASKS.values():
                continue
            # the released script counts each line of a repeated id
            lines = int(score.get("weight", 1)) if is_file else 1
            values = [score.get("value")] * lines
            place = (level, category_of(subtask))
            if is_file:
                of_files.setdefault(place, []).extend(values)
            if is_official and subtask != SEMANTIC:
                of_script.setdefault(place, []).extend(values)
    for place, values in of_files.items():
        yield _number(place, known_mean(values))
    if of_script:
        for level in LEVELS:
            for category in CATEGORIES:
                mean = known_mean(of_script.get((level, category), ()))
                yield _number((level, category), mean or 0.0, slice=RELEASED)


def _number(
    place: tuple[str, str], mean: float | None, *, slice: str = ""
) -> TableNumber:
    level, category = place
    key = NumberKey(f"isg_{category}", f"isg_{level}", slice)
    if place == NO_QUESTIONS:
        return TableNumber(key, None, "cannot")
    if mean is None:
        return TableNumber(key, None, "lost", "answers or verdicts are lost")
    return TableNumber(key, mean)


def _kind_of(run: StoredRun, task: StoredTask) -> tuple[bool, bool]:
    """Returns whether a task reads a judge file, and whether it is an ISG-Bench task in
    the official profile."""
    is_file = is_official = False
    for metric in run.ours.get("metrics", {}).get(task.name, {}).values():
        is_file |= not set(RECORDED).isdisjoint(metric.get("outputs", ()))
        is_official |= metric.get("switches", {}).get("reading") == "official"
    return is_file, is_official and (is_file or task.name in TASKS)


def _scores(
    run: StoredRun, task: StoredTask
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yields the subtask, the level and the score of each counted answer of a task."""
    is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
    is_own = task.name in TASKS
    subtasks: dict[str, str] = {}
    for sample in () if is_own else task.samples():
        category = sample.get("metadata", {}).get(CATEGORY)
        subtasks[str(sample.get("id"))] = str(category)
    numbers = {}
    for level, recorded in zip(LEVELS, RECORDED, strict=True):
        number = f"isg_{level}" if is_own else recorded
        result = result_of(run, task, number)
        if result is None or not result.suspended:
            numbers[level] = number
    for row in task.score_rows():
        if row["status"] != "ok" or not is_counted(row["i"], row["n"]):
            continue
        subtask = TASKS[task.name] if is_own else subtasks.get(row["s"], "")
        for level, number in numbers.items():
            yield subtask, level, row["scores"].get(number, {})


def verdict_facts(run: StoredRun) -> Mapping[str, str]:
    """Returns how many verdicts of the judges cannot be read. The profile or ``lost``
    decides how they count."""
    unread = asked = 0
    for task in run.tasks:
        if task.name in TASKS:
            for _, _, score in _scores(run, task):
                evidence = score.get("evidence", {})
                unread += evidence.get(UNREAD, 0)
                asked += len(evidence.get("asked", ()))
    return {"Unread verdicts": f"{unread:,} of {asked:,}"} if unread else {}
