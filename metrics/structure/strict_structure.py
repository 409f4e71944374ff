"""Strict structure score: compares the numbers of items of each modality."""

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
    """Mean F1 between the item counts of answer and reference, over all modalities.

    The F1 of a modality with the counts ``a`` and ``b`` is
    ``2 * min(a, b) / (a + b)``.

    Range 0 to 1, higher is better. The score is 1 if every modality occurs exactly as
    often as in the reference. A modality on only one side contributes 0. Text and
    hidden reasoning are not counted, and order and index numbers do not matter. The
    first reference is the target. An answer without items scores 0 if the reference has
    items. The answer is unscored if neither side contains an item.

    Not measured: content. A wrong picture counts as a picture.

    Switches:

    - ``mode``: ``occurrences`` counts every tag, ``unique`` counts distinct tags once.
      ``unique_no_echo`` also ignores tags of the answer that are in the input.
    - ``count``: ``tags`` counts placeholders in the text, ``files`` counts media and
      code that are present, and ``parts`` counts both. Use ``files`` for a model that
      returns media without writing tags. Scores by different units are not comparable.
      UniM counts tags.
    - ``spelling``: the spelling of placeholders, or a list of spellings.

    Evidence: the counts of both sides, and the exact fraction.

    Example: ``mmeval try metric strict_structure --answer "<<image1>>" --target
    "<<image1>> <<audio1>>"`` gives 0.5.
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
    """Returns the mean of ``2 * min(g, r) / (g + r)`` over all modalities.

    The result is None if there is no modality.

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
        # The closed form of 2PR / (P + R). It is 0 if precision and recall are both 0.
        # The paper does not define this case.
        total += Fraction(2 * min(expected, actual), expected + actual)
    return total / len(kinds)
