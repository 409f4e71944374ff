"""The rows of scores that a run folder keeps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.aggregate.scores import Scores
from mmeval.errors import UsageError, did_you_mean
from mmeval.results.compare import metrics_of, range_of
from mmeval.results.stored_run import StoredRun, StoredTask, counted_by, run_folder
from mmeval.results.task_results import fill
from mmeval.system.wording import listed
from mmeval.trust.correction.rated_trials import NO_RANGE, Range
from mmeval.trust.records import ScoreRow


class RunScores(NamedTuple):
    """Scores, the names of one or two chosen runs in them (empty: there is no choice),
    the range of the first metric, and the runs by name if the scores are of runs."""

    rows: list[ScoreRow]
    names: tuple[str, str]
    limits: Range = NO_RANGE
    runs: Mapping[str, StoredRun] = {}


def read_runs(folders: Sequence[Path], metrics: Sequence[str]) -> RunScores:
    """Returns the scores of one run, or of two runs that are compared.

    Two runs are named as ``mmeval compare`` names them. Raises MissingDataError if a
    folder contains no run, and UsageError if no run has the first metric.
    """
    from mmeval.report.page.writer import names_of

    runs = [StoredRun(run_folder(folder)) for folder in folders]
    _refuse_unknown(runs, metrics[0])
    # ratings of the only run need not name it
    names = names_of(runs) if len(runs) > 1 else [""]
    rows: list[ScoreRow] = []
    ranges = set()
    for run, name in zip(runs, names, strict=True):
        rows += scores_of_run(run, metrics, name=name)
        ranges.add(range_in_run(run, metrics[0]))
    limits = ranges.pop() if len(ranges) == 1 else NO_RANGE
    first, second = names if len(names) > 1 else ("", "")
    by_name = dict(zip(names, runs, strict=True))
    return RunScores(rows, (first, second), limits, by_name)


def _refuse_unknown(runs: Sequence[StoredRun], metric: str) -> None:
    known: dict[str, None] = {}
    for run in runs:
        for task in run.tasks:
            known.update(dict.fromkeys(numbers_of(run, task.name)))
    if metric not in known:
        folders = listed([str(run.folder) for run in runs], 2)
        hint = did_you_mean(metric, known)
        there_are = " The metrics are" if hint else "; the metrics are"
        raise UsageError(
            f"there are no scores of {metric!r} in {folders}{hint}{there_are}: "
            f"{listed(list(known), 10) or 'none'}",
            name=metric,
            known=list(known),
        )


def trial_name(task: str, sample: str, repeat: int) -> str:
    """Returns the name of a trial of a run in files of ratings and scores."""
    return f"{task}/{sample}/{repeat}"


def scores_of_run(
    run: StoredRun,
    metrics: Collection[str],
    *,
    name: str = "",
) -> list[ScoreRow]:
    """Returns the trials' values of some metrics in a run, task by task.

    ``name`` becomes the run of the rows. A trial without a value has a row with None.
    The labels of a trial are those of its score and the plain metadata of its sample.
    """
    rows: list[ScoreRow] = []
    for task in run.tasks:
        ranges = numbers_of(run, task.name)
        wanted: dict[str, Range] = {}
        for metric in metrics:
            if metric in ranges:
                wanted[metric] = ranges[metric]
        if wanted:
            rows += _rows_of_task(run, task, wanted, name)
    return rows


def numbers_of(run: StoredRun, task: str) -> dict[str, Range]:
    """Returns the numbers that a task has for each trial, with their ranges."""
    ranges: dict[str, Range] = {}
    for metric in metrics_of(run.ours, task).values():
        if metric.get("of_averages"):
            continue
        for number in metric["outputs"]:
            ranges[number] = range_of(metric)
    return ranges


def range_in_run(run: StoredRun, metric: str) -> Range:
    """Returns the range of a metric in all tasks of a run that have it. If tasks state
    different ranges, no range holds for their mean."""
    ranges = set()
    for task in run.tasks:
        numbers = numbers_of(run, task.name)
        if metric in numbers:
            ranges.add(numbers[metric])
    return ranges.pop() if len(ranges) == 1 else NO_RANGE


def _rows_of_task(
    run: StoredRun,
    task: StoredTask,
    ranges: Mapping[str, Range],
    name: str,
) -> Iterator[ScoreRow]:
    metadata: dict[int, Mapping[str, Any]] = {}
    for sample_row in task.sample_rows():
        metadata[sample_row["i"]] = sample_row["sample"]["metadata"]
    asked = run.ours.get("asked", {})
    counts = counted_by(asked.get(task.name))
    kept = [row for row in task.score_rows() if counts(row["i"], row["n"])]
    columns: dict[str, Scores] = {}
    for metric, limits in ranges.items():
        columns[metric] = Scores(range=limits)
    fill(columns, kept)

    for metric, column in columns.items():
        for row, score in zip(kept, column, strict=True):
            of_sample = metadata.get(row["i"], {})
            yield ScoreRow(
                trial=trial_name(task.name, score.sample, score.repeat),
                metric=metric,
                value=score.value,
                sample=score.sample,
                cluster=score.cluster,
                task=task.name,
                run=name,
                labels=_texts({**of_sample, **score.labels}),
            )


def _texts(labels: Mapping[str, Any]) -> dict[str, str]:
    texts = {}
    for label, value in labels.items():
        if isinstance(value, (str, int, float)):
            texts[label] = str(value)
    return texts
