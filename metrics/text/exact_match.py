"""Exact match: checks if the answer's text equals a reference."""

from __future__ import annotations

import re
import string

from mmeval.metric import metric
from mmeval.metrics.sides import sides_of
from mmeval.metrics.text.extract import Extract, Regexes, extracted
from mmeval.metrics.text.normalisers import NO_PUNCTUATION
from mmeval.records import Score, Trial

_NO_DIGITS = str.maketrans("", "", string.digits)


@metric(
    range=(0, 1),
    version="1",
    source="the usual definition; switches as in lm-evaluation-harness",
)
def exact_match(
    trial: Trial,
    *,
    extract: Extract = "",
    regexes_to_ignore: Regexes = (),
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
    strip: bool = True,
) -> Score:
    """1 if the answer's text equals the text of any reference, else 0.

    Range 0 to 1, higher is better. Placeholders are compared as text. Hidden reasoning
    and the bytes of media are not compared. An empty answer equals an empty reference.
    The answer is unscored without references.

    Not measured: meaning. A right answer in other words is wrong.

    Switches, in the order in which they apply to both sides:

    - ``extract``: where to find the answer in a text. If nothing is found in the
      answer, the score is 0. If nothing is found in a reference, the whole reference is
      compared.

      - ``last_number``: the last number, without thousands separators and currencies. A
        decimal comma becomes a point.
      - ``boxed``: the content of the last ``\\boxed{...}``.
      - ``{after: "####"}``: the text after the last occurrence of this mark.
      - ``'answer is (\\w+)'``: the last match of a regular expression, or its first
        group.

    - ``regexes_to_ignore``: regular expressions. Their matches are deleted.
    - ``ignore_case``: ignore the case of letters.
    - ``ignore_punctuation``: delete ASCII punctuation.
    - ``ignore_numbers``: delete digits.
    - ``strip``: remove white space at both ends.

    Evidence: both sides in the compared form. ``answer`` is null if nothing was
    extracted.

    Example: ``mmeval try metric exact_match --answer "So it is 42." --target 42
    --params '{"extract": "last_number"}'`` gives 1.
    """
    sides = sides_of(trial)
    if isinstance(sides, Score):
        return sides

    def normalised(text: str) -> str:
        for pattern in regexes_to_ignore:
            text = re.sub(pattern, "", text)
        if ignore_case:
            text = text.casefold()
        if ignore_punctuation:
            text = text.translate(NO_PUNCTUATION)
        if ignore_numbers:
            text = text.translate(_NO_DIGITS)
        if strip:
            text = text.strip()
        return text

    answer = extracted(sides.answer.text, extract)
    if answer is not None:
        answer = normalised(answer)
    references: list[str] = []
    for reference in sides.references:
        target = extracted(reference.text, extract)
        references.append(normalised(reference.text if target is None else target))
    evidence = {"answer": answer, "references": references}
    return Score(float(answer in references), evidence=evidence)
