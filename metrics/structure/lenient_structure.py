"""Lenient structure score: checks if the answer contains the reference's modalities."""

from __future__ import annotations

from fractions import Fraction

from mmeval.media import SpellingName
from mmeval.metric import metric
from mmeval.metrics.structure.counting import Mode, Structures, Unit, structures_of
from mmeval.records import Score, Trial


@metric(range=(0, 1), version="1", source="UniM, section 4.2 (LeS)")
def lenient_structure(
    trial: Trial,
    *,
    mode: Mode = "occurrences",
    count: Unit = "tags",
    spelling: SpellingName | list[SpellingName] = "tag",
) -> Score:
    """The share of the reference's modalities that occur in the answer, in any number.

    Range 0 to 1, higher is better. The score is 1 when no modality is missing.
    Additional modalities in the answer do not matter. Text and hidden reasoning are not
    counted. The first reference is the target. An answer without any modality scores 0.
    The answer is unscored when the reference has no modality.

    Not measured: content. A wrong picture counts as a picture.

    Switches: ``mode``, ``count`` and ``spelling`` are the same as in
    ``strict_structure``. Only the mode ``unique_no_echo`` can change this score.

    Evidence: the counts of both sides, and the exact fraction.

    Example: ``mmeval try metric lenient_structure --answer "<<image1>> <<image2>>"
    --target "<<image1>>"`` gives 1.
    """
    structures = structures_of(trial, mode=mode, unit=count, spelling=spelling)
    if isinstance(structures, Score):
        return structures
    value = lenient_fraction(structures)
    if value is None:
        return Score.unscored(
            "undefined: the reference has no modality", **structures.evidence()
        )
    return Score(float(value), evidence=structures.evidence(value))


def lenient_fraction(structures: Structures) -> Fraction | None:
    """Returns the share of the reference's modalities that the answer contains.

    The result is None if the reference has no modality.

    >>> lenient_fraction(Structures({"image": 3, "audio": 1}, {"image": 1, "video": 1}))
    Fraction(1, 2)
    """
    if not structures.reference:
        return None
    shared = structures.reference.keys() & structures.answer.keys()
    return Fraction(len(shared), len(structures.reference))
