"""Computes the numbers of ISG-Bench's tables that no task has.

These are the numbers of judge files, and those of the released script.

A category's value is the mean of its samples, not of its subtasks. The released script
leaves out Semantic Segmentation, and prints 0 for a category without a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.aggregate import known_mean
from mmeval.metric.judge import UNREAD
from mmeval.metrics.judged.isg.isg_recorded import OUTPUTS as RECORDED
from mmeval.metrics.judged.isg.rows import CATEGORY
from mmeval.results import NumberKey, TableNumber, counted_by, result_of
from mmeval.system.wording import listed, shortened
from mmeval.tasks.isg.subtasks import CATEGORIES, LEVELS, SEMANTIC, TASKS, category_of

if TYPE_CHECKING:
    from mmeval.results import StoredRun, StoredTask

RELEASED = "released"
"""The slice of the numbers that the released script prints."""
NO_QUESTIONS = ("image", "vqa")
"""The level and category without questions about pictures."""
MAX_SUBTASK = 40
MAX_NAMED = 3
LOST = "answers or verdicts are lost"
SOME = "some of its subtasks were not asked"
Values: TypeAlias = dict[tuple[str, str], list[float | None]]
"""The values of the answers, by level and category."""


def category_numbers(run: StoredRun) -> Iterator[TableNumber]:
    """Yields the numbers of each category, and those of the released script for tasks
    in the official profile.

    A run of single tasks, or of a judge file, has no groups that would have them.
    """
    of_categories: Values = {}
    of_script: Values = {}
    lost: set[tuple[str, str]] = set()
    has_file = False
    for task in run.tasks:
        is_file, is_official = _kind_of(run, task)
        has_file |= is_file
        for subtask, level, score in _scores(run, task):
            if subtask not in TASKS.values():
                continue
            # the released script counts each line of a repeated id
            lines = int(score.get("weight", 1)) if is_file else 1
            values = [score.get("value")] * lines
            place = (level, category_of(subtask))
            if score.get("status") in ("unscored", "unavailable"):
                lost.add(place)
            of_categories.setdefault(place, []).extend(values)
            if is_official and subtask != SEMANTIC:
                of_script.setdefault(place, []).extend(values)
    asked = {task.name for task in run.tasks}
    for place, values in of_categories.items():
        subtasks = CATEGORIES[place[1]].subtasks.values()
        is_whole = has_file or asked.issuperset(f"isg_{name}" for name in subtasks)
        yield _number(place, known_mean(values), reason=LOST if is_whole else SOME)
    if of_script:
        for level in LEVELS:
            for category in CATEGORIES:
                place = (level, category)
                mean = known_mean(of_script.get(place, ()))
                if mean is None and place not in lost:
                    mean = 0.0
                yield _number(place, mean, slice=RELEASED, reason=LOST)


def _number(
    place: tuple[str, str], mean: float | None, *, slice: str = "", reason: str = ""
) -> TableNumber:
    level, category = place
    key = NumberKey(f"isg_{category}", f"isg_{level}", slice)
    if place == NO_QUESTIONS:
        return TableNumber(key, None, "cannot")
    if mean is None or reason == SOME:
        return TableNumber(key, None, "lost", reason)
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
    suspended = set()
    for level, recorded in zip(LEVELS, RECORDED, strict=True):
        numbers[level] = f"isg_{level}" if is_own else recorded
        result = result_of(run, task, numbers[level])
        if result is not None and result.suspended:
            suspended.add(level)
    for row in task.score_rows():
        if row["status"] != "ok" or not is_counted(row["i"], row["n"]):
            continue
        subtask = TASKS[task.name] if is_own else subtasks.get(row["s"], "")
        for level, number in numbers.items():
            is_suspended = level in suspended
            score = row["scores"].get(number, {})
            yield subtask, level, {"status": "unscored"} if is_suspended else score


def answer_facts(run: StoredRun) -> Mapping[str, str]:
    """Returns how many verdicts of the judges cannot be read (the profile or ``lost``
    decides how they count), and the answers whose Category is not a subtask."""
    unread = asked = 0
    unknown: Counter[str] = Counter()
    for task in run.tasks:
        is_file, _ = _kind_of(run, task)
        if not is_file and task.name not in TASKS:
            continue
        for subtask, level, score in _scores(run, task):
            evidence = score.get("evidence", {})
            unread += evidence.get(UNREAD, 0)
            asked += len(evidence.get("asked", ()))
            if level == LEVELS[0] and subtask not in TASKS.values():
                unknown[shortened(subtask, MAX_SUBTASK)] += 1
    facts = {}
    if unread:
        facts["Unread verdicts"] = f"{unread:,} of {asked:,}"
    if unknown:
        names = listed([repr(name) for name in unknown], MAX_NAMED)
        facts["Unknown category"] = f"{unknown.total():,} ({names})"
    return facts
