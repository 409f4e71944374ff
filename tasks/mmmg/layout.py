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
    lines = dict(asked)
    for name in run.ours.get("left_out", {}):
        lines.setdefault(name, Line(name, "not asked", lacks="left out"))
    shown = []
    for category in CATEGORIES:
        if not asked.keys().isdisjoint(category.tasks):
            shown.append(category)
            yield _tasks_table(category, lines, run)
    if shown:
        yield _averages_table(shown, asked)


def _line(run: StoredRun, task: StoredTask) -> Line:
    scores = scores_of(run, task, NUMBER)
    trials = f"{scores.count('scored')}/{len(scores)}"
    result = result_of(run, task, NUMBER)
    if result is not None and result.suspended:
        return Line(task.alias, "lost", trials=trials, lacks="scoring suspended")
    # the numbers of trials without a value by reason, or that nothing was scored
    lacking = []
    for status in ("failed", "unscored", "unavailable", "inapplicable", "unsupported"):
        count = scores.count(status)
        if count == len(scores):
            lacking = [status]
            break
        if count:
            lacking.append(f"{count} {status}")
    lacks = ", ".join(lacking) if len(scores) else "not scored"
    value = macro_mean(scores, by=FILE).value
    if value is not None:
        return Line(task.alias, "known", value, _passes(scores), trials, lacks)
    state: State = "not asked"
    if scores.count("failed") or scores.count("unscored"):
        state = "lost"
    elif scores.count("unavailable"):
        state = "unavailable"
    elif scores.count("unsupported"):
        state = "absent"
    return Line(task.alias, state, trials=trials, lacks=lacks)


def _passes(scores: Scores) -> Passes:
    """The mean of each pass, with equal weight for each instruction file of a task.
    Empty where a pass has no score of one of them."""
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
    rows: list[tuple[Cell, ...]] = []
    for task in known:
        line = lines[task]
        rows.append((line.alias, line.value, line.half_width, line.trials, line.lacks))
    return Table(
        f"MMMG, {category.title}: tasks",
        ("Task", "Value", "±", "Scored", "Lacks"),
        tuple(rows),
        tuple(notes),
    )


def _averages_table(shown: Sequence[Category], lines: Mapping[str, Line]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for category in shown:
        rows.append(_average_row(category.title, category.tasks, lines))
        for name, tasks in category.groups.items():
            rows.append(_average_row(f"{category.title}: {name}", tasks, lines))
    notes = [PAPER]
    if any(row[1] is None for row in rows):
        notes.append(UNKNOWN)
    for state, words in NAMED.items():
        aliases = []
        for category in shown:
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
    title: str, tasks: Sequence[str], lines: Mapping[str, Line]
) -> tuple[Cell, ...]:
    """An average, shown where each task has a value or the model cannot do it."""
    states = Counter(_state_of(task, lines) for task in tasks)
    words: list[tuple[State, str]] = [
        ("lost", "lost"),
        ("unavailable", "unavailable"),
        ("not asked", "not asked"),
        ("absent", "unsupported"),
    ]
    lacks = ", ".join(
        f"{states[state]} {word}" for state, word in words if states[state]
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
        return (title, None, None, None, counted, lacks)
    sure = interval(passes, tasks)
    half = None if sure is None else sure.half_width
    leaderboard = average(values, tasks, absent="zero")
    return (title, average(values, tasks), half, leaderboard, counted, lacks)


def _state_of(task: str, lines: Mapping[str, Line]) -> State:
    return lines[task].state if task in lines else "not asked"
