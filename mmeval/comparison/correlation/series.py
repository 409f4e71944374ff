"""Collects the points of a correlation: numbers of models, or scores of trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from mmeval.comparison.correlation.ratings import RatedTrial, Ratings
from mmeval.comparison.run_pair import ComparedRun
from mmeval.errors import UsageError, did_you_mean
from mmeval.report.headline import headline_rows
from mmeval.results.numbers import NumberRow, number_rows
from mmeval.results.published import PublishedModel
from mmeval.results.stored_run import StoredRun

ALL = "all"
T = TypeVar("T")


class NamedRun(NamedTuple):
    """A run with the name of its model in the board or the ratings."""

    name: str
    run: StoredRun


class NumberName(NamedTuple):
    """The number of a task or group; ``slice`` is a value of a label, or empty."""

    task: str
    metric: str
    slice: str = ""

    @property
    def title(self) -> str:
        parts = [self.task, self.metric, self.slice]
        return ", ".join(filter(None, parts))


@dataclass
class Trials:
    """Scores and ratings of the same trials, and the cluster of each trial."""

    scores: list[float] = field(default_factory=list)
    ratings: list[float] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    keys: list[tuple[str, str, int]] = field(default_factory=list)
    """The model, the sample and the repeat of each trial."""
    rated: list[RatedTrial] = field(default_factory=list)
    """The trials as the ratings name them."""


def numbers_of_models(
    runs: Sequence[NamedRun],
    published: Sequence[PublishedModel],
    *,
    metrics: Sequence[str],
    tasks: Sequence[str],
) -> dict[NumberName, dict[str, float]]:
    """Returns the values of each number by model.

    Without ``metrics``, the first number of each task of the runs is used, and every
    published number. Raises UsageError for a model that occurs twice, and for an
    unknown task or metric.
    """
    numbers: dict[NumberName, dict[str, float]] = {}
    names = [named.name for named in runs]
    of_files = [model.name for model in published]
    models = [*names, *of_files]
    for name in models:
        if models.count(name) > 1:
            advice = "name a run with NAME=RUN"
            if name not in names:
                advice = "give its published numbers once, in one group"
            raise UsageError(f"the model {name} occurs twice; {advice}", name=name)
    for row in _rows(runs, metrics):
        number = NumberName(row.task, row.metric)
        for name, result in zip(names, row.results, strict=True):
            if result is not None and result.value is not None:
                numbers.setdefault(number, {})[name] = result.value
    for model in published:
        for key, of_model in model.numbers.items():
            if of_model.value is None or key.slice or key.kind != "absolute":
                continue
            number = NumberName(key.task, key.metric)
            numbers.setdefault(number, {})[model.name] = of_model.value
    return _chosen(numbers, metrics, tasks)


def trials_of_runs(
    runs: Sequence[NamedRun],
    ratings: Ratings,
    *,
    metrics: Sequence[str],
    tasks: Sequence[str],
    label: str = "",
) -> dict[NumberName, Trials]:
    """Returns the rated trials of each number, and with a ``label`` also of each of its
    values.

    Without ``metrics``, the metrics that the ratings name are used, or else the first
    number of each task. Raises UsageError for several runs whose ratings do not name
    the model, and for an unknown task or metric.
    """
    if len(runs) > 1 and not ratings.has_models:
        raise UsageError(
            f"{ratings.file}: with several runs, the column 'model' must say whose "
            "answer was rated"
        )
    by_name = metrics or tuple(sorted(ratings.metrics))
    rated_tasks = {trial.task for trial in ratings.values}
    found: dict[NumberName, Trials] = {}
    for named in runs:
        compared = ComparedRun(named.run, named.name, label)
        chosen = []
        for row in _rows([named], by_name):
            has_name = by_name in ((), (ALL,)) or row.metric in by_name
            if has_name and row.task in rated_tasks and not row.is_group:
                chosen.append(row)
                requested = compared.requested_numbers.setdefault(row.task, set())
                requested.add(row.metric)
        for row in chosen:
            _add_trials(found, compared, row, ratings, label)
    return _chosen(found, metrics, tasks)


def _rows(runs: Sequence[NamedRun], metrics: Sequence[str]) -> list[NumberRow]:
    if not runs:
        return []
    documents = [named.run.results for named in runs]
    names = [named.name for named in runs]
    rows = number_rows(documents, names, repeats=bool(metrics))
    rows = [row for row in rows if not row.slice]
    return rows if metrics else headline_rows(rows)


def _add_trials(
    found: dict[NumberName, Trials],
    compared: ComparedRun,
    row: NumberRow,
    ratings: Ratings,
    label: str,
) -> None:
    scores = compared.scores(row.task)
    if scores is None or row.metric not in scores.columns:
        return
    for place, score in enumerate(scores.columns[row.metric]):
        name, repeat = scores.names[place]
        rated = _rated(ratings, compared.name, row, name, repeat)
        if score.value is None or rated is None:
            continue
        slices = [""]
        if label and scores.levels[place] is not None:
            slices.append(f"{label}={scores.levels[place]}")
        for of_slice in slices:
            number = NumberName(row.task, row.metric, of_slice)
            trials = found.setdefault(number, Trials())
            trials.scores.append(score.value)
            trials.ratings.append(ratings.values[rated])
            trials.clusters.append(score.cluster)
            trials.keys.append((compared.name, name, repeat))
            trials.rated.append(rated)


def _rated(
    ratings: Ratings, model: str, row: NumberRow, sample: str, repeat: int
) -> RatedTrial | None:
    """Returns a trial as the ratings name it, or None if it is not rated."""
    for of_model in (model, "") if ratings.has_models else ("",):
        for metric in (row.metric, ""):
            trial = RatedTrial(row.task, sample, repeat, of_model, metric)
            if trial in ratings.values:
                return trial
    return None


def _chosen(
    numbers: Mapping[NumberName, T], metrics: Sequence[str], tasks: Sequence[str]
) -> dict[NumberName, T]:
    """Returns the numbers with the given metrics and tasks."""
    by_name = metrics not in ((), (ALL,))
    for flag, requested, known in (
        ("tasks", tasks, {number.task for number in numbers}),
        ("metrics", metrics if by_name else (), {number.metric for number in numbers}),
    ):
        for name in requested:
            if name not in known:
                raise UsageError(
                    f"--{flag} {name}: no number of it{did_you_mean(name, known)}",
                    name=name,
                    known=known,
                )
    chosen = {}
    for number, values in numbers.items():
        has_task = not tasks or number.task in tasks
        if has_task and (not by_name or number.metric in metrics):
            chosen[number] = values
    return chosen
