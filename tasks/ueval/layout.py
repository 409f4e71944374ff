"""The tables of UEval's paper, in percent: scores by task (1), sides (2), and both by task (4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mmeval.metrics.judged.ueval.replies import REMARKS
from mmeval.metrics.judged.ueval.rows import CLOSED, OPEN, TASKS
from mmeval.metrics.judged.ueval.ueval_rubric import OUTPUTS
from mmeval.results import Cell, Table, counted_by, result_of
from mmeval.tasks.ueval.averages import Averages, Means, mean, over_tasks, roll_up

if TYPE_CHECKING:
    from mmeval.results import StoredRun, StoredTask

TEXT, IMAGE = OUTPUTS
PREFIX = "ueval_"
"""What the names of the tasks begin with here."""
PARTIAL = " (partial)"
OVER_TASKS, OVER_QUESTIONS = "tasks (paper)", "questions (released script)"
NOT_SURE = "Not sure: the share of the criteria asked about of which the judge is not sure; they count as not met."
JUDGES = "More than one judge gave these verdicts. Two judges differ by up to nine points, and share no table."


@dataclass
class Answers:
    """The answers of one task: the values of each side, and what was counted of the judge's replies.
    ``lacks`` are the statuses of sides without a value, and of trials without an answer."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    pictures: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lacks: Counter[str] = field(default_factory=Counter)

    @property
    def not_sure(self) -> float | None:
        """A share of the criteria with a verdict; None without any."""
        return self.counts["not_sure"] / self.counts["asked"] if self.counts["asked"] else None

    @property
    def lacking(self) -> str:
        return ", ".join(f"{count} {status}" for status, count in sorted(self.lacks.items()))


def layout(run: StoredRun) -> Iterator[Table]:
    """Make the three tables of the run's tasks of UEval; none without any."""
    found = {name: _answers(run, task) for name in TASKS for task in run.tasks if task.name == f"{PREFIX}{name}"}
    if not found:
        return
    judges = _judges(run)
    by = f"judged by {' and '.join(judges)}" if judges else "no judge"
    averages = roll_up([row for answers in found.values() for row in answers.rows])
    tasks = averages["tasks"]
    scores = [tasks[name]["score"] if name in tasks else None for name in TASKS]
    yield Table(
        f"UEval, table 1 (%): {by}",
        ("Model", *map(str.capitalize, TASKS), f"Avg{_mark(TASKS, tasks)}"),
        ((run.model, *map(_percent, (*scores, averages["score"]))),),
        (*_partial(tasks), *([JUDGES] if len(judges) > 1 else [])),
        digits=1,
    )
    yield _sides_table(by, averages, tasks)
    yield _tasks_table(by, found, tasks)


def _answers(run: StoredRun, task: StoredTask) -> Answers:
    results = {number: result_of(run, task, number) for number in OUTPUTS}
    suspended = {number for number, result in results.items() if result is not None and result.suspended}
    is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
    found, name = Answers(), task.name.removeprefix(PREFIX)
    for row in task.score_rows():
        if not is_counted(row["i"], row["n"]):
            continue
        if row["status"] != "ok":
            found.lacks[row["status"]] += 1
            continue
        sides = {number: _side(row["scores"].get(number), found) for number in OUTPUTS}
        sides.update(dict.fromkeys(suspended))
        found.rows.append({"task": name, "text": sides[TEXT], "image": sides[IMAGE]})
    found.lacks.update({"suspended": len(suspended)} if suspended else {})
    return found


def _side(score: Mapping[str, Any] | None, found: Answers) -> float | None:
    """The value of one side; what its evidence counts is added up."""
    if score is None:
        found.lacks["unscored"] += 1
        return None
    if score["status"] not in ("scored", "inapplicable"):
        found.lacks[score["status"]] += 1
    evidence = score.get("evidence", {})
    found.counts.update({remark: evidence.get(remark, 0) for remark in REMARKS})
    found.counts["asked"] += sum("raw" in criterion for criterion in evidence.get("criteria", ()))
    if "pictures" in evidence:
        found.pictures.append(evidence["pictures"])
    value: float | None = score.get("value")
    return value


def _sides_table(by: str, averages: Averages, tasks: Mapping[str, Means]) -> Table:
    whole = (averages["image"], averages["text"], averages["score"])
    micro = (averages["question_image"], averages["question_text"], None)
    mark = _mark(TASKS, tasks)
    return Table(
        f"UEval, table 2 (%): {by}",
        ("Mean over", "Image", "Text", "Score"),
        ((OVER_TASKS + mark, *map(_percent, whole)), (OVER_QUESTIONS + mark, *map(_percent, micro))),
        digits=1,
    )


def _tasks_table(by: str, found: Mapping[str, Answers], tasks: Mapping[str, Means]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for title, names in (("Closed", CLOSED), ("Open", OPEN)):
        own = [name for name in names if name in found]
        rows += [_row(name.capitalize(), tasks.get(name), found[name]) for name in own]
        if own:
            together = over_tasks([tasks[name] for name in own if name in tasks])
            rows.append(_row(f"{title}{_mark(names, tasks)}", together, _together([found[name] for name in own])))
    return Table(
        f"UEval, table 4 (%): {by}",
        ("Task", "Image", "Text", "Score", "Not sure", "Pictures", "Lacks"),
        tuple(rows),
        (NOT_SURE, *_unread(_together([*found.values()]))),
        digits=1,
    )


def _unread(whole: Answers) -> Iterator[str]:
    if unread := whole.counts["odd_value"] + whole.counts["missing_key"]:
        yield f"{unread:,} of the judge's replies say neither yes nor no; they count as not met (reading: official)."


def _row(title: str, means: Means | None, answers: Answers) -> tuple[Cell, ...]:
    values = (means["image"], means["text"], means["score"]) if means else (None, None, None)
    return (title, *map(_percent, values), _percent(answers.not_sure), mean(answers.pictures), answers.lacking)


def _together(parts: Sequence[Answers]) -> Answers:
    whole = Answers()
    for part in parts:
        whole.pictures += part.pictures
        whole.counts.update(part.counts)
        whole.lacks.update(part.lacks)
    return whole


def _mark(names: Collection[str], tasks: Mapping[str, Means]) -> str:
    """The mark of a mean that lacks a task, or one side of it."""
    return "" if all(name in tasks and None not in tasks[name].values() for name in names) else PARTIAL


def _partial(tasks: Mapping[str, Means]) -> Iterator[str]:
    scored = [name for name in TASKS if name in tasks and tasks[name]["score"] is not None]
    lacking = [name.capitalize() for name in TASKS if name not in scored]
    one_sided = [name.capitalize() for name in scored if None in tasks[name].values()]
    if lacking:
        yield f"Partial: without {', '.join(lacking)}; the paper's means are those of eight tasks."
    if one_sided:
        yield f"Partial: one side alone has a value, and is the score, in {', '.join(one_sided)}."


def _judges(run: StoredRun) -> list[str]:
    """The judges of the tasks of UEval, as they were served."""
    rows = [row for task, rows in run.ours.get("judges", {}).items() if task.startswith(PREFIX) for row in rows]
    return sorted({str(row.get("served") or row.get("asked")) for row in rows})


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
