"""Layouts: the tables of a benchmark's paper, made from a run folder.

    def layout(run: StoredRun) -> Iterable[Table]: ...

An entry point in ``mmeval.layouts`` names such a function, and the key ``layout`` of a
task or group names the entry point. A layout only reads; what is not scored has no
value in it. Its tables are printed below those of the run, and by ``mmeval report RUN
--layout NAME``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from mmeval import plugins
from mmeval.errors import PluginError
from mmeval.records.score import Result
from mmeval.results.compare import judges_in, metric_of, range_of
from mmeval.results.provenance import made_with, skipped_metrics_note
from mmeval.results.stored_run import counted_by

if TYPE_CHECKING:
    from mmeval.aggregate.scores import Scores
    from mmeval.results.stored_run import StoredRun, StoredTask

Cell: TypeAlias = str | float | None
"""A text, a number, or nothing where a number is not known."""


@dataclass(frozen=True)
class Table:
    """A table: its title, headers, rows of as many cells, and the notes below it.
    Numbers are written with so many ``digits`` behind the point, and whole where a
    program reads them."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    digits: int = 3

    def __post_init__(self) -> None:
        uneven = next((row for row in self.rows if len(row) != len(self.headers)), None)
        if uneven is not None:
            raise ValueError(
                f"{self.title}: a row has {len(uneven)} cells below "
                f"{len(self.headers)} headers"
            )


Layout: TypeAlias = "Callable[[StoredRun], Iterable[Table]]"
"""The plugin contract of ``mmeval.layouts``."""


def load_layout(name: str) -> Layout:
    """A registered layout. Raises UnknownNameError."""
    found: Layout = plugins.load("mmeval.layouts", name)
    return found


def layouts_of(run: StoredRun) -> list[str]:
    """The layouts that the groups and tasks of a run name, each once."""
    shown: Mapping[str, object] = run.results.get("group_subtasks", {})
    groups = run.record.get("groups", {})
    named = [
        group.get("layout")
        for name, group in groups.items()
        if not shown or name in shown
    ]
    named += [task.config.get("layout") for task in run.tasks]
    return list(dict.fromkeys(str(name) for name in named if name))


def tables_of(run: StoredRun, name: str) -> list[Table]:
    """The tables of a layout; a note below the first names the model and the judges.
    Raises UnknownNameError, PluginError where the layout fails on this run."""
    layout = load_layout(name)
    try:
        return _with_provenance(list(layout(run)), run)
    # a plugin's layout may raise anything and call sys.exit
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"the layout {name!r} failed ({reason})") from error


def _with_provenance(tables: list[Table], run: StoredRun) -> list[Table]:
    if not tables:
        return []
    first, *others = tables
    left = (f"{note[:1].upper()}{note[1:]}." for note in skipped_metrics_note(run))
    return [replace(first, notes=(made_with(run), *left, *first.notes)), *others]


def scores_of(run: StoredRun, task: StoredTask, number: str) -> Scores:
    """A number's scores of the counted trials, in data set order; empty if unscored.
    A number that is made of averaged ones has no score of a trial."""
    from mmeval.aggregate.scores import Scores
    from mmeval.results.task_results import fill

    metric = metric_of(run.ours, task.name, number)
    found = Scores(range=range_of(metric))
    if metric.get("of_averages"):
        return found
    counts = counted_by(run.ours.get("asked", {}).get(task.name))
    fill(
        {number: found},
        (row for row in task.score_rows() if counts(row["i"], row["n"])),
    )
    return found


def result_of(run: StoredRun, task: StoredTask, number: str) -> Result | None:
    """One number of a task as a whole, as the results file has it."""
    rows = (
        row
        for row in run.ours.get("results", ())
        if row["task"] == task.name and row["metric"] == number
    )
    return next((Result.from_json(row) for row in rows if not row.get("slice")), None)


def paper_notes(run: StoredRun, tasks: Iterable[str]) -> tuple[str, ...]:
    """The note below tables of these tasks where the numbers of one do not compare with
    the paper's."""
    foreign = set(run.ours.get("not_comparable", ())).intersection(tasks)
    made = (
        "Made on bundled samples, or by a stand-in of a metric: these numbers do not "
        "compare with the paper's."
    )
    return (made,) if foreign else ()


def judge_names(run: StoredRun, tasks: Iterable[str]) -> list[str]:
    """The judges of these tasks, as they were served."""
    return sorted({model for _, model in judges_in(run.ours, tasks)})
