"""Makes the tables of ISG-Bench's paper: each level by category.

In the official profile, the released script's table is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mmeval.metric.judge import UNREAD
from mmeval.metrics.judged.isg.isg_recorded import OUTPUTS as RECORDED
from mmeval.metrics.judged.isg.rows import CATEGORY
from mmeval.results import Cell, Table, counted_by, judge_names, paper_notes, result_of
from mmeval.system.wording import listed, shortened
from mmeval.tasks.isg.averages import average_of, roll_up
from mmeval.tasks.isg.subtasks import CATEGORIES, LEVELS, SEMANTIC, TASKS

if TYPE_CHECKING:
    from mmeval.results import StoredRun, StoredTask

JUDGED = tuple(f"isg_{level}" for level in LEVELS)
PARTIAL = " (partial)"
WITHOUT_SEMANTIC = "Dec. without Semantic"
RELEASED_ORDER = ("structural", "image", "block", "holistic")
"""The columns of the released aggregator's table."""
SEMANTIC_NOTE = (
    f"{WITHOUT_SEMANTIC}: without the subtask Semantic Decomposition, as in the "
    "released script."
)
UNREAD_NOTE = (
    "{} of {} {} verdicts cannot be read. The profile or lost: wrong decides how they "
    "count."
)

UNKNOWN_NOTE = "Answers left out because their Category is not a subtask: {:,} ({})."
REFERENCE_NOTE = (
    "Uses reference information: the prompt stated the structure of the golden answer."
)
MAX_NAMED = 3


@dataclass
class LevelAnswers:
    """The answers of a run: one row per answer, with the answer's value on each level.

    The counters count lost scores, unreadable verdicts and judged questions by level.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    questions: Counter[str] = field(default_factory=Counter)
    suspended: set[str] = field(default_factory=set)
    count: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """The number of answers that are left out because of an unknown category, by
    category."""
    notes: tuple[str, ...] = ()
    shows_structure: bool = False
    """True if a prompt of the run stated the structure of the golden answer."""


def layout(run: StoredRun) -> Iterator[Table]:
    """Makes the tables of a run's ISG-Bench tasks, judged or from judge files.

    A run without such tasks has no tables.
    """
    judged: list[StoredTask] = []
    recorded: list[StoredTask] = []
    official: set[str] = set()
    metrics = run.ours.get("metrics", {})
    for task in run.tasks:
        numbers: set[str] = set()
        for metric in metrics.get(task.name, {}).values():
            numbers.update(metric.get("outputs", ()))
            if metric.get("switches", {}).get("reading") == "official":
                official.add(task.name)
        if task.name in TASKS:
            judged.append(task)
        elif numbers & set(RECORDED):
            recorded.append(task)
    judges = judge_names(run, [task.name for task in judged])
    by_judges = f"judged by {' and '.join(judges)}" if judges else "no judge"
    yield from _tables(run, judged, JUDGED, by_judges, official)
    yield from _tables(run, recorded, RECORDED, "a judge file", official)


def _tables(
    run: StoredRun,
    tasks: Sequence[StoredTask],
    numbers: Sequence[str],
    by: str,
    official: Collection[str],
) -> Iterator[Table]:
    names = {task.name for task in tasks}
    answers = LevelAnswers(
        notes=paper_notes(run, [task.name for task in tasks]),
        shows_structure=not names.isdisjoint(run.ours.get("uses_reference", ())),
    )
    for task in tasks:
        _add(answers, run, task, numbers)
    for row in answers.rows:
        row.update(dict.fromkeys(answers.suspended))
    is_official = not names.isdisjoint(official)
    if answers.rows or answers.lost:
        yield from _level_tables(run.model, answers, by, official=is_official)
    if answers.rows and is_official:
        yield _released_table(answers, by)


def _add(
    answers: LevelAnswers, run: StoredRun, task: StoredTask, numbers: Sequence[str]
) -> None:
    is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
    by_level = dict(zip(LEVELS, numbers, strict=True))
    for level, number in by_level.items():
        result = result_of(run, task, number)
        if result is not None and result.suspended:
            answers.suspended.add(level)
    for index, repeat, row, category in _scored(task):
        if not is_counted(index, repeat):
            continue
        if category not in TASKS.values():
            answers.unknown[category] += 1
            continue
        answers.count += 1
        if row["status"] != "ok":
            answers.lost.update(LEVELS)
            continue
        values: dict[str, float | None] = dict.fromkeys(LEVELS)
        weights = dict.fromkeys(LEVELS, 1)
        for level, number in by_level.items():
            score = row["scores"].get(number)
            if score is None:
                continue
            evidence = score.get("evidence", {})
            answers.lost[level] += score["status"] not in ("scored", "inapplicable")
            answers.questions[level] += len(evidence.get("asked", ()))
            answers.unread[level] += evidence.get(UNREAD, 0)
            values[level] = score.get("value")
            weights[level] = score.get("weight", 1)
        # The released script counts each line of a repeated id.
        for line in range(int(max(weights.values()))):
            counted = dict(values)
            for level, weight in weights.items():
                if line >= weight:
                    counted[level] = None
            answers.rows.append({"category": category, **counted})


def _scored(
    task: StoredTask,
) -> Iterator[tuple[int, int, Mapping[str, Any], str]]:
    """Yields the index, repeat, score row and category of each trial of a task."""
    if task.name in TASKS:
        for row in task.score_rows():
            yield row["i"], row["n"], row, TASKS[task.name]
        return
    for trial in task.trials():
        if trial is not None and trial.scores is not None:
            category = trial.sample.get("metadata", {}).get(CATEGORY)
            yield trial.index, trial.repeat, trial.scores, str(category)


def _level_tables(
    model: str, answers: LevelAnswers, by: str, *, official: bool
) -> Iterator[Table]:
    categories = roll_up(answers.rows)["categories"]
    average = average_of(categories, official=official)
    non_semantic = [row for row in answers.rows if row["category"] != SEMANTIC]
    without_semantic = roll_up(non_semantic)["categories"].get("decomposition", {})
    columns = [names.column for names in CATEGORIES.values()]
    for level in LEVELS:
        lost = answers.lost[level]
        is_empty = all(row[level] is None for row in answers.rows)
        if is_empty and not lost and level not in answers.suspended:
            continue
        values = [categories.get(name, {}).get(level) for name in CATEGORIES]
        missing = []
        for (name, names), value in zip(CATEGORIES.items(), values, strict=True):
            # The data contains no questions about pictures in this category.
            has_questions = (level, name) != ("image", "vqa")
            if value is None and has_questions:
                missing.append(names.column.rstrip("."))
        notes = list(answers.notes)
        if answers.shows_structure:
            notes.append(REFERENCE_NOTE)
        partial = ""
        if missing:
            partial = PARTIAL
            notes.append(f"Partial: without {', '.join(missing)}.")
        if answers.unknown and level == LEVELS[0]:
            unknown = [repr(shortened(name, 40)) for name in answers.unknown]
            named = listed(unknown, MAX_NAMED)
            notes.append(UNKNOWN_NOTE.format(answers.unknown.total(), named))
        if answers.unread[level]:
            counts = (answers.unread[level], answers.questions[level])
            notes.append(UNREAD_NOTE.format(*counts, level))
        if level == LEVELS[0]:
            notes.append(SEMANTIC_NOTE)
        share = f"{lost} ({lost / answers.count:.1%})" if lost else "0"
        row = (model, average[level], *values, without_semantic.get(level), share)
        yield Table(
            f"ISG-Bench, {level}: {by if level != 'structural' else 'no judge needed'}",
            ("Model", f"Avg.{partial}", *columns, WITHOUT_SEMANTIC, "Lost"),
            (row,),
            tuple(notes),
            digits=3,
        )


def _released_table(answers: LevelAnswers, by: str) -> Table:
    averages = roll_up(answers.rows, profile="official")
    lines = []
    for name, values in averages["categories"].items():
        lines.append((CATEGORIES[name].released, values))
    lines.append(("derived average", averages["average"]))
    rows: list[tuple[Cell, ...]] = []
    for title, values in lines:
        shown = {**values, **dict.fromkeys(answers.suspended)}
        rows.append((title, *[shown[level] for level in RELEASED_ORDER]))
    return Table(
        f"ISG-Bench, the released script's categories: {by}",
        ("Category", "structure", "image", "block", "holistic"),
        tuple(rows),
        (
            "The released script does not print an average. This one is over eight "
            "categories, and over seven for the pictures.",
        ),
        digits=4,
    )
