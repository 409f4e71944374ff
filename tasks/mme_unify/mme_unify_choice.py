"""MME-Unify: whether the answer chooses the right option."""

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
"""The labels with a sample's options, each after its letter, and the right letter."""
_PREFIX = re.compile(r"\A\s*(?:\([A-Z]\)|[A-Z][.:)])\s*")


def _fault(sample: Sample, _switches: object = None) -> str:
    """Returns why a sample cannot be scored, or an empty string if it can."""
    options, right = sample.metadata.get(CHOICE), sample.metadata.get(ANSWER)
    if not are_texts(options):
        return f"metadata {CHOICE!r} is not a list of texts"
    if right not in _letters(len(options)):
        return f"metadata {ANSWER!r} is not the letter of an option"
    return ""


def are_texts(options: Any) -> TypeGuard[list[str]]:
    """Returns True if the options are a list of strings."""
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
    """1 if the answer chooses the right option, else 0.

    Range 0 to 1, higher is better. An answer that names no option is wrong. Results
    report the number of such answers. ``reading: letter`` finds the option in a
    sentence, as the metric ``choice`` does. ``reading: released`` compares the words of
    the answer as the authors' script for the task does. ``script`` names this script.
    Unscored without options or a right letter. Evidence: ``found``, the letter or None.

    Not measured: the reason for the choice.

    Labels, for example: ``{"choice": ["A. a cat", "B. a dog"], "answer": "B"}``.

    Example: ``mmeval try metric mme_unify_choice --answer "It is B." --metadata
    '{"choice": ["A. a cat", "B. a dog"], "answer": "B"}'`` gives 1.
    """
    if fault := _fault(trial.sample):
        return Score.unscored(fault)
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    words, right = trial.output.words, trial.sample.metadata[ANSWER]
    if reading == "released":
        # The authors' scripts require that the answer equals the letter. In SD it is
        # stripped first. In CSQ the letter may be anywhere in the answer, so "Answer:
        # B" is right if the letter is A.
        if script == "sd":
            words = words.strip()
        return Score(float(right in words if script == "csq" else words == right))
    chosen = find_choice(words, _by_letter(trial.sample.metadata[CHOICE]))
    return choice_score(chosen, right)


def letter_of(answer: str, options: Sequence[str]) -> str | None:
    """Returns the letter of the option that an answer chooses.

    Returns None unless the answer chooses exactly one option. Each option begins with
    its letter.

    >>> letter_of("The answer is (B), a barn.", ["A. a bridge", "B. a barn"])
    'B'
    """
    return find_choice(answer, _by_letter(options)).letter


def _by_letter(options: Sequence[str]) -> dict[str, str]:
    """Returns the texts of the options by letter.

    The letters follow from the order of the options, beginning with A, and are not read
    from the texts.
    """
    texts = {}
    for letter, option in zip(_letters(len(options)), options, strict=False):
        text = unicodedata.normalize("NFKC", option)
        texts[letter] = _PREFIX.sub("", text, count=1)
    return texts


def _letters(count: int) -> tuple[str, ...]:
    return tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count])
