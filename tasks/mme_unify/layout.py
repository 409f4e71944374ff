"""The tables of MME-Unify's paper, in percent: all scores (2), the unify tasks (3), and
generation (4)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

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
        for piece in self.pieces.values():
            result = piece.result
            if not 0 < result.unsupported == result.n - result.faulty:
                return False
        return True

    @property
    def scored(self) -> str:
        result = self.pieces[SCORE].result
        return f"{result.scored}/{result.n}"

    def cell(self, numbers: Sequence[str], *, strict: bool = False) -> Cell:
        """The percent of the first of these numbers that the task has; nothing without
        one."""
        for name in numbers:
            if name not in self.pieces:
                continue
            if self.cannot:
                return CANNOT
            piece = self.pieces[name]
            value = piece.strict if strict else piece.value
            return None if value is None else 100 * value
        return None

    def score(self, *, strict: bool) -> float | None:
        """In percent; 0 for what the model cannot do, None where nothing is known."""
        if self.cannot:
            return 0.0
        cell = self.cell((SCORE,), strict=strict)
        return cell if isinstance(cell, float) else None


def layout(run: StoredRun) -> Iterator[Table]:
    """Make the tables of the run's tasks of MME-Unify; none without any."""
    stored = {task.name: task for task in run.tasks}
    tasks: dict[str, _Task] = {}
    names = []
    for name in TASKS:
        task_name = f"mme_unify_{name.lower()}"
        if task_name in stored:
            task = _task(run, name, stored[task_name])
            if SCORE in task.pieces:
                tasks[name] = task
                names.append(task_name)
    if not tasks:
        return
    tables = [_scores_table(run, tasks)]
    unify = [task for name, task in tasks.items() if name in UNIFY]
    if unify:
        title = "MME-Unify, table 3 (%)"
        tables.append(_table(title, UNIFY_COLUMNS, unify, (PLUS_APART,)))
    generation = [task for name, task in tasks.items() if name in GENERATION]
    if generation:
        title = "MME-Unify, table 4 (%)"
        tables.append(_table(title, GENERATION_COLUMNS, generation))
    remarks = paper_notes(run, names)
    for table in tables:
        yield replace(table, notes=(*table.notes, *remarks))


def _task(
    run: StoredRun,
    name: str,
    task: StoredTask,
) -> _Task:
    by_task = run.ours.get("metrics", {})
    metrics = by_task.get(task.name, {}).values()
    profiles = [entry["profile"] for entry in metrics if "profile" in entry]
    is_official = profiles[:1] == ["official"]
    strict: dict[str, float | None] = {}
    results: dict[str, Result] = {}
    parts_of_score: Collection[str] = ()
    for entry in metrics:
        for number in entry.get("outputs", ()):
            if not entry.get("of_averages"):
                strict[number] = _strict(run, task, number, name, official=is_official)
            result = result_of(run, task, number)
            if result is not None:
                results[number] = result
            if number == SCORE:
                parts_of_score = entry.get("pieces", ())
    if SCORE in results:
        # a part that does not apply to the answers, such as FID by the script to those
        # of TVG, has no weight
        parts = results[SCORE].weights or parts_of_score
        values = [strict.get(part) for part in parts]
        known = [value for value in values if value is not None]
        is_known = len(known) == len(values) > 0
        strict[SCORE] = math.fsum(known) / len(known) if is_known else None
    pieces = {}
    for number, result in results.items():
        pieces[number] = _Piece(result, result.value, strict.get(number))
    return _Task(name, pieces)


def _strict(
    run: StoredRun, task: StoredTask, number: str, name: str, *, official: bool
) -> float | None:
    """The mean in which an answer that is missing counts 0; None where nothing is
    known."""
    scores = scores_of(run, task, number)
    lost = scores.count("failed") + scores.count("unscored")
    if scores.count("unavailable") or lost == len(scores):
        return None
    places = []
    for place, row in enumerate(scores):
        if row.status != "unsupported" and not row.faulty:
            places.append(place)
    asked = scores.take(places)
    # what was left out is inapplicable there, and its scores have no lowest value
    if name in GENERATION:
        if not places:
            return None
        return math.fsum(row.value or 0.0 for row in asked) / len(places)
    filled = asked.filled(0)
    if name == "VCoT":
        return steps(filled, profile="official" if official else "standard").value
    return mean(filled).value


def _scores_table(run: StoredRun, tasks: Mapping[str, _Task]) -> Table:
    scored = [f"{name} {task.scored}" for name, task in tasks.items()]
    notes = [STRICT, f"Scored: {', '.join(scored)}."]
    lacking = []
    for name in TASKS:
        if name not in tasks or tasks[name].score(strict=False) is None:
            lacking.append(name)
    if lacking:
        notes.append(
            f"No average of a part without a score of {', '.join(lacking)}: not "
            "asked, not scored or lost is not 0."
        )
    notes.append(_settings(run))
    headers = (
        *UNDERSTANDING,
        "Und. Avg",
        *GENERATION,
        "Gen. Avg",
        *UNIFY,
        "Unify Avg",
        "MME-U",
    )
    rows = (
        (run.model, *_line(tasks, strict=False)),
        ("strict", *_line(tasks, strict=True)),
    )
    return Table(
        "MME-Unify, table 2 (%)", ("Model", *headers), rows, tuple(notes), digits=2
    )


def _line(tasks: Mapping[str, _Task], *, strict: bool) -> list[Cell]:
    """The scores of each part and their average, and that of all."""
    known = {}
    for name, task in tasks.items():
        score = task.score(strict=strict)
        if score is not None:
            known[name] = score
    averages = roll_up(known)
    cells: list[Cell] = []
    for part, average in (
        (UNDERSTANDING, averages["understanding"]),
        (GENERATION, averages["generation"]),
        (UNIFY, averages["unify"]),
    ):
        for name in part:
            cell = None
            if name in tasks:
                cell = tasks[name].cell((SCORE,), strict=strict)
            cells.append(cell)
        cells.append(average if known.keys() >= set(part) else None)
    cells.append(averages["mme_u"] if known.keys() >= set(TASKS) else None)
    return cells


def _table(
    title: str,
    columns: Mapping[str, Sequence[str]],
    tasks: Sequence[_Task],
    notes: tuple[str, ...] = (),
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for task in tasks:
        cells = [task.cell(numbers) for numbers in columns.values()]
        strict = task.cell((SCORE,), strict=True)
        rows.append((task.name, *cells, strict, task.scored))
    headers = ("Task", *columns, "Strict", "Scored")
    return Table(title, headers, tuple(rows), notes, digits=2)


def _settings(run: StoredRun) -> str:
    """The switches of the metrics that decide about the numbers."""
    found: dict[str, set[str]] = {}
    for task, metrics in run.ours.get("metrics", {}).items():
        if not task.startswith("mme_unify_"):
            continue
        for entry in metrics.values():
            profile = entry.get("profile", "standard")
            found.setdefault("profile", set()).add(str(profile))
            if entry.get("of_averages"):
                continue
            switches = dict(entry.get("switches", {}))
            if switches.get("vcot") == "official":
                # then the pictures of steps are not looked at
                switches.pop("step_images", None)
            for name, value in switches.items():
                if name in _NO_SETTING or value == "":
                    continue
                if isinstance(value, str | bool | int | float):
                    found.setdefault(name, set()).add(str(value))
    settings = []
    for name, values in sorted(found.items()):
        settings.append(f"{name} {' and '.join(sorted(values))}")
    return f"Settings: {', '.join(settings)}."
