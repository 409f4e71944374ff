"""MME-Unify: does the answer choose the right option?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, TypeAlias

from mmeval.metric import metric
from mmeval.records import Sample, Score, Trial

Script: TypeAlias = Literal["understanding", "csq", "al", "sd"]

CHOICE, ANSWER = "choice", "answer"
"""The labels of a sample: its options, each behind its letter, and the letter of the
right one."""
_THINKING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_WHOLE = re.compile(r"(?:\(([A-Za-z])\)|\[([A-Za-z])\]|([A-Za-z]))[.:),]?")
_OPENS = r"""[\s(\[{<【「『《"'`“”„‘’«*]*+"""
_STATED = re.compile(
    rf"(?:(?<![A-Za-z])(?i:answer|option|choice)|答案|选){_OPENS}(?:(?i:is)|[:"
    rf"是为])?+{_OPENS}([A-Z])(?![A-Za-z])"
)
_BRACKETED = re.compile(r"\(([A-Z])\)|\[([A-Z])\]")
_ALONE = re.compile(r"(?<![A-Za-z'’‘ʼ])(?!A[ \t]+[a-z])([A-Z])(?![A-Za-z'’‘ʼ])")
_PREFIX = re.compile(r"\s*(?:\([A-Z]\)|[A-Z][.:)])\s*")


def _fault(sample: Sample, _switches: object = None) -> str:
    """Why no answer to a sample could be scored, or an empty text."""
    options, right = sample.metadata.get(CHOICE), sample.metadata.get(ANSWER)
    if not isinstance(options, list) or not all(
        isinstance(option, str) for option in options
    ):
        return f"metadata {CHOICE!r} is no list of texts"
    return (
        ""
        if right in _letters(len(options))
        else f"metadata {ANSWER!r} is no letter of an option"
    )


@metric(
    range=(0, 1),
    version="2",
    source="MME-Unify, released scripts; MME-RealWorld for the reading of answers",
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

    An answer without a readable letter is wrong. ``reading: letter`` finds the letter
    in a sentence (:func:`letter_of`); ``released`` compares the words of the answer as
    the authors' script of the task does, to which ``script`` belongs. Evidence
    ``found``: the letter, None for none.
    """
    if fault := _fault(trial.sample):
        return Score.unscored(fault)
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    words, right = trial.output.words, trial.sample.metadata[ANSWER]
    if reading == "released":
        return Score(float(_released(words, right, script)))
    found = letter_of(words, trial.sample.metadata[CHOICE])
    return Score(float(found == right), evidence={"found": found})


def letter_of(answer: str, options: Sequence[str]) -> str | None:
    """The letter of the option that an answer chooses, by the first rule that finds
    one; None for none.

    1. the answer is a letter, in brackets or before one mark or not; one that no option
       has ends the search;
    2. the last capital behind a word such as "answer";
    3. the first capital in brackets, else the first that stands alone and is no
       article;
    4. the one option whose text the answer contains.

    >>> letter_of("The answer is (B), a barn.", ["A. a bridge", "B. a barn"])
    'B'
    """
    text = unicodedata.normalize("NFKC", _without_thinking(answer)).strip()
    letters = _letters(len(options))
    if whole := _WHOLE.fullmatch(text):
        letter = whole[whole.lastindex or 0].upper()
        return letter if letter in letters else None
    stated = [found[1] for found in _STATED.finditer(text) if found[1] in letters]
    if stated:
        return stated[-1]
    for pattern in (_BRACKETED, _ALONE):
        for found in pattern.finditer(text):
            if (letter := found[found.lastindex or 0]) in letters:
                return letter
    folded = text.casefold()
    texts = {
        letter: _option_text(option)
        for letter, option in zip(letters, options, strict=False)
    }
    contained = [
        letter for letter, option in texts.items() if option and option in folded
    ]
    return contained[0] if len(contained) == 1 else None


def _letters(count: int) -> tuple[str, ...]:
    return tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count])


def _without_thinking(answer: str) -> str:
    """What stands outside of thinking blocks. One whose end is not marked hides the
    rest, one whose beginning is not marked all before it."""
    kept: list[str] = []
    start, thinking = 0, False
    for mark in _THINKING.finditer(answer):
        if mark[1]:
            if not thinking:
                kept.clear()
            start, thinking = mark.end(), False
        elif not thinking:
            kept.append(answer[start : mark.start()])
            thinking = True
    return "".join(kept if thinking else [*kept, answer[start:]])


def _option_text(option: str) -> str:
    text = unicodedata.normalize("NFKC", option)
    found = _PREFIX.match(text)
    return (
        text[found.end() if found else 0 :]
        .casefold()
        .strip()
        .removesuffix(".")
        .removesuffix("。")
    )


def _released(words: str, right: str, script: Script) -> bool:
    """What the authors' scripts count as right: an equal text; in CSQ one that has the
    letter somewhere, so that "Answer: B" is right where A is; in SD one that is equal
    when stripped."""
    if script == "csq":
        return right in words
    return (words.strip() if script == "sd" else words) == right
