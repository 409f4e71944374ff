"""The quality of pictures without a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mmeval.media import Media
from mmeval.media.decode import DEFAULT_LIMITS, within
from mmeval.metric import metric
from mmeval.metrics.image.pictures import resized, stored_rgb
from mmeval.metrics.image.quality.niqe import niqe_of
from mmeval.metrics.image.quality.released_quality import released_quality
from mmeval.metrics.quality.items import (
    ItemScore,
    Unreadable,
    in_released_digits,
    quality_of_media,
)
from mmeval.records import Score, Trial
from mmeval.system import AboveZero, ZeroOrMore

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels

SHORTEST_SIDE = 192
"""The shortest side, in pixels, of a picture that is not enlarged: two patches of
NIQE."""
WORST_NIQE = 10.0
"""The distance at which the quality becomes 0."""


@metric(
    range=(0, 1),
    version="2",
    source="UniM, section 4.1 and appendix C (NIQE); official: the released quality "
    "scorer of pictures",
    needs=lambda switches: ("cv2:ocr",) if switches["method"] == "released" else (),
    profiles={"official": {"method": "released", "unreadable": "unscored"}},
    reference_free=True,
    looks_at="image",
)
def image_quality(
    trial: Trial,
    *,
    method: Literal["niqe", "released"] = "niqe",
    worst: AboveZero = WORST_NIQE,
    short_side: ZeroOrMore = SHORTEST_SIDE,
    unreadable: Unreadable = "zero",
) -> Score:
    """The mean quality of an answer's pictures: how close to undamaged photographs.

    Range 0 to 1, higher is better. By default 1 - NIQE / ``worst``, limited to 0 and 1:
    see ``niqe``. A picture of any size and mode is used as it is stored: transparency
    is dropped, grey used for all three channels, and the orientation (EXIF) ignored.
    One whose shorter side is under ``short_side`` pixels is first enlarged to it
    (bicubic). One in which fewer than two patches are finite (blank, or rising evenly)
    is 0.

    A picture that is missing or damaged is 0, or has no quality where
    ``unreadable`` is ``unscored``; one above the limits of decoding, enlarged or not,
    has none. Inapplicable where the answer has no picture.

    With ``method: released`` (profile ``official``) the quality is that of the released
    script: 1 less a stand-in for BRISQUE over 100, rounded to four digits, which lies
    between .86 and .94 whatever the picture shows; none for a picture of one pixel a
    side, where the script fails.

    It ignores colours, content and whether the picture is what was asked for; drawings,
    text and diagrams count as bad photographs.

    Evidence: ``items``, of each picture its ``label`` and ``quality``, with ``niqe``,
    how many ``patches`` are finite ``of`` how many, and the flags ``enlarged`` and
    ``too_few_patches``; of the released script ``brisque`` and ``niqe`` (its stand-ins)
    and ``features_scale1`` and ``features_scale2``.
    """

    def measured(media: Media) -> ItemScore:
        if method == "released":
            found = released_quality(stored_rgb(media))
            if found is None:
                return ItemScore.none(
                    "the released script fails with a picture of one pixel a side"
                )
            return ItemScore(in_released_digits(found.score / 100), found.to_json())
        pixels = stored_rgb(media)
        height, width = enlarged_size(pixels, short_side)
        within(
            media,
            "max_pixels",
            DEFAULT_LIMITS.max_pixels,
            height * width,
            "pixels, once enlarged,",
        )
        near = niqe_of(resized(pixels, (height, width), "BICUBIC"))
        evidence = {
            **near._asdict(),
            "enlarged": (height, width) != pixels.shape[:2],
            "too_few_patches": near.niqe is None,
        }
        if near.niqe is None:
            return ItemScore(0.0, evidence, reason=near.fault)
        return ItemScore(quality_of(near.niqe, worst=worst), evidence)

    return quality_of_media(trial, "image", measured, unreadable=unreadable)


def quality_of(distance: float, *, worst: float = WORST_NIQE) -> float:
    """The quality of a picture of this NIQE."""
    return 1 - min(max(distance, 0.0), worst) / worst


def enlarged_size(pixels: Pixels, short_side: int) -> tuple[int, int]:
    """Height and width of a picture once no side is under ``short_side`` pixels."""
    height, width = pixels.shape[:2]
    shorter = min(height, width)
    if shorter >= short_side:
        return height, width
    longer = round(max(height, width) * short_side / shorter)
    if height == shorter:
        return short_side, longer
    return longer, short_side
