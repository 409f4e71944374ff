"""The YAML file of ``mmeval annotate --ask``: a question of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from mmeval.errors import UsageError, did_you_mean
from mmeval.system.yaml_document import Document, read_document
from mmeval.trust.annotate.question import (
    QUESTION_KINDS,
    AnnotationQuestion,
    Criterion,
    Option,
    QuestionKind,
    choice_options,
    criteria_of,
    level_options,
    yes_no_options,
)

_Answers: TypeAlias = tuple[tuple[Option, ...], tuple[Criterion, ...]]
_KIND_KEYS: Mapping[str, str] = {
    "grade": "levels",
    "choice": "options",
    "rubric": "criteria",
    "labels": "labels",
}
_COMMON = ("question", "kind", "name", "pairs", "ties", "show_input", "show_references")
PAIR_TIES: Mapping[str, tuple[Option, ...]] = {
    "plain": (Option("equally good", "tie"),),
    "leaning": (
        Option("equally good, rather the first", "tie_first"),
        Option("equally good, rather the second", "tie_second"),
    ),
    "none": (),
}
"""The ties that raters of pairs may choose, by the value of ``ties``. The session turns
first and second into the names of the runs."""


def read_question(file: Path) -> AnnotationQuestion:
    """Returns the question of a YAML file.

    Raises TaskFileError, with file and line, if the file is not a question.
    """
    document = read_document(file)
    data = document.data
    text = data.get("question")
    if not isinstance(text, str) or not text.strip():
        raise document.error(("question",), "must be the text of the question")
    kind = _kind(document)
    known = [*_COMMON, _KIND_KEYS.get(kind, "")]
    for key in data:
        if key not in known:
            hint = did_you_mean(key, known)
            raise document.error((key,), f"is not a key of this question{hint}")
    name = data.get("name", file.stem)
    if not isinstance(name, str) or not name.strip():
        raise document.error(("name",), "must be a text")
    for key, usual in (("show_input", True), ("show_references", False)):
        if not isinstance(data.get(key, usual), bool):
            raise document.error((key,), "must be true or false")
    options, criteria = _answers(document, kind)
    return AnnotationQuestion(
        kind,
        name,
        text.strip(),
        options,
        criteria,
        shows_input=data.get("show_input", True),
        shows_references=data.get("show_references", False),
    )


def _kind(document: Document) -> QuestionKind:
    data = document.data
    if data.get("pairs", False) is True:
        if "kind" in data:
            raise document.error(("kind",), "must be left out with pairs: true")
        return "pair"
    if data.get("pairs", False) is not False:
        raise document.error(("pairs",), "must be true or false")
    kind = data.get("kind")
    for known in QUESTION_KINDS:
        if kind == known and known != "pair":
            return known
    kinds = [known for known in QUESTION_KINDS if known != "pair"]
    raise document.error(
        ("kind",),
        f"must be one of {', '.join(kinds)}{did_you_mean(str(kind), kinds)}",
    )


def _answers(document: Document, kind: QuestionKind) -> _Answers:
    """Returns the options and the criteria of a question."""
    data = document.data
    key = _KIND_KEYS.get(kind, "")
    try:
        if kind == "grade":
            return level_options(data.get(key)), ()
        if kind == "choice":
            return choice_options(data.get(key)), ()
        if kind == "yes_no":
            return yes_no_options(), ()
        if kind == "pair":
            key = "ties"
            return _pair_options(str(data.get(key, "plain"))), ()
        if kind == "text":
            return (), ()
        return (), criteria_of(data.get(key))
    except UsageError as error:
        raise document.error((key,), str(error)) from None


def _pair_options(ties: str) -> tuple[Option, ...]:
    if ties not in PAIR_TIES:
        raise UsageError(f"must be one of {', '.join(PAIR_TIES)}")
    first = Option("the first is better", "first")
    second = Option("the second is better", "second")
    return (first, *PAIR_TIES[ties], second)
