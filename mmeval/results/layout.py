"""Layouts arrange numbers in the tables of a benchmark's paper.

An entry point in ``mmeval.layouts`` names a package with a file ``layout.yaml``
(:mod:`mmeval.task.layout_file`), in whose tables models are rows. It may instead name a
function that makes tables of one run, for what such a file cannot say:

    def layout(run: StoredRun) -> Iterable[Table]: ...

The key ``layout`` of a task or group names the entry point. A layout only reads the
run. The cell of an unscored number has no value. The tables are printed below the
tables of the run, and by ``mmeval report RUN --layout NAME``.
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
"""A text, a number, or None for an unknown number."""


@dataclass(frozen=True)
class Table:
    """A table: title, headers, rows with one cell per header, and notes below.

    Numbers are shown with ``digits`` decimal places; machine-readable output has all
    digits. Raises ValueError for a row of another length.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    digits: int = 3

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.headers):
                raise ValueError(
                    f"{self.title}: a row has {len(row)} cells, but the table has "
                    f"{len(self.headers)} headers"
                )


Layout: TypeAlias = "Callable[[StoredRun], Iterable[Table]]"
"""The contract of the plugins in ``mmeval.layouts``."""


def load_layout(name: str) -> Layout:
    """Load a layout by name. Raises UnknownNameError."""
    layout: Layout = plugins.load("mmeval.layouts", name)
    return layout


def layouts_of(run: StoredRun) -> list[str]:
    """Returns the layouts that the groups and tasks of a run name, each once."""
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
    """Returns the tables of a layout. A note below the first table names the model and
    the judges.

    Raises UnknownNameError for an unknown layout, and PluginError if the layout fails
    on this run.
    """
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
    """Returns the scores of one number for the counted trials, in data set order.

    The result is empty if there are no scores, and for a number that is computed from
    averages, since such a number has no score per trial.
    """
    from mmeval.aggregate.scores import Scores
    from mmeval.results.task_results import fill

    metric = metric_of(run.ours, task.name, number)
    scores = Scores(range=range_of(metric))
    if metric.get("of_averages"):
        return scores
    counts = counted_by(run.ours.get("asked", {}).get(task.name))
    every = task.score_rows()
    counted = (row for row in every if counts(row["i"], row["n"]))
    fill({number: scores}, counted)
    return scores


def result_of(
    run: StoredRun,
    task: StoredTask,
    number: str,
) -> Result | None:
    """Returns a task's number from the results file, or None if it is missing there."""
    for row in run.ours.get("results", ()):
        is_number = row["task"] == task.name and row["metric"] == number
        if is_number and not row.get("slice"):
            return Result.from_json(row)
    return None


def paper_notes(run: StoredRun, tasks: Iterable[str]) -> tuple[str, ...]:
    """Returns the note below tables of these tasks if a task's numbers are not
    comparable with the paper's numbers."""
    if set(run.ours.get("not_comparable", ())).isdisjoint(tasks):
        return ()
    return (
        "Not comparable with the paper's numbers: computed on bundled samples, or by a "
        "stand-in metric.",
    )


def judge_names(run: StoredRun, tasks: Iterable[str]) -> list[str]:
    """Returns the models that judged these tasks, as reported by their servers."""
    return sorted({model for _, model in judges_in(run.ours, tasks)})
