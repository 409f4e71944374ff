"""The tables of MMMG's paper: tasks with the authors' intervals, and averages.
The averages are those of categories and of the leaderboard's groups."""

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
"""The score of a trial, which every task of MMMG has."""
FILE = "file"
"""The label of the instruction file, for tasks with several files."""
INTERVAL = (
    "±: half of the authors' 95 % interval, 1.96 standard errors over the times that "
    "all of it was answered."
)
PAPER = (
    "Paper: the mean of the tasks that the model can do. Leaderboard: what it cannot "
    "do counts 0."
)
UNKNOWN = (
    "N/A: one of its tasks has no value here (lost, unavailable or not asked), which "
    "is not 0; the mean of the others "
    "would be that of other tasks."
)
NAMED: Mapping[str, str] = {
    "lost": "Lost",
    "unavailable": "Unavailable, nothing here can score them",
}
"""How the state of a task is described below the table of averages."""

State = Literal["known", "lost", "absent", "unavailable", "not asked"]
"""States of a task: it has a value; all answers were lost; the model cannot do it; it
cannot be scored here; it was not asked."""


@dataclass(frozen=True)
class Line:
    """The results of one task: its value, each pass's, scored and unscored trials."""

    alias: str
    state: State
    value: float | None = None
    passes: Passes = ()
    trials: str = ""
    lacks: str = ""

    @property
    def half_width(self) -> float | None:
        return spread(self.passes).half_width if self.passes else None


def layout(run: StoredRun) -> Iterator[Table]:
    """Make a table for each category with a task in the run, and one of averages."""
    asked = {task.name: _line(run, task) for task in run.tasks}
    left_out = {
        str(name): Line(str(name), "not asked", lacks="left out")
        for name in run.ours.get("left_out", {})
    }
    shown = [
        category
        for category in CATEGORIES
        if not asked.keys().isdisjoint(category.tasks)
    ]
    for category in shown:
        yield _tasks_table(category, {**left_out, **asked}, run)
    if shown:
        yield _averages_table(shown, asked)


def _line(run: StoredRun, task: StoredTask) -> Line:
    scores = scores_of(run, task, NUMBER)
    trials = f"{scores.count('scored')}/{len(scores)}"
    result = result_of(run, task, NUMBER)
    if result is not None and result.suspended:
        return Line(task.alias, "lost", trials=trials, lacks="scoring suspended")
    value = macro_mean(scores, by=FILE).value
    if value is None:
        return Line(task.alias, _state(scores), trials=trials, lacks=_lacks(scores))
    return Line(task.alias, "known", value, _passes(scores), trials, _lacks(scores))


def _passes(scores: Scores) -> Passes:
    """The mean of each pass, with equal weight for each instruction file of a task.
    Empty where a pass has no score of one of them."""
    files = [
        repeat_means(part) for part in scores.by_level(FILE).values() if part.values
    ] or [repeat_means(scores)]
    if len({len(means) for means in files}) > 1:
        return ()
    return [math.fsum(means) / len(means) for means in zip(*files, strict=True)]


def _state(scores: Scores) -> State:
    """The state of a task without a value."""
    if scores.count("failed") or scores.count("unscored"):
        return "lost"
    if scores.count("unavailable"):
        return "unavailable"
    return "absent" if scores.count("unsupported") else "not asked"


def _lacks(scores: Scores) -> str:
    """The numbers of trials without a value by reason, or that nothing was scored."""
    if not len(scores):
        return "not scored"
    statuses = ("failed", "unscored", "unavailable", "inapplicable", "unsupported")
    counts = ((scores.count(status), status) for status in statuses)
    lacking = [(count, status) for count, status in counts if count]
    if len(lacking) == 1 and lacking[0][0] == len(scores):
        return lacking[0][1]
    return ", ".join(f"{count} {status}" for count, status in lacking)


def _tasks_table(
    category: Category, lines: Mapping[str, Line], run: StoredRun
) -> Table:
    known = [task for task in category.tasks if task in lines]
    notes = [INTERVAL]
    if len(known) < len(category.tasks):
        notes.append(
            f"{len(category.tasks) - len(known)} of its {len(category.tasks)} tasks "
            "are not in this run."
        )
    notes += paper_notes(run, known)
    return Table(
        f"MMMG, {category.title}: tasks",
        ("Task", "Value", "±", "Scored", "Lacks"),
        tuple(
            (one.alias, one.value, one.half_width, one.trials, one.lacks)
            for one in (lines[task] for task in known)
        ),
        tuple(notes),
    )


def _averages_table(shown: Sequence[Category], lines: Mapping[str, Line]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for category in shown:
        rows.append(_average_row(category.title, category.tasks, lines))
        rows += [
            _average_row(f"{category.title}: {name}", tasks, lines)
            for name, tasks in category.groups.items()
        ]
    unknown = [UNKNOWN] if any(row[1] is None for row in rows) else []
    tasks = [task for category in shown for task in category.tasks]
    return Table(
        "MMMG: averages (there is none across categories)",
        ("Category", "Paper", "±", "Leaderboard", "Tasks", "Lacks"),
        tuple(rows),
        (PAPER, *unknown, *_named(tasks, lines)),
    )


def _average_row(
    title: str, tasks: Sequence[str], lines: Mapping[str, Line]
) -> tuple[Cell, ...]:
    """An average, shown where each task has a value or the model cannot do it."""
    states = Counter(_state_of(task, lines) for task in tasks)
    values = {
        task: line.value
        for task in tasks
        if (line := lines.get(task)) and line.value is not None
    }
    counted, lacks = f"{len(values)}/{len(tasks)}", _lacking_tasks(states)
    if states.keys() - {"known", "absent"}:
        return (title, None, None, None, counted, lacks)
    sure = interval({task: lines[task].passes for task in values}, tasks)
    half = None if sure is None else sure.half_width
    return (
        title,
        average(values, tasks),
        half,
        average(values, tasks, absent="zero"),
        counted,
        lacks,
    )


def _state_of(task: str, lines: Mapping[str, Line]) -> State:
    return lines[task].state if task in lines else "not asked"


def _lacking_tasks(states: Mapping[State, int]) -> str:
    """The numbers of tasks of an average without a value, by reason."""
    words: Mapping[State, str] = {"absent": "unsupported"}
    order: Sequence[State] = ("lost", "unavailable", "not asked", "absent")
    return ", ".join(
        f"{states[state]} {words.get(state, state)}"
        for state in order
        if states.get(state)
    )


def _named(tasks: Sequence[str], lines: Mapping[str, Line]) -> Iterator[str]:
    """The asked tasks without a value that make an average unavailable, by reason."""
    for state, said in NAMED.items():
        if names := [
            lines[task].alias for task in tasks if _state_of(task, lines) == state
        ]:
            yield f"{said}: {', '.join(names)}."
