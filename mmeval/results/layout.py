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
        for row in self.rows:
            if len(row) != len(self.headers):
                raise ValueError(
                    f"{self.title}: a row has {len(row)} cells below "
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
    configs = [task.config for task in run.tasks]
    groups: Mapping[str, Mapping[str, object]] = run.record.get("groups", {})
    of_groups = [groups[name] for name in groups if not shown or name in shown]
    names: dict[str, None] = {}
    for config in [*of_groups, *configs]:
        if config.get("layout"):
            names[str(config["layout"])] = None
    return list(names)


def tables_of(run: StoredRun, name: str) -> list[Table]:
    """The tables of a layout; a note below the first names the model and the judges.
    Raises UnknownNameError, PluginError where the layout fails on this run."""
    layout = load_layout(name)
    try:
        tables = list(layout(run))
        if tables:
            notes = [made_with(run)]
            for note in skipped_metrics_note(run):
                notes.append(f"{note[:1].upper()}{note[1:]}.")
            notes += tables[0].notes
            tables[0] = replace(tables[0], notes=tuple(notes))
        return tables
    # a plugin's layout may raise anything and call sys.exit
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"the layout {name!r} failed ({reason})") from error


def scores_of(
    run: StoredRun,
    task: StoredTask,
    number: str,
) -> Scores:
    """A number's scores of the counted trials, in data set order; empty if unscored.
    A number that is made of averaged ones has no score of a trial."""
    from mmeval.aggregate.scores import Scores
    from mmeval.results.task_results import fill

    metric = metric_of(run.ours, task.name, number)
    found = Scores(range=range_of(metric))
    if metric.get("of_averages"):
        return found
    counts = counted_by(run.ours.get("asked", {}).get(task.name))
    every = task.score_rows()
    counted = (row for row in every if counts(row["i"], row["n"]))
    fill({number: found}, counted)
    return found


def result_of(
    run: StoredRun,
    task: StoredTask,
    number: str,
) -> Result | None:
    """One number of a task as a whole, as the results file has it."""
    for row in run.ours.get("results", ()):
        is_number = row["task"] == task.name and row["metric"] == number
        if is_number and not row.get("slice"):
            return Result.from_json(row)
    return None


def paper_notes(run: StoredRun, tasks: Iterable[str]) -> tuple[str, ...]:
    """The note below tables of these tasks where the numbers of one do not compare with
    the paper's."""
    if set(run.ours.get("not_comparable", ())).isdisjoint(tasks):
        return ()
    return (
        "Made on bundled samples, or by a stand-in of a metric: these numbers do not "
        "compare with the paper's.",
    )


def judge_names(run: StoredRun, tasks: Iterable[str]) -> list[str]:
    """The judges of these tasks, as they were served."""
    return sorted({model for _, model in judges_in(run.ours, tasks)})
