"""The tables of MME-Unify's paper, in percent: all scores (2), the unify tasks (3), and
generation (4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.aggregate import mean
from mmeval.results import Cell, Table, paper_notes, result_of, scores_of
from mmeval.tasks.mme_unify.averages import (
    GENERATION,
    TASKS,
    UNDERSTANDING,
    UNIFY,
    roll_up,
    steps,
)

if TYPE_CHECKING:
    from mmeval.records import Result
    from mmeval.results import StoredRun, StoredTask

SCORE, PLUS = "mme_unify_score", "mme_unify_plus"
CANNOT = "-"
"""In the place of a score that the model cannot have, as in the paper; it counts 0."""
UNIFY_COLUMNS: Mapping[str, Sequence[str]] = {
    "Text, action": ("mme_unify_explanation", "mme_unify_choice", "mme_unify_action"),
    "Location": ("mme_unify_location",),
    "Image": ("mme_unify_image", "mme_unify_maze_image"),
    "acc": (SCORE,),
    "acc+": (PLUS,),
    "Finish": ("mme_unify_finish",),
}
GENERATION_COLUMNS: Mapping[str, Sequence[str]] = {
    "FVD": ("mme_unify_fvd",),
    "FID": ("mme_unify_fid",),
    "CLIPSIM": ("mme_unify_clipsim",),
    "1-LPIPS": ("lpips",),
    "CLIP-I": ("clip_image_similarity",),
    "CLIP-T": ("clip_text_similarity",),
    "Score": (SCORE,),
}
"""The numbers in each column: a task has one of them at most."""
STRICT = (
    "Strict: what the model left out counts 0; else it is dropped from the means of "
    "generation, as in the paper."
)
PLUS_APART = (
    "acc+ stands beside acc and never enters Unify or MME-U (paper, section 3.4)."
)
_NO_SETTING = ("of", "script", "text_key")


class _Piece(NamedTuple):
    """A number of a task as the results file has it, its value, and what it is when all
    that is missing counts 0."""

    result: Result
    value: float | None
    strict: float | None


@dataclass(frozen=True)
class _Task:
    """The numbers of a task by their names."""

    name: str
    pieces: Mapping[str, _Piece]

    @property
    def cannot(self) -> bool:
        """Whether the model can take or give none of it."""
        results = [piece.result for piece in self.pieces.values()]
        return bool(results) and all(
            0 < one.unsupported == one.n - one.faulty for one in results
        )

    @property
    def scored(self) -> str:
        result = self.pieces[SCORE].result
        return f"{result.scored}/{result.n}"

    def cell(self, numbers: Sequence[str], *, strict: bool = False) -> Cell:
        """The percent of the first of these numbers that the task has; nothing without
        one."""
        piece = next(
            (self.pieces[name] for name in numbers if name in self.pieces), None
        )
        if piece is None or not self.cannot:
            return (
                None
                if piece is None
                else _percent(piece.strict if strict else piece.value)
            )
        return CANNOT

    def score(self, *, strict: bool) -> float | None:
        """In percent; 0 for what the model cannot do, None where nothing is known."""
        cell = self.cell((SCORE,), strict=strict)
        return 0.0 if cell == CANNOT else cell if isinstance(cell, float) else None


def layout(run: StoredRun) -> Iterator[Table]:
    """Make the tables of the run's tasks of MME-Unify; none without any."""
    found = {task.name: task for task in run.tasks}
    tasks = {
        name: _task(run, name, found[f"mme_unify_{name.lower()}"])
        for name in TASKS
        if f"mme_unify_{name.lower()}" in found
    }
    tasks = {name: task for name, task in tasks.items() if SCORE in task.pieces}
    if not tasks:
        return
    remarks = paper_notes(run, (f"mme_unify_{name.lower()}" for name in tasks))
    tables = [_scores_table(run, tasks)]
    if own := [task for name, task in tasks.items() if name in UNIFY]:
        tables.append(
            _table("MME-Unify, table 3 (%)", UNIFY_COLUMNS, own, (PLUS_APART,))
        )
    if own := [task for name, task in tasks.items() if name in GENERATION]:
        tables.append(_table("MME-Unify, table 4 (%)", GENERATION_COLUMNS, own))
    yield from (replace(table, notes=(*table.notes, *remarks)) for table in tables)


def _task(run: StoredRun, name: str, task: StoredTask) -> _Task:
    entries = run.ours.get("metrics", {}).get(task.name, {})
    profile = next(
        (str(entry["profile"]) for entry in entries.values() if "profile" in entry),
        "standard",
    )
    numbers = {
        number: entry
        for entry in entries.values()
        for number in entry.get("outputs", ())
    }
    strict: dict[str, float | None] = {
        number: _strict(run, task, number, name, profile)
        for number, entry in numbers.items()
        if not entry.get("of_averages")
    }
    results = {number: result_of(run, task, number) for number in numbers}
    if (score := results.get(SCORE)) is not None:
        # a part that does not apply to the answers, such as FID by the script to those
        # of TVG, has no weight
        parts = [
            strict.get(part)
            for part in score.weights or numbers[SCORE].get("pieces", ())
        ]
        strict[SCORE] = (
            None
            if None in parts or not parts
            else math.fsum(part or 0.0 for part in parts) / len(parts)
        )
    return _Task(
        name,
        {
            number: _Piece(one, one.value, strict.get(number))
            for number, one in results.items()
            if one is not None
        },
    )


def _strict(
    run: StoredRun, task: StoredTask, number: str, name: str, profile: str
) -> float | None:
    """The mean in which an answer that is missing counts 0; None where nothing is
    known."""
    scores = scores_of(run, task, number)
    if scores.count("unavailable") or scores.count("failed") + scores.count(
        "unscored"
    ) == len(scores):
        return None
    asked = scores.at(
        [
            at
            for at, row in enumerate(scores)
            if row.status != "unsupported" and not row.faulty
        ]
    )
    # what was left out is inapplicable there, and its scores have no lowest value
    if name in GENERATION:
        return (
            math.fsum(row.value or 0.0 for row in asked) / len(asked)
            if len(asked)
            else None
        )
    filled = asked.filled(0)
    if name == "VCoT":
        return steps(
            filled, profile="official" if profile == "official" else "standard"
        ).value
    return mean(filled).value


def _scores_table(run: StoredRun, tasks: Mapping[str, _Task]) -> Table:
    headers = (
        *UNDERSTANDING,
        "Und. Avg",
        *GENERATION,
        "Gen. Avg",
        *UNIFY,
        "Unify Avg",
        "MME-U",
    )
    rows = [
        (name, *_line(tasks, headers, strict=strict))
        for name, strict in ((run.model, False), ("strict", True))
    ]
    scored = [f"{name} {task.scored}" for name, task in tasks.items()]
    notes = (STRICT, f"Scored: {', '.join(scored)}.", *_unknown(tasks), _settings(run))
    return Table(
        "MME-Unify, table 2 (%)", ("Model", *headers), tuple(rows), notes, digits=2
    )


def _line(
    tasks: Mapping[str, _Task], headers: Sequence[str], *, strict: bool
) -> Iterator[Cell]:
    scores = {name: task.score(strict=strict) for name, task in tasks.items()}
    known = {name: value for name, value in scores.items() if value is not None}
    found = roll_up(known)
    averages: dict[str, float] = {
        "Und. Avg": found["understanding"],
        "Gen. Avg": found["generation"],
        "Unify Avg": found["unify"],
        "MME-U": found["mme_u"],
    }
    parts = dict(zip(averages, (UNDERSTANDING, GENERATION, UNIFY, TASKS), strict=True))
    for header in headers:
        if header in averages:
            yield (
                averages[header]
                if all(name in known for name in parts[header])
                else None
            )
        else:
            yield (
                tasks[header].cell((SCORE,), strict=strict) if header in tasks else None
            )


def _table(
    title: str,
    columns: Mapping[str, Sequence[str]],
    tasks: Sequence[_Task],
    notes: tuple[str, ...] = (),
) -> Table:
    rows = tuple(
        (
            task.name,
            *(task.cell(numbers) for numbers in columns.values()),
            task.cell((SCORE,), strict=True),
            task.scored,
        )
        for task in tasks
    )
    return Table(title, ("Task", *columns, "Strict", "Scored"), rows, notes, digits=2)


def _unknown(tasks: Mapping[str, _Task]) -> Iterator[str]:
    lacking = [
        name
        for name in TASKS
        if name not in tasks or tasks[name].score(strict=False) is None
    ]
    if lacking:
        yield (
            f"No average of a part without a score of {', '.join(lacking)}: not "
            "asked, not scored or lost is not 0."
        )


def _settings(run: StoredRun) -> str:
    """The switches of the metrics that decide about the numbers."""
    found: dict[str, set[Any]] = {}
    for task, entries in run.ours.get("metrics", {}).items():
        for entry in entries.values() if task.startswith("mme_unify_") else ():
            found.setdefault("profile", set()).add(entry.get("profile", "standard"))
            for name, value in (
                {} if entry.get("of_averages") else entry.get("switches", {}).items()
            ):
                has_effect = value != "" and (
                    name,
                    entry.get("switches", {}).get("vcot"),
                ) != (
                    "step_images",
                    "official",
                )
                if (
                    isinstance(value, str | bool | int | float)
                    and name not in _NO_SETTING
                    and has_effect
                ):
                    found.setdefault(name, set()).add(value)
    said = (
        f"{name} {' and '.join(sorted(map(str, values)))}"
        for name, values in sorted(found.items())
    )
    return f"Settings: {', '.join(said)}."


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
