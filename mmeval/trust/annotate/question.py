"""The question that people answer about a trial, and how their answers become
ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from mmeval.errors import UsageError
from mmeval.trust.records import Value

QuestionKind = Literal["grade", "choice", "yes_no", "rubric", "text", "labels", "pair"]
QUESTION_KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
MAX_TEXT = 20_000
"""Maximum number of characters of a rater's text."""


@dataclass(frozen=True)
class Option:
    """An answer that a rater can choose. ``value`` is the rating, which the rater does
    not see. ``text`` explains the option."""

    name: str
    value: Value
    text: str = ""


@dataclass(frozen=True)
class Criterion:
    """A criterion of a rubric, or the name of an error."""

    id: str
    text: str
    weight: float = 1.0


class Answer(NamedTuple):
    """The rating of a question, or of one of its criteria."""

    question: str
    kind: str
    value: Value


@dataclass(frozen=True)
class AnnotationQuestion:
    """What raters are asked about a trial.

    A grade, a choice, yes or no, and a pair have ``options``. A rubric and error labels
    have ``criteria``. ``shows_input`` and ``shows_references`` state what is shown
    beside the answer.
    """

    kind: QuestionKind
    name: str
    text: str
    options: tuple[Option, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    shows_input: bool = True
    shows_references: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns what a browser receives: neither the name nor any value."""
        options = []
        for option in self.options:
            options.append({"name": option.name, "text": option.text})
        return {
            "kind": self.kind,
            "text": self.text,
            "options": options,
            "criteria": [criterion.text for criterion in self.criteria],
        }

    def answers(self, chosen: Any) -> list[Answer]:
        """Returns the ratings of what a browser sent.

        ``chosen`` is the place of an option, a text, the places of error labels, or a
        list with true, false or None for each criterion. None means that the rater
        cannot say. The rating of the whole question comes last. Raises UsageError if
        ``chosen`` does not fit the question.
        """
        if chosen is None:
            return [Answer(self.name, self.kind, None)]
        if self.kind == "text":
            return [Answer(self.name, self.kind, _text(chosen))]
        if self.kind == "rubric":
            return self._rubric(chosen)
        if self.kind == "labels":
            return self._labels(chosen)
        option = self.options[_place(chosen, len(self.options))]
        return [Answer(self.name, self.kind, option.value)]

    def _rubric(self, chosen: Any) -> list[Answer]:
        """Returns the rating of each criterion, then the weighted share that is met.
        Without a rating of every criterion there is no share."""
        if not isinstance(chosen, list) or len(chosen) != len(self.criteria):
            raise UsageError("each criterion needs an answer")
        answers = []
        met = total = 0.0
        is_complete = True
        for criterion, verdict in zip(self.criteria, chosen, strict=True):
            if verdict is not None and not isinstance(verdict, bool):
                raise UsageError("a criterion is met, not met, or cannot be judged")
            value = None if verdict is None else float(verdict)
            answers.append(Answer(f"{self.name}/{criterion.id}", self.kind, value))
            is_complete = is_complete and value is not None
            met += criterion.weight * (value or 0.0)
            total += criterion.weight
        share = met / total if is_complete else None
        return [*answers, Answer(self.name, self.kind, share)]

    def _labels(self, chosen: Any) -> list[Answer]:
        """Returns 1 or 0 for each error, then the number of errors."""
        if not isinstance(chosen, list):
            raise UsageError("error labels are a list")
        places = {_place(place, len(self.criteria)) for place in chosen}
        answers = []
        for number, criterion in enumerate(self.criteria):
            value = float(number in places)
            answers.append(Answer(f"{self.name}/{criterion.id}", "yes_no", value))
        return [*answers, Answer(self.name, "grade", float(len(places)))]

    @property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and the highest rating, or None if ratings are not numbers."""
        if self.kind == "rubric":
            return (0.0, 1.0)
        if self.kind == "labels":
            return (0.0, float(len(self.criteria)))
        values = []
        for option in self.options:
            if isinstance(option.value, float):
                values.append(option.value)
        if not values or len(values) < len(self.options):
            return None
        return (min(values), max(values))


def yes_no_options(*, yes: float = 1.0) -> tuple[Option, ...]:
    """Returns the options yes and no. ``yes`` is the rating of yes, 1 or 0."""
    return (Option("yes", yes), Option("no", 1.0 - yes))


def level_options(levels: Any, *, as_share: bool = False) -> tuple[Option, ...]:
    """Returns the options of described levels, from low to high.

    A list is numbered from 1, and a mapping has whole numbers as keys. With
    ``as_share`` the lowest level has the rating 0 and the highest has 1. Raises
    UsageError for any other levels.
    """
    scale = _scale(levels)
    if len(scale) < 2:
        raise UsageError("two levels or more are needed")
    low, high = min(scale), max(scale)
    options = []
    for grade, text in sorted(scale.items()):
        value = (grade - low) / (high - low) if as_share else float(grade)
        options.append(Option(str(grade), value, text))
    return tuple(options)


def _scale(levels: Any) -> dict[int, str]:
    if isinstance(levels, Mapping):
        try:
            return {int(grade): str(text or "") for grade, text in levels.items()}
        except ValueError:
            raise UsageError("levels are named by whole numbers") from None
    return dict(enumerate(_texts(levels), start=1))


def choice_options(options: Any) -> tuple[Option, ...]:
    """Returns the options of a list of words, or of a mapping from words to meanings.
    Raises UsageError if there are fewer than two."""
    if isinstance(options, Mapping):
        meanings = {str(name): str(text or "") for name, text in options.items()}
    else:
        meanings = dict.fromkeys(_texts(options), "")
    if len(meanings) < 2:
        raise UsageError("two options or more are needed")
    return tuple(Option(name, name, text) for name, text in meanings.items())


def criteria_of(rows: Any) -> tuple[Criterion, ...]:
    """Returns the criteria of a list of texts, or of mappings with ``criterion``,
    ``id`` and ``weight``. Raises UsageError for any other list."""
    if not isinstance(rows, (list, tuple)) or not rows:
        raise UsageError("a list of criteria is needed")
    criteria = []
    for number, row in enumerate(rows, start=1):
        fields = row if isinstance(row, Mapping) else {"criterion": row}
        text, weight = fields.get("criterion"), fields.get("weight", 1)
        if not isinstance(text, str) or not text.strip():
            raise UsageError(f"criterion {number} has no text")
        if isinstance(weight, bool) or not isinstance(weight, (int, float)):
            raise UsageError(f"the weight of criterion {number} must be a number")
        if not 0 < weight < float("inf"):
            raise UsageError(f"the weight of criterion {number} must be above 0")
        criteria.append(Criterion(str(fields.get("id", number)), text, float(weight)))
    if len({criterion.id for criterion in criteria}) < len(criteria):
        raise UsageError("two criteria have the same id")
    return tuple(criteria)


def _texts(value: Any) -> Sequence[str]:
    if not isinstance(value, (list, tuple)):
        raise UsageError("a list of texts is needed")
    return [str(text) for text in value]


def _place(chosen: Any, count: int) -> int:
    is_number = isinstance(chosen, int) and not isinstance(chosen, bool)
    if not is_number or not 0 <= chosen < count:
        raise UsageError("there is no such option")
    return int(chosen)


def _text(chosen: Any) -> str:
    if not isinstance(chosen, str) or not chosen.strip():
        raise UsageError("the answer is empty")
    if len(chosen) > MAX_TEXT:
        raise UsageError(f"the answer has more than {MAX_TEXT:,} characters")
    return chosen
