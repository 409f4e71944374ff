"""The tables of MME-Unify's paper, in percent.

Table 2 contains all scores, table 3 those of the unify tasks, and table 4 those of the
generation tasks.
"""

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
UNSUPPORTED = "-"
"""The cell of an unsupported task, as in the paper. The score counts as 0."""
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
"""The numbers in each column. A task has at most one number of a column."""
STRICT = (
    "Strict: missing outputs count as 0. In the other rows, the means of generation "
    "leave them out, as in the paper."
)
PLUS_APART = (
    "acc+ is shown next to acc and is not part of Unify or MME-U (paper, section 3.4)."
)
_NOT_SETTINGS = ("of", "script", "text_key")


class _TaskNumber(NamedTuple):
    """A number of a task: its result and its value.

    ``strict`` is the value with missing outputs counted as 0.
    """

    result: Result
    value: float | None
    strict: float | None


@dataclass(frozen=True)
class _TaskNumbers:
    """The numbers of a task by name."""

    name: str
    numbers: Mapping[str, _TaskNumber]

    @property
    def is_unsupported(self) -> bool:
        """True if the model supports no sample of the task."""
        for number in self.numbers.values():
            result = number.result
            if not 0 < result.unsupported == result.n - result.faulty:
                return False
        return True

    @property
    def scored(self) -> str:
        result = self.numbers[SCORE].result
        return f"{result.scored}/{result.n}"

    def cell(self, numbers: Sequence[str], *, strict: bool = False) -> Cell:
        """Returns the percentage of the first of these numbers that the task has.

        Returns None if the task has none of these numbers, or if the value is unknown.
        """
        for name in numbers:
            if name not in self.numbers:
                continue
            if self.is_unsupported:
                return UNSUPPORTED
            number = self.numbers[name]
            value = number.strict if strict else number.value
            return None if value is None else 100 * value
        return None

    def score(self, *, strict: bool) -> float | None:
        """Returns the score in percent.

        The score is 0 if the task is unsupported, and None if it is unknown.
        """
        if self.is_unsupported:
            return 0.0
        cell = self.cell((SCORE,), strict=strict)
        return cell if isinstance(cell, float) else None


def layout(run: StoredRun) -> Iterator[Table]:
    """Makes the tables of a run's MME-Unify tasks, if the run has any."""
    stored = {task.name: task for task in run.tasks}
    tasks: dict[str, _TaskNumbers] = {}
    names = []
    for name in TASKS:
        task_name = f"mme_unify_{name.lower()}"
        if task_name in stored:
            task = _task(run, name, stored[task_name])
            if SCORE in task.numbers:
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
) -> _TaskNumbers:
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
                strict[number] = _strict_value(
                    run, task, number, name, official=is_official
                )
            result = result_of(run, task, number)
            if result is not None:
                results[number] = result
            if number == SCORE:
                parts_of_score = entry.get("pieces", ())
    if SCORE in results:
        # An inapplicable part has no weight, such as FID for TVG in the script.
        parts = results[SCORE].weights or parts_of_score
        values = [strict.get(part) for part in parts]
        known = [value for value in values if value is not None]
        is_known = len(known) == len(values) > 0
        strict[SCORE] = math.fsum(known) / len(known) if is_known else None
    numbers = {}
    for number, result in results.items():
        numbers[number] = _TaskNumber(result, result.value, strict.get(number))
    return _TaskNumbers(name, numbers)


def _strict_value(
    run: StoredRun, task: StoredTask, number: str, name: str, *, official: bool
) -> float | None:
    """Returns the mean with missing answers counted as 0, or None if it is unknown."""
    scores = scores_of(run, task, number)
    lost = scores.count("failed") + scores.count("unscored")
    if scores.count("unavailable") or lost == len(scores):
        return None
    positions = []
    for position, row in enumerate(scores):
        if row.status != "unsupported" and not row.faulty:
            positions.append(position)
    supported = scores.take(positions)
    # In generation missing outputs are inapplicable, and scores have no lowest value.
    if name in GENERATION:
        if not positions:
            return None
        return math.fsum(row.value or 0.0 for row in supported) / len(positions)
    filled = supported.filled(0)
    if name == "VCoT":
        return steps(filled, profile="official" if official else "standard").value
    return mean(filled).value


def _scores_table(run: StoredRun, tasks: Mapping[str, _TaskNumbers]) -> Table:
    scored = [f"{name} {task.scored}" for name, task in tasks.items()]
    notes = [STRICT, f"Scored: {', '.join(scored)}."]
    missing = []
    for name in TASKS:
        if name not in tasks or tasks[name].score(strict=False) is None:
            missing.append(name)
    if missing:
        notes.append(
            f"A part has no average if a score is missing. Missing: "
            f"{', '.join(missing)} (not asked, not scored or lost)."
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
        (run.model, *_score_cells(tasks, strict=False)),
        ("strict", *_score_cells(tasks, strict=True)),
    )
    return Table(
        "MME-Unify, table 2 (%)", ("Model", *headers), rows, tuple(notes), digits=2
    )


def _score_cells(tasks: Mapping[str, _TaskNumbers], *, strict: bool) -> list[Cell]:
    """Returns the scores and average of each part, and the average of all parts."""
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
    tasks: Sequence[_TaskNumbers],
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
    """Returns a note on the switches of metrics that change the numbers."""
    values_of: dict[str, set[str]] = {}
    for task, metrics in run.ours.get("metrics", {}).items():
        if not task.startswith("mme_unify_"):
            continue
        for entry in metrics.values():
            profile = entry.get("profile", "standard")
            values_of.setdefault("profile", set()).add(str(profile))
            if entry.get("of_averages"):
                continue
            switches = dict(entry.get("switches", {}))
            if switches.get("vcot") == "official":
                # The official variant does not use step_images.
                switches.pop("step_images", None)
            for name, value in switches.items():
                if name in _NOT_SETTINGS or value == "":
                    continue
                if isinstance(value, str | bool | int | float):
                    values_of.setdefault(name, set()).add(str(value))
    settings = []
    for name, values in sorted(values_of.items()):
        settings.append(f"{name} {' and '.join(sorted(values))}")
    return f"Settings: {', '.join(settings)}."
