"""Exact match: is the answer's text one of the references?"""

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
    """1 when the answer's text equals the text of any reference, else 0.

    Range 0 to 1, higher is better. Texts are compared as written, placeholders included
    and hidden reasoning left out; the bytes of media are not compared. An empty answer
    matches an empty reference. Unscored without references.

    Switches, in the order in which they apply to both sides: ``extract`` finds the
    answer in a text (``last_number``, ``boxed``, ``{after: MARK}`` or a regular
    expression). An answer in which it finds nothing scores 0; a reference in which it
    finds nothing is compared whole. ``regexes_to_ignore`` are deleted, ``ignore_case``
    folds letters, ``ignore_punctuation`` deletes ASCII punctuation, ``ignore_numbers``
    digits, ``strip`` (on by default) drops white space at both ends. Evidence: both
    sides as they were compared; ``answer`` is null where nothing was extracted.
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
        wanted = extracted(reference.text, extract)
        references.append(normalised(reference.text if wanted is None else wanted))
    evidence = {"answer": answer, "references": references}
    return Score(float(answer in references), evidence=evidence)
