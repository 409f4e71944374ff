"""Makes the tables of UEval's paper in percent: by task, by side, and by both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.aggregate import combine, known_mean
from mmeval.metrics.judged.ueval.replies import REMARKS
from mmeval.metrics.judged.ueval.rows import CLOSED, OPEN, TASKS
from mmeval.metrics.judged.ueval.ueval_rubric import OUTPUTS
from mmeval.results import Cell, Table, counted_by, judge_names, paper_notes, result_of
from mmeval.tasks.ueval.averages import roll_up

if TYPE_CHECKING:
    from mmeval.records import Result
    from mmeval.results import StoredRun, StoredTask

TEXT, IMAGE = OUTPUTS
SCORE = "ueval_score"
NUMBERS = (IMAGE, TEXT, SCORE)
Numbers: TypeAlias = "Mapping[str, Result]"
"""The numbers of a task from the results file, or their means over tasks."""
PREFIX = "ueval_"
"""The prefix of the names of mmeval's UEval tasks."""
PARTIAL = " (partial)"
OVER_TASKS, OVER_QUESTIONS = "tasks (paper)", "questions (released script)"
NOT_SURE = (
    "Not sure: the share of judged criteria where the judge is not sure. They count "
    "as not met."
)
MIXED = (
    "These numbers come from several judges and are not comparable with published "
    "results: judges differ by up to nine points."
)


@dataclass
class TaskAnswers:
    """The answers of a task: values of each side, and counts of the judge's replies.

    ``missing`` counts sides without a value and trials without an answer, by status.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    pictures: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)

    @property
    def not_sure(self) -> float | None:
        """The share of judged criteria about which the judge is not sure."""
        judged = self.counts["judged"]
        return self.counts["not_sure"] / judged if judged else None

    @property
    def missing_counts(self) -> str:
        counts = sorted(self.missing.items())
        return ", ".join(f"{count} {status}" for status, count in counts)


def layout(run: StoredRun) -> Iterator[Table]:
    """Makes the three tables of a run's UEval tasks.

    A run without such tasks has no tables.
    """
    by_name = {task.name: task for task in run.tasks}
    answers: dict[str, TaskAnswers] = {}
    tasks: dict[str, Numbers] = {}
    names = []
    for name in TASKS:
        task = by_name.get(f"{PREFIX}{name}")
        if task is None:
            continue
        answers[name] = _answers(run, task)
        results = {number: result_of(run, task, number) for number in NUMBERS}
        tasks[name] = {
            number: result for number, result in results.items() if result is not None
        }
        names.append(task.name)
    if not names:
        return
    means = _over_tasks(tasks.values())
    judges = judge_names(run, names)
    by = f"judged by {' and '.join(judges)}" if judges else "no judge"
    remarks = tuple(paper_notes(run, names))
    if len(judges) > 1:
        remarks = (MIXED, *remarks)
    mark = _mark(TASKS, tasks)
    row: list[Cell] = [run.model]
    for name in TASKS:
        row.append(_percents(tasks.get(name, {}))[-1])
    row.append(_percents(means)[-1])
    yield Table(
        f"UEval, table 1 (%): {by}",
        ("Model", *map(str.capitalize, TASKS), f"Avg{mark}"),
        (tuple(row),),
        (*_partial_notes(tasks, means), *remarks),
        digits=1,
    )
    sides = _sides_table(by, means, answers, mark)
    yield replace(sides, notes=(*sides.notes, *remarks))
    by_task = _tasks_table(by, answers, tasks)
    yield replace(by_task, notes=(*by_task.notes, *remarks))


def _over_tasks(tasks: Collection[Numbers]) -> Numbers:
    """Computes the plain means over tasks, as for a group of tasks.

    A task with nothing to score is left out. If a task's value is lost, the mean is
    unknown.
    """
    means = {}
    for number in NUMBERS:
        results = [task[number] for task in tasks if number in task]
        means[number] = combine("", number, results, weight_by_size=False)
    return means


def _answers(run: StoredRun, task: StoredTask) -> TaskAnswers:
    is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
    answers, name = TaskAnswers(), task.name.removeprefix(PREFIX)
    for row in task.score_rows():
        if not is_counted(row["i"], row["n"]):
            continue
        if row["status"] != "ok":
            answers.missing[row["status"]] += 1
            continue
        sides: dict[str, Any] = {"task": name}
        for side, number in (("text", TEXT), ("image", IMAGE)):
            score = row["scores"].get(number) or {"status": "unscored"}
            if score["status"] not in ("scored", "inapplicable"):
                answers.missing[score["status"]] += 1
            evidence = score.get("evidence", {})
            for remark in REMARKS:
                answers.counts[remark] += evidence.get(remark, 0)
            for criterion in evidence.get("criteria", ()):
                answers.counts["judged"] += "raw" in criterion
            if "pictures" in evidence:
                answers.pictures.append(evidence["pictures"])
            sides[side] = score.get("value")
        answers.rows.append(sides)
    return answers


def _sides_table(
    by: str, means: Numbers, answers: Mapping[str, TaskAnswers], mark: str
) -> Table:
    rows = []
    for task_answers in answers.values():
        rows += task_answers.rows
    questions = roll_up(rows)
    # If the value of a task is lost, its remaining questions are not a fair sample.
    image = text = None
    if means[IMAGE].value is not None:
        image = _percent(questions["question_image"])
    if means[TEXT].value is not None:
        text = _percent(questions["question_text"])
    return Table(
        f"UEval, table 2 (%): {by}",
        ("Mean over", "Image", "Text", "Score"),
        (
            (OVER_TASKS + mark, *_percents(means)),
            (OVER_QUESTIONS + mark, image, text, None),
        ),
        digits=1,
    )


def _tasks_table(
    by: str, answers: Mapping[str, TaskAnswers], tasks: Mapping[str, Numbers]
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for title, names in (("Closed", CLOSED), ("Open", OPEN)):
        included = [name for name in names if name in answers]
        for name in included:
            rows.append(_row(name.capitalize(), tasks[name], answers[name]))
        if included:
            means = _over_tasks([tasks[name] for name in included])
            joined = _joined([answers[name] for name in included])
            rows.append(_row(f"{title}{_mark(names, tasks)}", means, joined))
    notes = [NOT_SURE]
    counts = _joined(answers.values()).counts
    unread = counts["odd_value"] + counts["missing_key"]
    if unread:
        notes.append(
            f"{unread:,} of the judge's replies are neither yes nor no. They count as "
            "not met (reading: official)."
        )
    return Table(
        f"UEval, table 4 (%): {by}",
        ("Task", "Image", "Text", "Score", "n", "Not sure", "Pictures", "Lacks"),
        tuple(rows),
        tuple(notes),
        digits=1,
    )


def _row(
    title: str,
    numbers: Numbers,
    answers: TaskAnswers,
) -> tuple[Cell, ...]:
    trials = str(numbers[SCORE].n) if SCORE in numbers else ""
    return (
        title,
        *_percents(numbers),
        trials,
        _percent(answers.not_sure),
        known_mean(answers.pictures),
        answers.missing_counts,
    )


def _joined(parts: Iterable[TaskAnswers]) -> TaskAnswers:
    joined = TaskAnswers()
    for part in parts:
        joined.pictures += part.pictures
        joined.counts.update(part.counts)
        joined.missing.update(part.missing)
    return joined


def _mark(names: Collection[str], tasks: Mapping[str, Numbers]) -> str:
    """Returns the mark of a mean that does not include all tasks or sides."""
    for name in names:
        if None in _percents(tasks.get(name, {})):
            return PARTIAL
    return ""


def _partial_notes(tasks: Mapping[str, Numbers], means: Numbers) -> Iterator[str]:
    lost, missing, one_sided = [], [], []
    for name in TASKS:
        image, text, score = _percents(tasks.get(name, {}))
        title = name.capitalize()
        if score is not None:
            if image is None or text is None:
                one_sided.append(title)
        elif name in tasks and f"{PREFIX}{name}" in means[SCORE].weights:
            lost.append(title)
        else:
            missing.append(title)
    if lost:
        yield (
            f"No average: the score of {', '.join(lost)} is lost, and a lost score "
            "does not count as 0."
        )
    if missing:
        yield (
            f"Partial: without {', '.join(missing)}. The paper's means are over eight "
            "tasks."
        )
    if one_sided:
        yield (
            "Partial: only one side has a value, and it is the score, in "
            f"{', '.join(one_sided)}."
        )


def _percents(numbers: Numbers) -> tuple[float | None, ...]:
    """Returns image, text and score in percent."""
    values = []
    for number in NUMBERS:
        value = numbers[number].value if number in numbers else None
        values.append(_percent(value))
    return tuple(values)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
