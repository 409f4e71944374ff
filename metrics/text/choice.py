"""Choice: checks if the answer names the right option of a multiple-choice question."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from mmeval.metric import metric
from mmeval.metrics.text.choices.reader import (
    Options,
    choice_score,
    find_choice,
    named_option,
)
from mmeval.records import Sample, Score, Trial


@metric(
    range=(0, 1),
    version="3",
    source="our own reading of free answers, rule by rule in its documentation",
)
def choice(
    trial: Trial, *, options_key: str = "options", answer_key: str = "answer"
) -> Score:
    """1 if the answer names the right option and no other, else 0.

    Range 0 to 1, higher is better. An answer that names no option, or several, is
    wrong. The results report the number of such answers. The trial is unscored if no
    option is the right answer.

    The answer is read by the first of these rules that finds an option:

    1. ``json``, ``tag``, ``box``: the answer of a JSON object (``{"answer": "B"}``), of
       a tag such as ``<answer>``, or of TeX's ``\\boxed``.
    2. ``whole``: the answer is a letter or an option's text, in any brackets, quotes
       and marks. If the letter is not an option, the search ends.
    3. ``last line``: like ``whole``, for the last line.
    4. ``stated``: the last statement (``Answer: B``, ``B is correct``, ``I choose B``),
       in 17 languages.
    5. ``first line``: like ``whole``, for the first line.
    6. ``option``: the last ``option B``.
    7. ``line``: the start of a line before a mark (``B. because``).
    8. ``brackets``, ``letter``: a capital in brackets, or else a single capital that is
       neither an article nor a pronoun.
    9. ``text``: the text of an option as whole words. A longer text hides a shorter
       text that is inside it.

    Thinking blocks and markup are removed first. A rejected option (``not A but B``)
    does not count. Options that are listed together (``B or C``) are several options.
    If two letters are not listed together, the first is the choice.

    Not measured: the reason for the choice.

    Labels, for example: ``{"options": ["a cat", "a dog"], "answer": "B"}``.

    Switches:

    - ``options_key``: the label with the options, a list of texts (lettered from A) or
      a mapping from letters to texts. Without this label any letter can be named.
    - ``answer_key``: the label with the right option: a letter, a number from 0, or an
      option's text. Without this label the text of the first reference is the right
      option.

    Evidence: the letter ``found``, the ``right`` letter, and the ``rule``.

    Example: ``mmeval try metric choice --answer "The answer is B." --metadata
    '{"options": ["a cat", "a dog"], "answer": "B"}'`` gives 1.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    options = _options(trial.sample.metadata.get(options_key))
    if options is None:
        return Score.unscored(
            f"the row's label {options_key!r} is neither a list of at most 26 options "
            "nor a mapping from letters to texts"
        )
    right = _right_letter(trial.sample, answer_key, options)
    if right is None:
        return Score.unscored(
            f"no option is the right answer: set the row's label {answer_key!r} or a "
            "reference to one of the options"
        )
    option = find_choice(trial.output.text, options)
    return choice_score(option, right, {"right": right, "rule": option.rule})


def _options(label: Any) -> Options | None:
    if label is None:
        return dict.fromkeys(string.ascii_uppercase, "")
    if isinstance(label, Mapping):
        return {str(letter).upper(): str(text) for letter, text in label.items()}
    if isinstance(label, (list, tuple)) and len(label) <= len(string.ascii_uppercase):
        return dict(zip(string.ascii_uppercase, map(str, label), strict=False))
    return None


def _right_letter(
    sample: Sample,
    answer_key: str,
    options: Options,
) -> str | None:
    label = sample.metadata.get(answer_key)
    if label is None and sample.references:
        label = sample.references[0].text
    if isinstance(label, int) and not isinstance(label, bool):
        if not 0 <= label < len(options):
            return None
        return list(options)[label]
    return named_option(str(label or ""), options)
