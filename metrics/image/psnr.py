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
    """The ratio of peak signal to noise, in decibels, of an answer's pictures.
    Each is compared with the reference's picture, in order; the mean over them.

    Range 0 to ``most``, higher is better. That of equal pictures is infinite, which has
    no mean: they count ``most``, and so does what is above it. An answer with fewer or
    more pictures than the reference, or with one that is damaged, is 0, with the
    reason as evidence, or with ``missing: dropped`` inapplicable. Only the first
    reference counts. Unscored without its picture, and where that cannot be decoded.

    Switches: ``size``: pictures of two sizes are wrong (``own``), or both get the
    lesser height and the lesser width (``smaller``, see ``image_similarity``).
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
    """Why two pictures cannot be compared pixel by pixel."""
    height, width = answer.shape[:2]
    rows, columns = reference.shape[:2]
    return (
        f"the answer's picture is {width} x {height}, the reference's {columns} x "
        f"{rows}"
    )
