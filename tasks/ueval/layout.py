"""The tables of UEval's paper, in percent: scores by task (1), sides (2), and both by
task (4)."""

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
"""The numbers of a task as the results file has them, or their means."""
PREFIX = "ueval_"
"""What the names of the tasks begin with here."""
PARTIAL = " (partial)"
OVER_TASKS, OVER_QUESTIONS = "tasks (paper)", "questions (released script)"
NOT_SURE = (
    "Not sure: the share of the criteria asked about of which the judge is not sure; "
    "they count as not met."
)
MIXED = (
    "These numbers mix several judges and compare with nothing: judges differ by up "
    "to nine points."
)


@dataclass
class Answers:
    """The answers of one task: the values of each side, and what was counted of the
    judge's replies. ``lacks`` are the statuses of sides without a value, and of trials
    without an answer."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    pictures: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lacks: Counter[str] = field(default_factory=Counter)

    @property
    def not_sure(self) -> float | None:
        """A share of the criteria with a verdict; None without any."""
        asked = self.counts["asked"]
        return self.counts["not_sure"] / asked if asked else None

    @property
    def lacking(self) -> str:
        lacks = sorted(self.lacks.items())
        return ", ".join(f"{count} {status}" for status, count in lacks)


def layout(run: StoredRun) -> Iterator[Table]:
    """Make the three tables of the run's tasks of UEval; none without any."""
    by_name = {task.name: task for task in run.tasks}
    answers: dict[str, Answers] = {}
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
    whole = _over_tasks(tasks.values())
    judges = judge_names(run, names)
    by = f"judged by {' and '.join(judges)}" if judges else "no judge"
    remarks = tuple(paper_notes(run, names))
    if len(judges) > 1:
        remarks = (MIXED, *remarks)
    mark = _mark(TASKS, tasks)
    row: list[Cell] = [run.model]
    for name in TASKS:
        row.append(_percents(tasks.get(name, {}))[-1])
    row.append(_percents(whole)[-1])
    yield Table(
        f"UEval, table 1 (%): {by}",
        ("Model", *map(str.capitalize, TASKS), f"Avg{mark}"),
        (tuple(row),),
        (*_partial(tasks, whole), *remarks),
        digits=1,
    )
    sides = _sides_table(by, whole, answers, mark)
    yield replace(sides, notes=(*sides.notes, *remarks))
    by_task = _tasks_table(by, answers, tasks)
    yield replace(by_task, notes=(*by_task.notes, *remarks))


def _over_tasks(tasks: Collection[Numbers]) -> Numbers:
    """The plain means over tasks, as those of a group: a task with nothing to score is
    left out, and one whose value is lost leaves the mean unknown."""
    means = {}
    for number in NUMBERS:
        results = [own[number] for own in tasks if number in own]
        means[number] = combine("", number, results, weight_by_size=False)
    return means


def _answers(run: StoredRun, task: StoredTask) -> Answers:
    is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
    found, name = Answers(), task.name.removeprefix(PREFIX)
    for row in task.score_rows():
        if not is_counted(row["i"], row["n"]):
            continue
        if row["status"] != "ok":
            found.lacks[row["status"]] += 1
            continue
        sides: dict[str, Any] = {"task": name}
        for side, number in (("text", TEXT), ("image", IMAGE)):
            score = row["scores"].get(number) or {"status": "unscored"}
            if score["status"] not in ("scored", "inapplicable"):
                found.lacks[score["status"]] += 1
            evidence = score.get("evidence", {})
            for remark in REMARKS:
                found.counts[remark] += evidence.get(remark, 0)
            for criterion in evidence.get("criteria", ()):
                found.counts["asked"] += "raw" in criterion
            if "pictures" in evidence:
                found.pictures.append(evidence["pictures"])
            sides[side] = score.get("value")
        found.rows.append(sides)
    return found


def _sides_table(
    by: str, whole: Numbers, answers: Mapping[str, Answers], mark: str
) -> Table:
    rows = []
    for own in answers.values():
        rows += own.rows
    questions = roll_up(rows)
    # Where a task has lost its value, what is left of its questions is not a fair part
    # of them either.
    image = text = None
    if whole[IMAGE].value is not None:
        image = _percent(questions["question_image"])
    if whole[TEXT].value is not None:
        text = _percent(questions["question_text"])
    return Table(
        f"UEval, table 2 (%): {by}",
        ("Mean over", "Image", "Text", "Score"),
        (
            (OVER_TASKS + mark, *_percents(whole)),
            (OVER_QUESTIONS + mark, image, text, None),
        ),
        digits=1,
    )


def _tasks_table(
    by: str, found: Mapping[str, Answers], tasks: Mapping[str, Numbers]
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for title, names in (("Closed", CLOSED), ("Open", OPEN)):
        own = [name for name in names if name in found]
        for name in own:
            rows.append(_row(name.capitalize(), tasks[name], found[name]))
        if own:
            means = _over_tasks([tasks[name] for name in own])
            answers = _together([found[name] for name in own])
            rows.append(_row(f"{title}{_mark(names, tasks)}", means, answers))
    notes = [NOT_SURE]
    counts = _together(found.values()).counts
    unread = counts["odd_value"] + counts["missing_key"]
    if unread:
        notes.append(
            f"{unread:,} of the judge's replies say neither yes nor no; they count as "
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
    answers: Answers,
) -> tuple[Cell, ...]:
    trials = str(numbers[SCORE].n) if SCORE in numbers else ""
    return (
        title,
        *_percents(numbers),
        trials,
        _percent(answers.not_sure),
        known_mean(answers.pictures),
        answers.lacking,
    )


def _together(parts: Iterable[Answers]) -> Answers:
    whole = Answers()
    for part in parts:
        whole.pictures += part.pictures
        whole.counts.update(part.counts)
        whole.lacks.update(part.lacks)
    return whole


def _mark(names: Collection[str], tasks: Mapping[str, Numbers]) -> str:
    """The mark of a mean that lacks a task, or one side of it."""
    for name in names:
        if None in _percents(tasks.get(name, {})):
            return PARTIAL
    return ""


def _partial(tasks: Mapping[str, Numbers], whole: Numbers) -> Iterator[str]:
    lost, lacking, one_sided = [], [], []
    for name in TASKS:
        image, text, score = _percents(tasks.get(name, {}))
        title = name.capitalize()
        if score is not None:
            if image is None or text is None:
                one_sided.append(title)
        elif name in tasks and f"{PREFIX}{name}" in whole[SCORE].weights:
            lost.append(title)
        else:
            lacking.append(title)
    if lost:
        yield (
            f"No average: the score of {', '.join(lost)} is lost, and what is lost is "
            "no 0."
        )
    if lacking:
        yield (
            f"Partial: without {', '.join(lacking)}; the paper's means are those of "
            "eight tasks."
        )
    if one_sided:
        yield (
            "Partial: one side alone has a value, and is the score, in "
            f"{', '.join(one_sided)}."
        )


def _percents(numbers: Numbers) -> tuple[float | None, ...]:
    """Image, text and score."""
    values = []
    for number in NUMBERS:
        value = numbers[number].value if number in numbers else None
        values.append(_percent(value))
    return tuple(values)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
