"""NIQE: the distance of a picture from undamaged photographs, without a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.errors import ContentError
from mmeval.metric import metric
from mmeval.metrics.image.pictures import stored_rgb
from mmeval.metrics.image.quality.pristine import pristine_model
from mmeval.metrics.image.quality.scene_statistics import cropped, features, luma
from mmeval.metrics.quality.items import (
    ITEMS,
    LABEL,
    REASON,
    UNSEEN,
    AnswerItem,
    items_of,
    nothing_of,
)
from mmeval.records import Score, Trial

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels
    from mmeval.metrics.image.quality.aggd import Numbers

FEWEST_PATCHES = 2
"""The fewest finite patches for a covariance."""
NIQE_SOURCE = (
    'A. Mittal, R. Soundararajan, A. C. Bovik: Making a "Completely Blind" Image '
    "Quality Analyzer, 2013; its original "
    "pristine model, from mmagic 1.2.0"
)


class NiqeDistance(NamedTuple):
    """NIQE, or None below two finite patches. ``patches`` ``of`` all are finite."""

    niqe: float | None
    patches: int
    of: int

    @property
    def fault(self) -> str:
        """Why there is no distance; empty if there is one."""
        if self.of < FEWEST_PATCHES:
            return (
                f"it has {self.of} of the {FEWEST_PATCHES} patches of 96 x 96 pixels "
                "that NIQE needs"
            )
        return (
            f"{self.patches} of its {self.of} patches of 96 x 96 pixels are neither "
            f"flat nor one-sided; NIQE needs {FEWEST_PATCHES} or more"
        )


@metric(
    range=(0, float("inf")),
    higher_is_better=False,
    version="1",
    source=NIQE_SOURCE,
    reference_free=True,
    looks_at="image",
)
def niqe(trial: Trial) -> Score:
    """Mean NIQE of the answer's pictures: their distance from undamaged photographs.

    Range 0 upwards, lower is better: about 3 to 6 for photographs, 10 for blurred and
    above 20 for blocky ones. Pictures are used as stored: transparency is dropped, grey
    is used for all channels, and the orientation (EXIF) is ignored. The brightness is
    cut into patches of 96 x 96 pixels, without a remainder at the right and the bottom.
    Each patch gives 18 numbers in full and in half size, which describe the
    distribution of normalised brightness and of the products of neighbours. NIQE is the
    distance between the normal distribution of these numbers and that of undamaged
    photographs.

    It ignores colours and content. Clean drawings, text and diagrams are far from
    photographs too. In wide flat areas the sign of rounding errors has a small effect.
    Unscored if a picture has fewer than two finite patches (it is small, or mostly
    uniform), is missing, damaged, or above the limits of decoding. Inapplicable without
    a picture.

    Evidence: ``items``, for each picture its ``label``, ``niqe``, and how many
    ``patches`` are finite ``of`` how many.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    items = items_of(trial.output, "image")
    if not items:
        return nothing_of("image")
    entries = list(map(_evidence_of, items))
    values: list[float] = []
    reasons: list[str] = []
    for entry in entries:
        if entry["niqe"] is None:
            reasons.append(f"{entry[LABEL]}: {entry[REASON]}")
        else:
            values.append(entry["niqe"])
    evidence = {ITEMS: entries}
    if reasons:
        reason = "; ".join(reasons)
        return Score(status="unscored", reason=reason, evidence=evidence)
    return Score(sum(values) / len(values), evidence=evidence)


def _evidence_of(item: AnswerItem) -> dict[str, Any]:
    """Returns a picture as an entry of the evidence."""
    entry: dict[str, Any] = {LABEL: item.label, "niqe": None}
    if item.media is None:
        return {**entry, REASON: UNSEEN}
    try:
        distance = niqe_of(stored_rgb(item.media))
    except ContentError as error:
        item.media.read()  # raises if the file differs from the one that was produced
        return {**entry, REASON: str(error)}
    entry |= distance._asdict()
    if distance.niqe is None:
        entry[REASON] = distance.fault
    return entry


def niqe_of(pixels: Pixels) -> NiqeDistance:
    """Returns the NIQE of a picture, of shape (height, width, 3)."""
    import numpy

    patches = features(luma(cropped(pixels)))
    finite = patches[numpy.isfinite(patches).all(axis=1)]
    distance = None
    if len(finite) >= FEWEST_PATCHES:
        distance = distance_of(finite)
    return NiqeDistance(distance, len(finite), len(patches))


def distance_of(patches: Numbers) -> float:
    """The distance of two or more patches, (patches, 36), from the pristine ones.

    The covariance of the pristine ones is positive definite, and so is its mean with
    any other. So the published pseudo-inverse is always the inverse.
    """
    import numpy

    model = pristine_model()
    difference = patches.mean(axis=0) - model.mean
    covariance = (numpy.cov(patches, rowvar=False) + model.covariance) / 2
    squared = difference @ numpy.linalg.solve(covariance, difference)
    return float(numpy.sqrt(max(0.0, squared)))
