"""Word error rate of an answer, compared with a reference transcript."""

from __future__ import annotations

from math import inf
from typing import Literal

from mmeval.metric import metric
from mmeval.metrics.sides import sides_of
from mmeval.metrics.text.normalisers import NO_PUNCTUATION
from mmeval.records import Score, Trial

Normaliser = Literal["basic", "none"]


@metric(
    range=(0, inf),
    higher_is_better=False,
    version="2",
    source="the usual definition, computed by jiwer",
)
def wer(trial: Trial, *, normalise: Normaliser = "basic") -> Score:
    """The word error rate: substitutions, deletions and insertions per reference word.

    Range 0 to infinity, lower is better. A perfect transcript scores 0, an empty
    transcript scores 1, and insertions can raise the rate above 1. The answer's text
    parts are compared, without placeholders, code and hidden reasoning. A medium
    between two words separates them. If there are several references, the nearest one
    is used. The answer is unscored if every reference is empty after normalising.

    Not measured: meaning. A synonym is an error.

    Switches:

    - ``normalise``: ``basic`` (lowercase, no ASCII punctuation, single spaces) or
      ``none`` (words are separated by white space).

    Evidence: the number of each kind of error, and both sides in the compared form.

    Example: ``mmeval try metric wer --answer "the old men sat" --target "the old
    man sat"`` gives 0.25.
    """
    sides = sides_of(trial)
    if isinstance(sides, Score):
        return sides

    def clean(text: str) -> str:
        if normalise == "basic":
            text = text.casefold().translate(NO_PUNCTUATION)
        return " ".join(text.split())

    answer = clean(sides.answer.words)
    texts = [clean(reference.words) for reference in sides.references]
    scores = [_score(answer, text) for text in texts if text]
    if not scores:
        return Score.unscored("undefined: the reference has no words")
    return min(scores, key=lambda score: score.value or 0.0)


def _score(answer: str, reference: str) -> Score:
    import jiwer

    result = jiwer.process_words(reference, answer)
    counts = {
        "substitutions": result.substitutions,
        "deletions": result.deletions,
        "insertions": result.insertions,
    }
    evidence = {**counts, "answer": answer, "reference": reference}
    return Score(float(result.wer), evidence=evidence)
