"""Strict structure score: the reference's modalities in the same numbers?"""

from __future__ import annotations

from fractions import Fraction

from mmeval.media import SpellingName
from mmeval.metric import metric
from mmeval.metrics.structure.counting import Mode, Structures, Unit, structures_of
from mmeval.records import Score, Trial


@metric(range=(0, 1), version="1", source="UniM, section 4.2 (StS)")
def strict_structure(
    trial: Trial,
    *,
    mode: Mode = "occurrences",
    count: Unit = "tags",
    spelling: SpellingName | list[SpellingName] = "tag",
) -> Score:
    """Mean F1 over modalities of the numbers of items, between answer and reference.

    Range 0 to 1, higher is better. It is 1 when every modality occurs exactly as often
    as in the reference. A modality that only one side has contributes 0. Text and
    hidden reasoning are not counted; order and index numbers do not matter. The first
    reference is the target. An answer without items, against a reference with some, is
    0. Unscored when neither side has an item.

    Switches:

    - ``mode``: ``occurrences`` counts every tag, ``unique`` each distinct tag once.
      ``unique_no_echo`` also ignores tags of the answer that are in the input.
    - ``count``: ``tags`` counts placeholders in the text, ``files`` media and code that
      are present, ``parts`` both. Use ``files`` for a model that returns media without
      writing tags. Scores by different units are not comparable; UniM's are by tags.
    - ``spelling``: the spelling of placeholders, or a list of spellings.

    Evidence: the counts of both sides, and the exact fraction.
    """
    structures = structures_of(trial, mode=mode, unit=count, spelling=spelling)
    if isinstance(structures, Score):
        return structures
    value = strict_fraction(structures)
    if value is None:
        return Score.unscored(
            "undefined: neither the reference nor the answer has a modality",
            **structures.evidence(),
        )
    return Score(float(value), evidence=structures.evidence(value))


def strict_fraction(structures: Structures) -> Fraction | None:
    """Returns the mean of ``2 * min(g, r) / (g + r)`` over all modalities; None without
    any.

    >>> strict_fraction(Structures({"image": 3, "audio": 1}, {"image": 1, "audio": 1}))
    Fraction(3, 4)
    """
    kinds = structures.reference.keys() | structures.answer.keys()
    if not kinds:
        return None
    total = Fraction()
    for kind in kinds:
        expected = structures.reference.get(kind, 0)
        actual = structures.answer.get(kind, 0)
        # The closed form of 2PR / (P + R); it is 0 where precision and recall both are,
        # which the paper leaves open.
        total += Fraction(2 * min(expected, actual), expected + actual)
    return total / len(kinds)
