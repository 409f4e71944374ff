"""Reads published numbers from CSV: the rows of a paper's tables, or of an export.

The columns are ``model,group,task,metric,slice,kind,value,state``. Only ``model``,
``task``, ``metric`` and ``value`` are required. Other columns are ignored, so that an
exported frame of numbers can be read.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, get_args

from mmeval.errors import TaskFileError, did_you_mean
from mmeval.system.csv_file import CsvRow, csv_reader, field_of, number_of

NumberKind = Literal["absolute", "relative", "tau", "half_width"]
"""The kind of a number. ``absolute``: the mean itself. ``tau``: the share of supported
samples. ``relative``: the product of both. ``half_width``: half of an interval."""
NumberState = Literal["", "cannot", "lost"]
"""Why a number has no value. ``cannot``: the model cannot take the input or give the
output. ``lost``: the value is not known."""

KINDS: tuple[NumberKind, ...] = get_args(NumberKind)
STATES: tuple[NumberState, ...] = get_args(NumberState)
REQUIRED = ("model", "task", "metric", "value")
LOST_THERE = "lost where it was published"

Choice = TypeVar("Choice", bound=str)


class NumberKey(NamedTuple):
    """The key of a number in a table: a task or group, a metric, a slice, a kind."""

    task: str
    metric: str
    slice: str = ""
    kind: NumberKind = "absolute"


@dataclass(frozen=True)
class TableNumber:
    """A number for the tables of a paper. ``value`` is None if ``state`` is not empty;
    ``reason`` then explains why.

    A number that is computed from a run may have a 95 % ``interval`` and the number
    ``n`` of its scored samples.
    """

    key: NumberKey
    value: float | None
    state: NumberState = ""
    reason: str = ""
    higher_is_better: bool = True
    interval: tuple[float, float] | None = None
    n: int | None = None


@dataclass(frozen=True)
class PublishedModel:
    """A model with its published numbers by key. ``group`` is a heading, or empty."""

    name: str
    group: str
    numbers: Mapping[NumberKey, TableNumber]


def read_published(file: Path) -> tuple[PublishedModel, ...]:
    """Returns the models of a CSV file, in the order of their first lines.

    A line without a value and without a state is ``lost``. Raises UsageError with the
    file and line of a fault.
    """
    reader = csv_reader(file)
    numbers: dict[tuple[str, str], dict[NumberKey, TableNumber]] = {}
    try:
        _check_columns(reader.fieldnames or (), file)
        for row in reader:
            model = field_of(row, "model")
            if not model:
                raise TaskFileError("model is missing", file=file, line=reader.line_num)
            number = _number(row, file, reader.line_num)
            of_model = numbers.setdefault((model, field_of(row, "group")), {})
            if number.key in of_model:
                raise TaskFileError(
                    f"{model}: the number {number.key.task}, {number.key.metric} "
                    "occurs twice; remove one",
                    file=file,
                    line=reader.line_num,
                )
            of_model[number.key] = number
    except csv.Error as error:
        raise TaskFileError(
            f"not valid CSV: {error}", file=file, line=reader.line_num
        ) from None
    models = []
    for (name, group), of_model in numbers.items():
        models.append(PublishedModel(name, group, of_model))
    return tuple(models)


def _check_columns(columns: Sequence[str], file: Path) -> None:
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        raise TaskFileError(
            f"the column {missing[0]} is missing; the first line must name at least "
            f"{', '.join(REQUIRED)}",
            file=file,
            line=1,
        )


def _number(
    row: CsvRow,
    file: Path,
    line: int,
) -> TableNumber:
    for column in ("task", "metric"):
        if not field_of(row, column):
            raise TaskFileError(f"{column} is missing", file=file, line=line)
    kind = _choice("kind", field_of(row, "kind") or "absolute", KINDS, file, line)
    state = _choice("state", field_of(row, "state"), STATES, file, line)
    is_lower_better = field_of(row, "higher_is_better").lower() == "false"
    key = NumberKey(
        field_of(row, "task"), field_of(row, "metric"), field_of(row, "slice"), kind
    )
    if row["value"] is None:
        # an empty field would be a lost number
        raise TaskFileError(
            "the line ends before the column value", file=file, line=line
        )
    text = field_of(row, "value")
    if not text:
        if state == "cannot":
            return TableNumber(key, None, state)
        return TableNumber(key, None, "lost", LOST_THERE)
    if state:
        raise TaskFileError(
            f"state {state!r} is for a number without a value, not {text!r}",
            file=file,
            line=line,
        )
    value = number_of(row, "value", file, line)
    return TableNumber(key, value, higher_is_better=not is_lower_better)


def _choice(
    column: str, text: str, choices: Sequence[Choice], file: Path, line: int
) -> Choice:
    for choice in choices:
        if choice == text:
            return choice
    named = ", ".join(filter(None, choices))
    raise TaskFileError(
        f"{column}: must be one of {named}, not {text!r}{did_you_mean(text, choices)}",
        file=file,
        line=line,
    )
