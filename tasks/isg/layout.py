"""The tables of ISG-Bench's paper: each level by category; in the official profile also
the released script's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    f"{WITHOUT_SEMANTIC}: without the subtask Semantic Decomposition, which the "
    "released script forgets."
)
UNREAD_NOTE = (
    "{} of {} {} verdicts cannot be read, and count as the profile or lost: wrong says."
)

UNKNOWN_NOTE = "Left out, as their Category is not a subtask: {:,} ({})."
REFERENCE_NOTE = (
    "Uses reference information: the prompt stated the structure of the golden answer."
)
MOST_NAMED = 3


@dataclass
class Found:
    """What a run says of ISG-Bench: a row for each answer with its value on each level,
    and what was lost."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    suspended: set[str] = field(default_factory=set)
    answers: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """Answers that are left out, by a category that is none."""
    bundled: tuple[str, ...] = ()
    """The note on bundled samples, if they were asked."""
    told: bool = False
    """Whether a prompt stated the structure of the golden answer."""


def layout(run: StoredRun) -> Iterator[Table]:
    """Make the tables of the run's tasks of ISG-Bench, of its judges and of its judge
    files; none without any."""
    judged = [task for task in run.tasks if task.name in TASKS]
    recorded = [
        task
        for task in run.tasks
        if task.name not in TASKS and _numbers(run, task) & set(RECORDED)
    ]
    judges = judge_names(run, (task.name for task in judged))
    by_judges = f"judged by {' and '.join(judges)}" if judges else "no judge"
    for tasks, numbers, by in (
        (judged, JUDGED, by_judges),
        (recorded, RECORDED, "a judge file"),
    ):
        found = Found(
            bundled=paper_notes(run, (task.name for task in tasks)),
            told=any(task.name in run.ours.get("uses_reference", ()) for task in tasks),
        )
        for task in tasks:
            _add(found, run, task, numbers)
        found.rows = [{**row, **dict.fromkeys(found.suspended)} for row in found.rows]
        official = any(_is_official(run, task) for task in tasks)
        if found.rows or found.lost:
            yield from _level_tables(run.model, found, by, official=official)
        if found.rows and official:
            yield _released_table(found, by)


def _add(
    found: Found, run: StoredRun, task: StoredTask, numbers: Sequence[str]
) -> None:
    is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
    by_level = dict(zip(LEVELS, numbers, strict=True))
    for level, number in by_level.items():
        result = result_of(run, task, number)
        found.suspended |= {level} if result is not None and result.suspended else set()
    for index, repeat, row, category in _scored(task):
        if not is_counted(index, repeat):
            continue
        if category not in TASKS.values():
            found.unknown[category] += 1
            continue
        found.answers += 1
        if row["status"] != "ok":
            found.lost.update(LEVELS)
            continue
        scores = {
            level: row["scores"].get(number) for level, number in by_level.items()
        }
        values = {level: _value(found, level, one) for level, one in scores.items()}
        weights = {level: (one or {}).get("weight", 1) for level, one in scores.items()}
        # the released script counts each line of an id
        for line in range(int(max(weights.values()))):
            left = {
                level: value if line < weights[level] else None
                for level, value in values.items()
            }
            found.rows.append({"category": category, **left})


def _scored(task: StoredTask) -> Iterator[tuple[int, int, Mapping[str, Any], str]]:
    """The score rows of a task with the category of each."""
    if task.name in TASKS:
        yield from (
            (row["i"], row["n"], row, TASKS[task.name]) for row in task.score_rows()
        )
        return
    for one in task.trials():
        if one is not None and one.scores is not None:
            category = one.sample.get("metadata", {}).get(CATEGORY)
            yield one.index, one.repeat, one.scores, str(category)


def _value(found: Found, level: str, score: Mapping[str, Any] | None) -> float | None:
    if score is None:
        return None
    found.lost[level] += score["status"] not in ("scored", "inapplicable")
    evidence = score.get("evidence", {})
    found.asked[level] += len(evidence.get("asked", ()))
    found.unread[level] += evidence.get(UNREAD, 0)
    value: float | None = score.get("value")
    return value


def _level_tables(
    model: str, found: Found, by: str, *, official: bool
) -> Iterator[Table]:
    categories = roll_up(found.rows)["categories"]
    average = average_of(categories, official=official)
    semantic = roll_up([row for row in found.rows if row["category"] != SEMANTIC])[
        "categories"
    ].get("decomposition", {})
    columns = [names.column for names in CATEGORIES.values()]
    for level in LEVELS:
        if (
            not found.lost[level]
            and all(row[level] is None for row in found.rows)
            and level not in found.suspended
        ):
            continue
        values = {name: categories.get(name, {}).get(level) for name in CATEGORIES}
        lacks = [
            name
            for name, value in values.items()
            if value is None and (level, name) != ("image", "vqa")
        ]
        yield Table(
            f"ISG-Bench, {level}: {by if level != 'structural' else 'no judge needed'}",
            (
                "Model",
                f"Avg.{PARTIAL if lacks else ''}",
                *columns,
                WITHOUT_SEMANTIC,
                "Lost",
            ),
            (
                (
                    model,
                    average[level],
                    *values.values(),
                    semantic.get(level),
                    _lost(found, level),
                ),
            ),
            (
                *_notes(found, level, lacks),
                *([SEMANTIC_NOTE] if level == LEVELS[0] else []),
            ),
            digits=3,
        )


def _lost(found: Found, level: str) -> str:
    """Answers without a value, and their share."""
    count = found.lost[level]
    return f"{count} ({count / found.answers:.1%})" if count else "0"


def _notes(found: Found, level: str, lacks: Sequence[str]) -> Iterator[str]:
    yield from found.bundled
    if found.told:
        yield REFERENCE_NOTE
    if lacks:
        yield (
            "Partial: without "
            f"{', '.join(CATEGORIES[name].column.rstrip('.') for name in lacks)}."
        )
    if found.unknown and level == LEVELS[0]:
        names = listed(
            [repr(shortened(name, 40)) for name in found.unknown], MOST_NAMED
        )
        yield UNKNOWN_NOTE.format(found.unknown.total(), names)
    if found.unread[level]:
        yield UNREAD_NOTE.format(found.unread[level], found.asked[level], level)


def _released_table(found: Found, by: str) -> Table:
    averages = roll_up(found.rows, profile="official")
    named = {
        CATEGORIES[name].released: values
        for name, values in averages["categories"].items()
    }
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            *(
                None if level in found.suspended else values[level]
                for level in RELEASED_ORDER
            ),
        )
        for name, values in {**named, "derived average": averages["average"]}.items()
    ]
    return Table(
        f"ISG-Bench, the released script's categories: {by}",
        ("Category", "structure", "image", "block", "holistic"),
        tuple(rows),
        (
            "The released script prints no average; this one has eight categories, "
            "and seven for the pictures.",
        ),
        digits=4,
    )


def _numbers(run: StoredRun, task: StoredTask) -> set[str]:
    return {name for entry in _entries(run, task) for name in entry.get("outputs", ())}


def _is_official(run: StoredRun, task: StoredTask) -> bool:
    return any(
        entry.get("switches", {}).get("reading") == "official"
        for entry in _entries(run, task)
    )


def _entries(run: StoredRun, task: StoredTask) -> Sequence[Mapping[str, Any]]:
    return list(run.ours.get("metrics", {}).get(task.name, {}).values())
