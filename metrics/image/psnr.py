"""Peak signal-to-noise ratio of pictures (PSNR)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmeval.metric import metric
from mmeval.metrics.image.pictures import compared
from mmeval.metrics.image.similarity import likeness
from mmeval.metrics.image.smaller import Size
from mmeval.metrics.produced import Missing, counted, wrong
from mmeval.records import Score, Trial

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels

MOST = 100.0


@metric(
    range=lambda _, switches: (0.0, switches["most"]),
    version="2",
    source="the usual definition; MME-Unify, fine-grained image reconstruction",
)
def psnr(
    trial: Trial, *, size: Size = "own", most: float = MOST, missing: Missing = "zero"
) -> Score:
    """Peak signal-to-noise ratio of the answer's and reference's pictures, in decibels.

    It is ``10 * log10(255**2 / m)``, with the mean squared error ``m`` of the bytes.

    Range 0 to ``most``, higher is better. Pictures are compared in order, and the value
    is the mean over pairs. A ratio above ``most`` counts as ``most``, including the
    infinite ratio of equal pictures. An answer with another number of pictures, or with
    a damaged picture, scores 0, with the ``reason`` as evidence. Only the first
    reference is used. Unscored if it has no picture, or if one cannot be decoded.

    Not measured: meaning. A shifted or rotated picture of the same thing differs.

    Switches:

    - ``size``: two pictures of different sizes are wrong (``own``), or both are resized
      to the smaller height and width (``smaller``), as in ``image_similarity``.
    - ``most``: the value for equal pictures, in decibels.
    - ``missing``: an answer without the right pictures scores 0 (``zero``) or is
      inapplicable (``dropped``).

    Evidence: the value of each pair.
    """

    def decibels(answer: Pixels, reference: Pixels) -> float | Score:
        if size == "own" and answer.shape != reference.shape:
            return wrong(other_size(answer, reference))
        return likeness(
            answer,
            reference,
            measure="psnr",
            sizes="smaller",
            window=None,
            most=most,
            smallest=1,
        )

    return counted(compared(trial, "psnr", decibels, smallest=1), missing)


def other_size(answer: Pixels, reference: Pixels) -> str:
    """Returns why two pictures cannot be compared pixel by pixel."""
    height, width = answer.shape[:2]
    rows, columns = reference.shape[:2]
    return (
        f"the answer's picture is {width} x {height}, the reference's is {columns} x "
        f"{rows}"
    )
