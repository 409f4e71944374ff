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
"""Minimum number of finite patches from which a covariance is computed."""
NIQE_SOURCE = (
    'A. Mittal, R. Soundararajan, A. C. Bovik: Making a "Completely Blind" Image '
    "Quality Analyzer, 2013; its original "
    "pristine model, from mmagic 1.2.0"
)


class NiqeDistance(NamedTuple):
    """The NIQE of a picture, or None with fewer than two finite patches.

    ``patches`` is the number of finite patches, and ``of`` the number of all patches.
    """

    niqe: float | None
    patches: int
    of: int

    @property
    def fault(self) -> str:
        """The reason if there is no distance, or an empty string."""
        if self.of < FEWEST_PATCHES:
            return (
                f"the picture has {self.of} of the {FEWEST_PATCHES} patches of 96 x 96 "
                "pixels that NIQE needs"
            )
        return (
            f"{self.patches} of the {self.of} patches of 96 x 96 pixels are neither "
            f"flat nor one-sided, but NIQE needs at least {FEWEST_PATCHES}"
        )


@metric(
    range=(0, float("inf")),
    higher_is_better=False,
    version="1",
    source=NIQE_SOURCE,
    reference_free=True,
    caution="It measures the distance from undamaged photographs, not whether pictures "
    "show what was requested. Clean drawings are far from photographs too.",
    looks_at="image",
)
def niqe(trial: Trial) -> Score:
    """Mean NIQE of the answer's pictures: their distance from undamaged photographs.

    Range 0 upwards, lower is better: about 3 to 6 for photographs, 10 for blurred
    photographs, and above 20 for blocky photographs. Pictures are used as stored:
    transparency is dropped, grey is used for all channels, and the orientation (EXIF)
    is ignored. The brightness is cut into patches of 96 x 96 pixels. A remainder at the
    right or at the bottom is not used. Each patch yields 18 numbers in full size and 18
    in half size. The numbers describe the distribution of normalised brightness and of
    the products of neighbours. NIQE is the distance between the normal distribution of
    these numbers and that of undamaged photographs.

    NIQE ignores colours and content. Clean drawings, text and diagrams are far from
    photographs too. In large uniform areas, the signs of rounding errors affect the
    result slightly. Unscored if a picture has fewer than two finite patches (it is
    small, or mostly uniform), is missing, damaged, or above the limits of decoding.
    Inapplicable without a picture.

    Evidence: ``items`` has an entry for each picture with its ``label`` and ``niqe``,
    the number of finite ``patches``, and the number ``of`` all patches.
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
    """Scores a picture, and returns its entry for the evidence."""
    entry: dict[str, Any] = {LABEL: item.label, "niqe": None}
    if item.media is None:
        return {**entry, REASON: UNSEEN}
    try:
        distance = niqe_of(stored_rgb(item.media))
    except ContentError as error:
        item.media.read()  # raises if the file has changed since it was produced
        return {**entry, REASON: str(error)}
    entry |= distance._asdict()
    if distance.niqe is None:
        entry[REASON] = distance.fault
    return entry


def niqe_of(pixels: Pixels) -> NiqeDistance:
    """Computes the NIQE of a picture of shape (height, width, 3)."""
    import numpy

    patches = features(luma(cropped(pixels)))
    finite = patches[numpy.isfinite(patches).all(axis=1)]
    distance = None
    if len(finite) >= FEWEST_PATCHES:
        distance = distance_of(finite)
    return NiqeDistance(distance, len(finite), len(patches))


def distance_of(patches: Numbers) -> float:
    """Returns the distance of patches from the pristine patches.

    ``patches`` has the shape (patches, 36), with at least two patches. The covariance
    of the pristine patches is positive definite, so its mean with any other covariance
    is too. The published pseudo-inverse is therefore always the inverse.
    """
    import numpy

    model = pristine_model()
    difference = patches.mean(axis=0) - model.mean
    covariance = (numpy.cov(patches, rowvar=False) + model.covariance) / 2
    squared = difference @ numpy.linalg.solve(covariance, difference)
    return float(numpy.sqrt(max(0.0, squared)))
