"""Exact match: is the answer's text one of the references?"""

from __future__ import annotations

from mmeval.metric import metric
from mmeval.metrics.sides import sides_of
from mmeval.metrics.text.normalisers import NO_PUNCTUATION
from mmeval.records import Score, Trial


@metric(
    range=(0, 1),
    version="1",
    source="the usual definition; switches as in lm-evaluation-harness",
)
def exact_match(
    trial: Trial,
    *,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    strip: bool = True,
) -> Score:
    """1 when the answer's text equals the text of any reference, else 0.

    Range 0 to 1, higher is better. Texts are compared as written, placeholders included
    and hidden reasoning left out; the bytes of media are not compared. An empty answer
    matches an empty reference. Unscored without references.

    Switches: ``ignore_case`` folds letters, ``ignore_punctuation`` deletes ASCII
    punctuation, ``strip`` (on by default) drops white space at both ends. Evidence:
    both sides as they were compared.
    """
    sides = sides_of(trial)
    if isinstance(sides, Score):
        return sides

    def normalised(text: str) -> str:
        text = text.translate(NO_PUNCTUATION) if ignore_punctuation else text
        text = text.casefold() if ignore_case else text
        return text.strip() if strip else text

    answer = normalised(sides.answer.text)
    references = [normalised(reference.text) for reference in sides.references]
    return Score(
        float(answer in references),
        evidence={"answer": answer, "references": references},
    )
