"""MME-Unify: does the answer choose the right option?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypeGuard

from mmeval.metric import metric
from mmeval.metrics.text.choices.reader import choice_score, find_choice
from mmeval.records import Sample, Score, Trial

Script: TypeAlias = Literal["understanding", "csq", "al", "sd"]

CHOICE, ANSWER = "choice", "answer"
"""The labels of a sample: its options, each behind its letter, and the letter of the
right one."""
_PREFIX = re.compile(r"\A\s*(?:\([A-Z]\)|[A-Z][.:)])\s*")


def _fault(sample: Sample, _switches: object = None) -> str:
    """Why no answer to a sample could be scored, or an empty text."""
    options, right = sample.metadata.get(CHOICE), sample.metadata.get(ANSWER)
    if not are_texts(options):
        return f"metadata {CHOICE!r} is no list of texts"
    if right not in _letters(len(options)):
        return f"metadata {ANSWER!r} is no letter of an option"
    return ""


def are_texts(options: Any) -> TypeGuard[list[str]]:
    """Whether the options of a question are a list of texts."""
    return isinstance(options, list) and all(isinstance(text, str) for text in options)


@metric(
    range=(0, 1),
    version="3",
    source="MME-Unify, released scripts; the reading of free answers is our own",
    profiles={"official": {"reading": "released"}},
    check=_fault,
)
def mme_unify_choice(
    trial: Trial,
    *,
    script: Script = "understanding",
    reading: Literal["letter", "released"] = "letter",
) -> Score:
    """1 when the answer chooses the right option, else 0.

    An answer that names no option is wrong; results count such answers. ``reading:
    letter`` finds the option in a sentence, as the metric ``choice`` does; ``released``
    compares the words of the answer as the authors' script of the task does, to which
    ``script`` belongs. Evidence ``found``: the letter, None for none.
    """
    if fault := _fault(trial.sample):
        return Score.unscored(fault)
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    words, right = trial.output.words, trial.sample.metadata[ANSWER]
    if reading == "released":
        # What the authors' scripts count as right: an equal text; in CSQ one that has
        # the letter somewhere, so that "Answer: B" is right where A is; in SD one that
        # is equal when stripped.
        if script == "sd":
            words = words.strip()
        return Score(float(right in words if script == "csq" else words == right))
    chosen = find_choice(words, _by_letter(trial.sample.metadata[CHOICE]))
    return choice_score(chosen, right)


def letter_of(answer: str, options: Sequence[str]) -> str | None:
    """The letter of the option that an answer chooses; None for not exactly one. Each
    option has its letter before its text.

    >>> letter_of("The answer is (B), a barn.", ["A. a bridge", "B. a barn"])
    'B'
    """
    return find_choice(answer, _by_letter(options)).letter


def _by_letter(options: Sequence[str]) -> dict[str, str]:
    """The options' texts by letter. The letters run from A, whatever a text has."""
    texts = {}
    for letter, option in zip(_letters(len(options)), options, strict=False):
        text = unicodedata.normalize("NFKC", option)
        texts[letter] = _PREFIX.sub("", text, count=1)
    return texts


def _letters(count: int) -> tuple[str, ...]:
    return tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count])
