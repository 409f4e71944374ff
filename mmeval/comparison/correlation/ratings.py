"""Reads what numbers are correlated with: a board of models, or ratings of trials.

A board has the columns ``model,value``. Ratings have ``task,sample,value``, and may
have ``model,repeat,metric,rater``.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from mmeval.errors import TaskFileError
from mmeval.system.csv_file import csv_reader, field_of, number_of

_BOARD = ("model", "value")
_RATINGS = ("task", "sample", "value")


class RatedTrial(NamedTuple):
    """The trial and metric that a rating is about. ``model`` and ``metric`` are empty
    if the file does not name them."""

    task: str
    sample: str
    repeat: int
    model: str = ""
    metric: str = ""


@dataclass(frozen=True)
class BoardValues:
    """The value of each model of a board."""

    file: Path
    values: Mapping[str, float]


@dataclass(frozen=True)
class Ratings:
    """The mean rating of each trial over its raters."""

    file: Path
    values: Mapping[RatedTrial, float]

    @property
    def has_models(self) -> bool:
        return any(trial.model for trial in self.values)

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics that the ratings name."""
        named = {trial.metric for trial in self.values}
        return frozenset(named - {""})


def read_reference(file: Path) -> BoardValues | Ratings:
    """Returns the board or the ratings of a CSV file.

    Raises UsageError with the file and line of a fault.
    """
    reader = csv_reader(file)
    try:
        columns = reader.fieldnames or ()
        if all(name in columns for name in _RATINGS):
            return Ratings(file, _ratings(file, reader))
        if all(name in columns for name in _BOARD):
            return BoardValues(file, _board(file, reader))
    except csv.Error as error:
        raise TaskFileError(
            f"not valid CSV: {error}", file=file, line=reader.line_num
        ) from None
    raise TaskFileError(
        f"the first line must name {', '.join(_BOARD)} (a board), or "
        f"{', '.join(_RATINGS)} (ratings)",
        file=file,
        line=1,
    )


def _board(file: Path, reader: csv.DictReader[str]) -> dict[str, float]:
    values: dict[str, float] = {}
    for row in reader:
        model = field_of(row, "model")
        if not model:
            raise TaskFileError("model is missing", file=file, line=reader.line_num)
        if model in values:
            raise TaskFileError(
                f"the model {model} occurs twice; a board has one value a model",
                file=file,
                line=reader.line_num,
            )
        if field_of(row, "value"):  # a model without a value is not on the board
            values[model] = number_of(row, "value", file, reader.line_num)
    return values


def _ratings(file: Path, reader: csv.DictReader[str]) -> dict[RatedTrial, float]:
    by_trial: dict[RatedTrial, list[float]] = {}
    for row in reader:
        repeat = field_of(row, "repeat") or "0"
        if not repeat.isdecimal() or len(repeat) > 9:
            raise TaskFileError(
                f"repeat: must be a whole number, not {repeat!r}",
                file=file,
                line=reader.line_num,
            )
        trial = RatedTrial(
            field_of(row, "task"),
            field_of(row, "sample"),
            int(repeat),
            field_of(row, "model"),
            field_of(row, "metric"),
        )
        if field_of(row, "value"):
            value = number_of(row, "value", file, reader.line_num)
            by_trial.setdefault(trial, []).append(value)
    return {trial: fmean(values) for trial, values in by_trial.items()}
