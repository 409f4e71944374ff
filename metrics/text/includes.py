"""Includes: checks if the answer's text contains a reference."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from typing import Any

from mmeval.metric import metric
from mmeval.metrics.sides import sides_of
from mmeval.records import Sample, Score, Trial

_UNDIVIDED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
)
"""Scripts that do not put spaces between words, or that add endings to names."""
_LETTER = rf"[^\W{_UNDIVIDED}]"


def _check(sample: Sample, switches: Mapping[str, Any]) -> str:  # noqa: ARG001
    if sample.references and not _reference_texts(sample):
        return "every reference is empty, and every answer contains an empty text"
    return ""


@metric(
    range=(0, 1),
    version="1",
    source="the usual definition, by whole words",
    check=_check,
)
def includes(
    trial: Trial, *, ignore_case: bool = True, whole_words: bool = True
) -> Score:
    """1 if the answer's text contains the text of any reference, else 0.

    Range 0 to 1, higher is better. Any white space counts as one space, placeholders
    are text, and hidden reasoning is left out. The answer is unscored without
    references, or if all of them are empty. An answer that names several possibilities,
    or rejects the reference, also contains the reference and scores 1. Use ``choice``
    or ``exact_match`` for such questions.

    Switches:

    - ``ignore_case``: ignore the case of letters.
    - ``whole_words``: a reference does not match inside a longer word or number, so
      ``ash`` is not in ``ashes``, nor ``3`` in ``3.5``.

    Evidence: the references that are ``included``.

    Example: ``mmeval try metric includes --answer "I think it is an ash." --target
    ash`` gives 1.
    """
    sides = sides_of(trial)
    if isinstance(sides, Score):
        return sides
    references = _reference_texts(trial.sample)
    if not references:
        return Score.unscored(_check(trial.sample, {}))

    def normalised(text: str) -> str:
        text = " ".join(text.split())
        return text.casefold() if ignore_case else text

    is_in = contains if whole_words else operator.contains
    answer = normalised(sides.answer.text)
    included = [text for text in references if is_in(answer, normalised(text))]
    return Score(float(bool(included)), evidence={"included": included})


def _reference_texts(sample: Sample) -> list[str]:
    texts = [reference.text for reference in sample.references]
    return [text for text in texts if text.strip()]


def contains(text: str, words: str) -> bool:
    """Returns True if a text contains these words as whole words.

    >>> contains("the capital of France is Paris.", "Paris")
    True
    >>> contains("3.5 ashes", "ash"), contains("3.5 ashes", "3")
    (False, False)
    """
    before = after = ""
    if re.match(_LETTER, words[0]):
        before = rf"(?<!{_LETTER})"
    if re.match(_LETTER, words[-1]):
        after = rf"(?!{_LETTER})"
    # "-3", "1.3" and "3.5" are different numbers from "3".
    if words[0].isdigit():
        before += r"(?<!\d[.,])(?<!(?<![\w)])[-−])"
    if words[-1].isdigit():
        after += r"(?![.,]\d)"
    return re.search(f"{before}{re.escape(words)}{after}", text) is not None
