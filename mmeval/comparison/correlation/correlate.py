"""Correlates numbers of models with a board, or scores of trials with ratings.

correlated = correlate(["runs/a/default", ...], reference="arena.csv")
correlated.numbers[0].correlations[0].value
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, cast, get_args

from mmeval.comparison.correlation.ratings import (
    BoardValues,
    RatedTrial,
    Ratings,
    read_reference,
)
from mmeval.comparison.correlation.series import (
    NamedRun,
    NumberName,
    Trials,
    numbers_of_models,
    trials_of_runs,
)
from mmeval.comparison.correlation.statistics import (
    METHODS,
    Correlation,
    CorrelationDifference,
    Method,
    Points,
    correlation,
    difference,
)
from mmeval.comparison.named_runs import models_of
from mmeval.errors import UsageError, did_you_mean
from mmeval.results.published import PublishedModel, read_published
from mmeval.system.wording import split_names

Level = Literal["model", "sample"]
LEVELS: tuple[Level, ...] = get_args(Level)
FEW_MODELS = 10
"""Below this number of models, one model can turn the order."""
MOST_PAIRED = 6
"""Number of numbers above which only differences from the first number are computed."""


@dataclass(frozen=True)
class CorrelatedNumber:
    """A number, and its correlation by each method. ``members`` are the models that
    have both values; empty over samples."""

    number: NumberName
    correlations: tuple[Correlation, ...]
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class NumberDifference:
    """The correlation of ``first`` minus that of ``second``, by each method, over the
    ``n`` models or trials that both have."""

    first: NumberName
    second: NumberName
    n: int
    differences: tuple[CorrelationDifference, ...]


@dataclass(frozen=True)
class Correlated:
    """The correlations of numbers with a reference.

    ``without`` are the models that the reference lacks, and ``only_there`` those that
    only the reference has. ``unused`` is the number of rated trials, ``rated`` in all,
    that no number has a score for.
    """

    reference: Path
    level: Level
    numbers: tuple[CorrelatedNumber, ...]
    differences: tuple[NumberDifference, ...]
    without: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()
    rated: int = 0
    unused: int = 0

    @property
    def is_defined(self) -> bool:
        """True if every correlation has a value."""
        for row in self.numbers:
            if any(entry.value is None for entry in row.correlations):
                return False
        return True

    @property
    def has_few_models(self) -> bool:
        if self.level != "model":
            return False
        return min(len(number.members) for number in self.numbers) < FEW_MODELS

    def to_json(self) -> dict[str, Any]:
        numbers = []
        for row in self.numbers:
            numbers.append(
                {
                    **row.number._asdict(),
                    "models": list(row.members),
                    "correlations": [asdict(entry) for entry in row.correlations],
                }
            )
        differences = []
        for pair in self.differences:
            differences.append(
                {
                    "first": pair.first._asdict(),
                    "second": pair.second._asdict(),
                    "n": pair.n,
                    "differences": [asdict(entry) for entry in pair.differences],
                }
            )
        return {
            "reference": str(self.reference),
            "level": self.level,
            "numbers": numbers,
            "differences": differences,
            "without": list(self.without),
            "only_there": list(self.only_there),
            "rated": self.rated,
            "unused": self.unused,
        }


def correlate(
    runs: Sequence[str | Path],
    *,
    reference: str | Path,
    published: Sequence[str | Path] = (),
    level: str = "",
    metrics: str | Sequence[str] = (),
    tasks: str | Sequence[str] = (),
    methods: str | Sequence[str] = (),
    by: str = "",
) -> Correlated:
    """Correlate numbers as ``mmeval correlate`` does.

    ``reference`` is a CSV file: a board with the columns ``model,value``, or ratings
    with the columns ``task,sample,value``. ``level`` is ``model`` for a board and
    ``sample`` for ratings. Raises MissingDataError if a folder contains no run.
    Raises UsageError for invalid values and files.
    """
    file = Path(reference).expanduser()
    known = read_reference(file)
    of_file: Level = "model" if isinstance(known, BoardValues) else "sample"
    if level and level != of_file:
        raise UsageError(
            f"--level {level}: {file} has values of {of_file}s; leave --level out",
            name="--level",
        )
    by_methods = _methods(methods)
    named: list[NamedRun] = []
    for words in runs:
        for model in models_of(words):
            run = model.runs[0]
            if len(model.runs) > 1:
                raise UsageError(f"{words}: give one run of each model")
            named.append(NamedRun(model.name or run.model, run))
    others: list[PublishedModel] = []
    for path in published:
        others += read_published(Path(path).expanduser())
    if not named and not others:
        raise UsageError("give runs, or published numbers with --published FILE.csv")
    try:
        if isinstance(known, Ratings):
            if others:
                raise UsageError(
                    "--published has no samples, so it cannot be used with ratings"
                )
            return _with_ratings(
                named,
                known,
                methods=by_methods,
                metrics=_names(metrics),
                tasks=_names(tasks),
                label=by,
            )
        if by:
            raise UsageError("--by needs ratings of samples", name="--by")
        return _with_board(
            named,
            others,
            known,
            methods=by_methods,
            metrics=_names(metrics),
            tasks=_names(tasks),
        )
    finally:
        for entry in named:
            entry.run.close()


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return split_names([names] if isinstance(names, str) else names)


def _methods(names: str | Sequence[str]) -> tuple[Method, ...]:
    chosen = _names(names)
    for name in chosen:
        if name not in METHODS:
            raise UsageError(
                f"--method must be of {', '.join(METHODS)}, not "
                f"{name!r}{did_you_mean(name, METHODS)}",
                name=name,
            )
    return cast("tuple[Method, ...]", chosen) or METHODS


def _with_board(
    runs: Sequence[NamedRun],
    published: Sequence[PublishedModel],
    board: BoardValues,
    *,
    methods: Sequence[Method],
    metrics: Sequence[str],
    tasks: Sequence[str],
) -> Correlated:
    numbers = numbers_of_models(runs, published, metrics=metrics, tasks=tasks)
    points: dict[NumberName, dict[str, tuple[float, float]]] = {}
    for number, values in numbers.items():
        points[number] = {}
        for model, value in values.items():
            if model in board.values:
                points[number][model] = (value, board.values[model])
    models = [run.name for run in runs] + [model.name for model in published]
    if not any(points.values()):
        raise UsageError(
            f"{board.file} has none of the models {', '.join(models)}; the names must "
            "be the same"
        )
    rows = []
    for number, by_model in points.items():
        of_number = _points(list(by_model.values()))
        correlations = tuple(correlation(method, of_number) for method in methods)
        rows.append(CorrelatedNumber(number, correlations, tuple(by_model)))
    return Correlated(
        reference=board.file,
        level="model",
        numbers=tuple(rows),
        differences=tuple(_differences(points, methods)),
        without=tuple(name for name in models if name not in board.values),
        only_there=tuple(name for name in board.values if name not in models),
    )


def _points(values: Sequence[tuple[float, float]]) -> Points:
    return Points(tuple(x for x, _ in values), tuple(y for _, y in values))


def _pairs(numbers: Sequence[NumberName]) -> Iterator[tuple[NumberName, NumberName]]:
    """Yields the numbers whose correlations are compared: the later one first."""
    for first, second in combinations(numbers, 2):
        if len(numbers) <= MOST_PAIRED or first == numbers[0]:
            yield second, first


def _differences(
    points: Mapping[NumberName, Mapping[str, tuple[float, float]]],
    methods: Sequence[Method],
) -> Iterator[NumberDifference]:
    for first, second in _pairs(list(points)):
        common = [model for model in points[first] if model in points[second]]
        if not common:
            continue
        a = _points([points[first][model] for model in common])
        b = _points([points[second][model] for model in common])
        yield _difference(first, second, a, b, methods)


def _difference(
    first: NumberName,
    second: NumberName,
    a: Points,
    b: Points,
    methods: Sequence[Method],
) -> NumberDifference:
    differences = []
    for method in methods:
        of_method = difference(method, a, b)
        if of_method is not None:
            differences.append(of_method)
    return NumberDifference(first, second, len(a), tuple(differences))


def _with_ratings(
    runs: Sequence[NamedRun],
    ratings: Ratings,
    *,
    methods: Sequence[Method],
    metrics: Sequence[str],
    tasks: Sequence[str],
    label: str,
) -> Correlated:
    trials = trials_of_runs(runs, ratings, metrics=metrics, tasks=tasks, label=label)
    if not trials:
        raise UsageError(
            f"{ratings.file}: none of its ratings is of a scored trial of these runs"
        )
    rows = []
    used: set[RatedTrial] = set()
    for number, of_number in trials.items():
        used.update(of_number.rated)
        points = Points(
            tuple(of_number.scores),
            tuple(of_number.ratings),
            tuple(of_number.clusters),
        )
        correlations = tuple(correlation(method, points) for method in methods)
        rows.append(CorrelatedNumber(number, correlations))
    return Correlated(
        reference=ratings.file,
        level="sample",
        numbers=tuple(rows),
        differences=tuple(_differences_of_trials(trials, methods)),
        rated=len(ratings.values),
        unused=len(ratings.values.keys() - used),
    )


def _differences_of_trials(
    trials: Mapping[NumberName, Trials], methods: Sequence[Method]
) -> Iterator[NumberDifference]:
    """Yields the differences between the metrics of a task, over trials that both
    scored and whose rating is the same."""
    by_task: dict[tuple[str, str], list[NumberName]] = {}
    for number in trials:
        by_task.setdefault((number.task, number.slice), []).append(number)
    pairs: list[tuple[NumberName, NumberName]] = []
    for numbers in by_task.values():
        pairs += _pairs(numbers)
    for first, second in pairs:
        a, b = trials[first], trials[second]
        place_of = {key: place for place, key in enumerate(b.keys)}
        both = []
        for place, key in enumerate(a.keys):
            other = place_of.get(key)
            if other is not None and a.ratings[place] == b.ratings[other]:
                both.append((place, other))
        if not both:
            continue
        ratings = tuple(a.ratings[place] for place, _ in both)
        clusters = tuple(a.clusters[place] for place, _ in both)
        of_first = tuple(a.scores[place] for place, _ in both)
        of_second = tuple(b.scores[place] for _, place in both)
        yield _difference(
            first,
            second,
            Points(of_first, ratings, clusters),
            Points(of_second, ratings, clusters),
            methods,
        )
