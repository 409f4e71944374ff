"""Makes the tables of MMMG's paper: tasks with the authors' intervals, and averages.

Averages are computed per category and per group of the leaderboard.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mmeval.aggregate import macro_mean, repeat_means, spread
from mmeval.results import Cell, Table, paper_notes, result_of, scores_of
from mmeval.tasks.mmmg.averages import Passes, average, interval
from mmeval.tasks.mmmg.categories import CATEGORIES, Category

if TYPE_CHECKING:
    from mmeval.aggregate import Scores
    from mmeval.results import StoredRun, StoredTask

NUMBER = "overall"
"""The name of the number that every task of MMMG computes."""
FILE = "file"
"""The label with the instruction file, for tasks with several files."""
INTERVAL = (
    "±: half of the authors' 95 % interval, which is 1.96 standard errors over the "
    "complete passes."
)
PAPER = (
    "Paper: the mean of the tasks that the model supports. Leaderboard: unsupported "
    "tasks count as 0."
)
UNKNOWN = (
    "N/A: a task of the category has no value (lost, unavailable or not asked). The "
    "mean of the other tasks would not be comparable."
)
STATE_NOTES: Mapping[str, str] = {
    "lost": "Lost",
    "unavailable": "Unavailable, their metrics cannot run here",
}
"""The notes below the table of averages, by state."""

State = Literal["known", "lost", "absent", "unavailable", "not asked"]
"""The state of a task. ``known``: the task has a value. ``lost``: the task's value is
lost. ``absent``: the model does not support the task. ``unavailable``: the task's
metric cannot run here. ``not asked``: the task was not run, or was left out."""


@dataclass(frozen=True)
class TaskLine:
    """The results of a task.

    ``passes`` are the values of its passes. ``trials`` counts the scored trials, and
    ``missing`` counts the trials without a value by status.
    """

    alias: str
    state: State
    value: float | None = None
    passes: Passes = ()
    trials: str = ""
    missing: str = ""

    @property
    def half_width(self) -> float | None:
        return spread(self.passes).half_width if self.passes else None


def layout(run: StoredRun) -> Iterator[Table]:
    """Makes a table per category with a task in the run, and a table of averages."""
    task_lines = {task.name: _line(run, task) for task in run.tasks}
    lines = dict(task_lines)
    for name in run.ours.get("left_out", {}):
        lines.setdefault(name, TaskLine(name, "not asked", missing="left out"))
    categories = []
    for category in CATEGORIES:
        if not task_lines.keys().isdisjoint(category.tasks):
            categories.append(category)
            yield _tasks_table(category, lines, run)
    if categories:
        yield _averages_table(categories, task_lines)


def _line(run: StoredRun, task: StoredTask) -> TaskLine:
    scores = scores_of(run, task, NUMBER)
    trials = f"{scores.count('scored')}/{len(scores)}"
    result = result_of(run, task, NUMBER)
    if result is not None and result.suspended:
        return TaskLine(task.alias, "lost", trials=trials, missing="scoring suspended")
    # The number of trials without a value by status; one word if all have the same.
    counts = []
    for status in ("failed", "unscored", "unavailable", "inapplicable", "unsupported"):
        count = scores.count(status)
        if count == len(scores):
            counts = [status]
            break
        if count:
            counts.append(f"{count} {status}")
    missing = ", ".join(counts) if len(scores) else "not scored"
    value = macro_mean(scores, by=FILE).value
    if value is not None:
        return TaskLine(task.alias, "known", value, _passes(scores), trials, missing)
    state: State = "not asked"
    if scores.count("failed") or scores.count("unscored"):
        state = "lost"
    elif scores.count("unavailable"):
        state = "unavailable"
    elif scores.count("unsupported"):
        state = "absent"
    return TaskLine(task.alias, state, trials=trials, missing=missing)


def _passes(scores: Scores) -> Passes:
    """Computes the mean of each pass, with equal weight per instruction file.

    The result is empty if a pass has no score for one of the files.
    """
    files = []
    for part in scores.by_level(FILE).values():
        if part.values:
            files.append(repeat_means(part))
    if not files:
        return repeat_means(scores)
    if len({len(means) for means in files}) > 1:
        return ()
    passes = []
    for means in zip(*files, strict=True):
        passes.append(math.fsum(means) / len(means))
    return passes


def _tasks_table(
    category: Category, lines: Mapping[str, TaskLine], run: StoredRun
) -> Table:
    included = [task for task in category.tasks if task in lines]
    notes = [INTERVAL]
    if len(included) < len(category.tasks):
        notes.append(
            f"{len(category.tasks) - len(included)} of its {len(category.tasks)} tasks "
            "are not in this run."
        )
    notes += paper_notes(run, included)
    rows: list[tuple[Cell, ...]] = []
    for task in included:
        line = lines[task]
        rows.append(
            (line.alias, line.value, line.half_width, line.trials, line.missing)
        )
    return Table(
        f"MMMG, {category.title}: tasks",
        ("Task", "Value", "±", "Scored", "Lacks"),
        tuple(rows),
        tuple(notes),
    )


def _averages_table(
    categories: Sequence[Category], lines: Mapping[str, TaskLine]
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for category in categories:
        rows.append(_average_row(category.title, category.tasks, lines))
        for name, tasks in category.groups.items():
            rows.append(_average_row(f"{category.title}: {name}", tasks, lines))
    notes = [PAPER]
    if any(row[1] is None for row in rows):
        notes.append(UNKNOWN)
    for state, words in STATE_NOTES.items():
        aliases = []
        for category in categories:
            for task in category.tasks:
                if _state_of(task, lines) == state:
                    aliases.append(lines[task].alias)
        if aliases:
            notes.append(f"{words}: {', '.join(aliases)}.")
    return Table(
        "MMMG: averages (there is none across categories)",
        ("Category", "Paper", "±", "Leaderboard", "Tasks", "Lacks"),
        tuple(rows),
        tuple(notes),
    )


def _average_row(
    title: str, tasks: Sequence[str], lines: Mapping[str, TaskLine]
) -> tuple[Cell, ...]:
    """Makes a row of averages.

    An average is shown if each of its tasks has a value or is unsupported.
    """
    states = Counter(_state_of(task, lines) for task in tasks)
    labels: list[tuple[State, str]] = [
        ("lost", "lost"),
        ("unavailable", "unavailable"),
        ("not asked", "not asked"),
        ("absent", "unsupported"),
    ]
    missing = ", ".join(
        f"{states[state]} {word}" for state, word in labels if states[state]
    )
    values = {}
    passes = {}
    for task in tasks:
        line = lines.get(task)
        if line is not None and line.value is not None:
            values[task] = line.value
            passes[task] = line.passes
    counted = f"{len(values)}/{len(tasks)}"
    if states.keys() - {"known", "absent"}:
        return (title, None, None, None, counted, missing)
    spread_of_passes = interval(passes, tasks)
    half = None if spread_of_passes is None else spread_of_passes.half_width
    leaderboard = average(values, tasks, absent="zero")
    return (title, average(values, tasks), half, leaderboard, counted, missing)


def _state_of(task: str, lines: Mapping[str, TaskLine]) -> State:
    return lines[task].state if task in lines else "not asked"
