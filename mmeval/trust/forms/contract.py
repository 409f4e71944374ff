"""What a form of ratings has: a reader, and for some forms a writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.errors import UsageError
from mmeval.system.foreign_lines import document_of, lines_of
from mmeval.trust.human_values import HumanValue
from mmeval.trust.records import Rating
from mmeval.trust.rows import ratings_of_rows

Row = dict[str, Any]  # Any: a value of JSON


@dataclass(frozen=True)
class FormRatings:
    """The ratings of a file, and the number of its records that are left out, by
    reason."""

    ratings: Sequence[Rating]
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RatingsForm:
    """A form of ratings. ``about`` describes it in one line.

    ``write`` returns the text of a file. Its second argument is the way to combine the
    raters of a trial, for forms with one value a trial.
    """

    about: str
    read: Callable[[Path], FormRatings]
    write: Callable[[Sequence[Rating], HumanValue], str] | None = None
    suffix: str = ".json"


def form_ratings(
    path: Path, rows: Sequence[Row], skipped: Mapping[str, int]
) -> FormRatings:
    """Returns the ratings of rows with the names of mmeval's own file.

    Raises UsageError if a row cannot be used.
    """
    return FormRatings(ratings_of_rows(path, rows), dict(skipped))


def read_json(path: Path) -> Any:
    """Returns the value of a file of JSON, or the list of the objects of JSON lines.

    Raises MissingDataError if there is no file, and UsageError if it is not JSON.
    """
    if path.suffix.lower() == ".jsonl":
        return [line.row for line in lines_of(path)]
    return document_of(path)


def records(path: Path, value: Any, what: str = "the file") -> Iterator[Row]:
    """Yields the objects of a list. Raises UsageError for anything else."""
    if not isinstance(value, list):
        raise UsageError(f"{path}: {what} must be a list", file=path)
    for number, record in enumerate(value, start=1):
        if not isinstance(record, dict):
            raise UsageError(
                f"{path}: entry {number:,} of {what} must be an object", file=path
            )
        yield record


def mapping(value: Any) -> Mapping[str, Any]:
    """Returns an object of JSON, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[Any]:
    """Returns a list of JSON, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def is_plain(value: Any) -> bool:
    """Returns True for a number, a word or nothing."""
    return value is None or isinstance(value, (str, int, float))


def one_value(values: Iterable[Any]) -> str | int | float | None:
    """Returns the only value, or several ones as one word, separated by commas."""
    given = list(values)
    if len(given) == 1 and is_plain(given[0]):
        only: str | int | float | None = given[0]
        return only
    return ",".join(sorted(str(value) for value in given)) or None


def about_trial(data: Mapping[str, Any]) -> Row:
    """Returns what ``data`` of a foreign record says of its trial in mmeval's names."""
    row: Row = {}
    for name in ("sample", "cluster", "task", "run", "a", "b", "first"):
        value = data.get(name)
        if is_plain(value) and value not in (None, ""):
            row[name] = str(value)
    labels = mapping(data.get("labels"))
    if labels:
        row["labels"] = dict(labels)
    return row
