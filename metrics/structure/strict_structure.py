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
    """The mean F1, by modality, between the numbers of items of reference and answer.

    Range 0 to 1, higher is better; 1 when every modality occurs exactly as often as in
    the reference. A modality that only one side has contributes 0. Text is not a
    modality here, index numbers and order do not matter, and hidden reasoning is
    ignored. The first reference is the target. Unscored when neither side has an item,
    because then there is nothing to average; an answer without items against a
    reference with some is 0.

    Switches: ``mode`` is ``occurrences`` (each tag counts), ``unique`` (each distinct
    tag once) or ``unique_no_echo`` (also, tags of the input do not count in the
    answer); ``count`` is ``tags`` (placeholders in the text), ``files`` (media and code
    that are present) or ``parts`` (both); ``spelling`` names the placeholder spelling,
    or a list of them. Evidence: the counts and the exact fraction.
    """
    found = structures_of(trial, mode=mode, unit=count, spelling=spelling)
    if isinstance(found, Score):
        return found
    value = strict_fraction(found)
    if value is None:
        return Score.unscored(
            "undefined: neither the reference nor the answer has a modality",
            **found.evidence(),
        )
    return Score(float(value), evidence=found.evidence(value))


def strict_fraction(found: Structures) -> Fraction | None:
    """The mean of ``2 * min(g, r) / (g + r)`` over all modalities; None without any.

    >>> strict_fraction(Structures({"image": 3, "audio": 1}, {"image": 1, "audio": 1}))
    Fraction(3, 4)
    """
    kinds = found.reference.keys() | found.answer.keys()
    if not kinds:
        return None
    total = Fraction()
    for kind in kinds:
        wanted = found.reference.get(kind, 0)
        given = found.answer.get(kind, 0)
        # The closed form of 2PR / (P + R); it is 0 where precision and recall both are,
        # which the paper leaves open.
        total += Fraction(2 * min(wanted, given), wanted + given)
    return total / len(kinds)
