"""Reads the files of ratings, scores and calls: JSON lines, or CSV with the same names.

In CSV, the parts of a draw are columns with a dot, such as ``draw.probability``. An
empty value means "cannot say". Any column that is not a field is a label.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mmeval.errors import MissingDataError, UsageError, did_you_mean
from mmeval.trust.audit.calls import NOT_SURE, Call
from mmeval.trust.audit.checks import CHECKS
from mmeval.trust.correction.rated_trials import Range
from mmeval.trust.records import HOWS, Draw, Rating, ScoreRow, Value

_Record = TypeVar("_Record")
_DRAW = "draw."
_KEPT_ELSEWHERE = frozenset({"v", "crc"})
"""Keys of mmeval's own lines that describe the line, not the trial."""


class _Line(NamedTuple):
    """One row of a file, with its place for messages. Ratings of other programs have a
    number in their file, but not a line."""

    file: Path
    number: int
    row: Mapping[str, Any]
    is_line: bool = True

    def error(self, what: str) -> UsageError:
        if not self.is_line:
            place = f"{self.file}: rating {self.number:,}"
            return UsageError(f"{place}: {what}", file=self.file)
        return UsageError(
            f"{self.file}:{self.number}: {what}", file=self.file, line=self.number
        )

    def text(self, name: str) -> str:
        value = self.row.get(name)
        return "" if value is None else str(value)

    def required(self, name: str) -> str:
        text = self.text(name)
        if not text:
            hint = did_you_mean(name, self.row)
            raise self.error(f"{name} is missing, and each row needs it{hint}")
        return text

    def number_of(self, name: str) -> float | None:
        value = self.value_of(name)
        if isinstance(value, str):
            raise self.error(f"{name} must be a finite number, not {value!r}")
        return value

    def value_of(self, name: str) -> Value:
        """Returns a finite number where the value reads as one."""
        value = self.row.get(name)
        if value is None or value == "":
            return None
        if isinstance(value, (dict, list)):
            raise self.error(f"{name} must be a number or a word")
        if isinstance(value, (bool, int, float)):
            number = _as_float(value)
            if not math.isfinite(number):
                raise self.error(f"{name} must be a finite number")
            return number
        return number_or_text(str(value))


def read_ratings(path: Path) -> list[Rating]:
    """Returns all ratings of a file in the order of its lines, replaced ones included.

    Raises MissingDataError if there is no file, and UsageError with the line if a row
    cannot be used.
    """
    return list(_records(path, _rating))


def ratings_of_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> list[Rating]:
    """Returns the ratings of rows with the names of mmeval's own files.

    Raises UsageError with the number of a row if it cannot be used.
    """
    ratings = []
    for number, row in enumerate(rows, start=1):
        ratings.append(_rating(_Line(path, number, row, is_line=False)))
    return ratings


def read_scores(path: Path, *, words: bool = False) -> list[ScoreRow]:
    """Returns the rows of a file of scores in the order of its lines.

    With ``words``, a value may be a word. Raises the errors of ``read_ratings``, and
    UsageError if a trial has two values of one metric.
    """
    rows = list(_records(path, _score_or_word if words else _score_row))
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        place = (row.run, row.trial, row.metric)
        if place in seen:
            raise UsageError(
                f"{path}: trial {row.trial!r} has two values of {row.metric!r}; keep "
                "one of them",
                file=path,
            )
        seen.add(place)
    return rows


def read_gold(path: Path) -> dict[str, Value]:
    """Returns the right answers of a file by trial. Its rows have trial and value.

    Raises the errors of ``read_ratings``.
    """
    return dict(_records(path, _gold))


def read_calls(path: Path, limits: Range | None = None) -> list[Call]:
    """Returns the verdicts of a judge, with scores from the range ``limits`` put on 0
    to 1.

    Raises the errors of ``read_ratings``, and UsageError if a score is not in the
    range, or if there is no row.
    """
    low, high = limits or (0.0, 1.0)

    def call(line: _Line) -> Call:
        scores = {}
        for name in ("first", "again", "changed", "score"):
            scores[name] = _share_of_range(line, name, low, high)
        return _call(line, scores)

    calls = list(_records(path, call))
    if not calls:
        raise UsageError(f"{path} has no row, so there is nothing to audit")
    return calls


def _share_of_range(line: _Line, name: str, low: float, high: float) -> float | None:
    if line.text(name) == NOT_SURE:
        return None
    value = line.number_of(name)
    if value is None:
        return None
    if not low <= value <= high:
        raise line.error(
            f"{name} is {value:g}, which is not in the range {low:g} to {high:g}; "
            "state the range of the judge's scores with --range"
        )
    return (value - low) / (high - low)


def _position(line: _Line, name: str) -> float | None:
    place = line.number_of(name)
    if place is not None and not 0 <= place <= 1:
        raise line.error(
            f"{name} is {place:g}; a place in a list is from 0 (first) to 1 (last)"
        )
    return place


def _call(line: _Line, scores: Mapping[str, float | None]) -> Call:
    trial = line.required("trial")
    check = line.required("check")
    if check not in CHECKS:
        hint = did_you_mean(check, CHECKS)
        raise line.error(f"{check!r} is not a check{hint}")
    return Call(
        check=check,
        trial=trial,
        cluster=line.text("cluster") or trial,
        first=scores["first"],
        again=scores["again"],
        changed=scores["changed"],
        is_unsure=line.text("changed") == NOT_SURE,
        position=_position(line, "position"),
        position_turned=_position(line, "position_turned"),
        score=scores["score"],
        human=line.number_of("human"),
        human2=line.number_of("human2"),
        words=line.number_of("words"),
        own=line.number_of("own"),
        side=line.text("side"),
        form=line.text("form"),
    )


def _gold(line: _Line) -> tuple[str, Value]:
    return line.required("trial"), line.value_of("value")


def _records(path: Path, make: Callable[[_Line], _Record]) -> Iterator[_Record]:
    text = _text_of(path)
    is_csv = path.suffix.lower() == ".csv"
    lines = _csv_lines(path, text) if is_csv else _json_lines(path, text)
    for line in lines:
        yield make(line)


def csv_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yields the rows of a table of another program, by the names of its columns.

    Raises the errors of ``read_ratings``.
    """
    for line in _csv_lines(path, _text_of(path)):
        yield line.row


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise MissingDataError(f"{path} does not exist", file=path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", file=path) from None


def _json_lines(path: Path, text: str) -> Iterator[_Line]:
    # not splitlines(): JSON text may contain other line separators than \n
    for number, words in enumerate(text.split("\n"), start=1):
        if not words.strip():
            continue
        try:
            row = json.loads(words)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise UsageError(
                f"{path}:{number}: not an object of JSON; a file that does not end "
                "with .csv has one object a line",
                file=path,
                line=number,
            )
        yield _Line(path, number, row)


def _csv_lines(path: Path, text: str) -> Iterator[_Line]:
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="")
    try:
        for row in reader:
            line = _Line(path, reader.line_num, row)
            if "" in row:
                raise line.error("the row has more cells than the first line")
            yield _Line(path, reader.line_num, _with_draw(row))
    except csv.Error as error:
        raise UsageError(
            f"{path}:{reader.line_num}: {error}", file=path, line=reader.line_num
        ) from None


def _with_draw(row: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    draw: dict[str, Any] = {}
    for name, value in row.items():
        if name.startswith(_DRAW):
            draw[name.removeprefix(_DRAW)] = value
        else:
            nested[name] = value
    if draw:
        nested["draw"] = draw
    return nested


def _rating(line: _Line) -> Rating:
    if "value" not in line.row:
        raise line.error("value is missing; write null if the rater cannot say")
    return Rating(
        trial=line.required("trial"),
        rater=line.required("rater"),
        value=line.value_of("value"),
        question=line.text("question"),
        pass_number=_pass_number(line),
        sample=line.text("sample"),
        cluster=line.text("cluster"),
        task=line.text("task"),
        run=line.text("run"),
        digest=line.text("digest"),
        kind=line.text("kind"),
        seconds=line.number_of("seconds"),
        at=_time(line),
        comment=line.text("comment"),
        side=line.text("side"),
        a=line.text("a"),
        b=line.text("b"),
        first=line.text("first"),
        gold=line.value_of("gold"),
        draw=_draw(line),
        labels=_labels(line, _RATING_NAMES),
    )


def _score_row(line: _Line) -> ScoreRow:
    if "value" not in line.row:
        raise line.error("value is missing; write null for an unscored trial")
    return ScoreRow(
        trial=line.required("trial"),
        metric=line.required("metric"),
        value=line.number_of("value"),
        sample=line.text("sample"),
        cluster=line.text("cluster"),
        task=line.text("task"),
        run=line.text("run"),
        digest=line.text("digest"),
        question=line.text("question"),
        draw=_draw(line),
        labels=_labels(line, _SCORE_NAMES),
    )


def _score_or_word(line: _Line) -> ScoreRow:
    value = line.value_of("value")
    if not isinstance(value, str):
        return _score_row(line)
    without_word = line._replace(row={**line.row, "value": None})
    return replace(_score_row(without_word), word=value)


_RATING_NAMES = frozenset(field.name for field in fields(Rating)) | {"pass"}
_SCORE_NAMES = frozenset(field.name for field in fields(ScoreRow)) - {"word"}


def _pass_number(line: _Line) -> int:
    number = line.number_of("pass")
    if number is None:
        return 1
    if number < 1 or number != int(number):
        raise line.error(f"pass must be 1, 2 ..., not {line.text('pass')}")
    return int(number)


def _time(line: _Line) -> datetime | None:
    text = line.text("at")
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise line.error(
            f"at must be a time such as 2026-11-30T09:00:00Z, not {text!r}"
        ) from None
    # a time without a zone is UTC, so that all times can be compared
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _draw(line: _Line) -> Draw:
    row = line.row.get("draw")
    if row is None or row == "":
        return Draw()
    if not isinstance(row, dict):
        raise line.error("draw must be an object with the keys how, probability ...")
    draw = line._replace(row=row)
    probability = draw.number_of("probability")
    if probability is not None and not 0 < probability <= 1:
        raise line.error(
            f"draw.probability must be above 0 and at most 1, not {probability:g}"
        )
    seed = draw.number_of("seed")
    written = draw.text("how") or "unknown"
    for how in HOWS:
        if how == written:
            return Draw(
                how=how,
                probability=probability,
                stratum=draw.text("stratum"),
                seed=None if seed is None else int(seed),
            )
    raise line.error(
        f"draw.how must be one of {', '.join(HOWS)}, not {written!r}"
        f"{did_you_mean(written, HOWS)}"
    )


def _labels(line: _Line, names: frozenset[str]) -> dict[str, str]:
    """Returns the object ``labels``, and every key that is not a field."""
    stated = line.row.get("labels") or {}
    if not isinstance(stated, dict):
        raise line.error("labels must be an object")
    labels = {}
    for name, value in stated.items():
        labels[str(name)] = _label_text(value)
    for name, value in line.row.items():
        is_label = name not in names and name not in _KEPT_ELSEWHERE
        if is_label and value is not None:
            labels[name] = _label_text(value)
    return labels


def _label_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # JSON has integers of any length
        return math.inf


def number_or_text(text: str) -> float | str:
    """Returns the number that a word of a file is read as, or the word itself."""
    try:
        number = float(text)
    except ValueError:
        return text
    # Python also reads 1_000 and nan, which are names in a table of ratings
    is_number = "_" not in text and math.isfinite(number)
    return number if is_number else text
