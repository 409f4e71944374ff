"""Quality of pictures without a reference."""

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
"""A picture whose shorter side has fewer pixels than this is enlarged. The number is
the side of two patches of NIQE."""
WORST_NIQE = 10.0
"""The lowest NIQE for which the quality is 0."""


@metric(
    range=(0, 1),
    version="2",
    source="UniM, section 4.1 and appendix C (NIQE); official: the released quality "
    "scorer of pictures",
    needs=lambda switches: ("cv2:ocr",) if switches["method"] == "released" else (),
    profiles={"official": {"method": "released", "unreadable": "unscored"}},
    reference_free=True,
    caution="It measures how close pictures are to undamaged photographs, not whether "
    "they show what was requested. With NIQE, a clean drawing in few colours scores 0, "
    "so noise can score higher than a right drawing.",
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
    """Mean quality of the answer's pictures: how close to undamaged photographs.

    Range 0 to 1, higher is better: 1 - NIQE / ``worst``, limited to 0..1 (see
    ``niqe``). Natural pictures have a NIQE of about 3 to 6, strongly blurred pictures
    of 10, and blocky pictures of more than 20. Pictures are used as stored:
    transparency is dropped, grey is used for all channels, and the orientation (EXIF)
    is ignored. A picture scores 0 if it is missing or damaged, or has fewer than two
    patches that are not flat. A picture above the limits of decoding leaves the answer
    unscored. Inapplicable without a picture.

    The metric ignores colours, content, and whether the picture is what was requested.
    Drawings, diagrams and screenshots count as bad photographs. Half a pixel of blur or
    a light JPEG compression does not lower the score, since NIQE ranks visible damage.

    Switches:

    - ``method``: ``niqe``, or ``released`` for the released script's stand-in, by
      OpenCV (extra ``ocr``). The latter is 1 minus a stand-in for BRISQUE divided by
      100, rounded to four digits. The result is between 0.86 and 0.94 for any picture.
    - ``worst``: the lowest NIQE for which the quality is 0.
    - ``short_side``: a picture with a shorter side is enlarged to this number of pixels
      (bicubic). The enlarging affects the score too.
    - ``unreadable``: a missing or damaged file scores 0 (``zero``) or has no quality
      (``unscored``).

    Evidence: ``items`` has an entry for each picture, with its ``label``, ``quality``
    and ``niqe``, the number of finite ``patches``, the number ``of`` all patches, and
    the flags ``enlarged`` and ``too_few_patches``. With ``released`` an entry contains
    ``brisque`` and ``niqe`` (the stand-ins), ``features_scale1`` and
    ``features_scale2``.

    Example: a picture with a NIQE of 4 scores 1 - 4 / 10 = 0.6.
    """

    def item_score(media: Media) -> ItemScore:
        if method == "released":
            released = released_quality(stored_rgb(media))
            if released is None:
                return ItemScore.none(
                    "the released script cannot score a picture with a side of 1 pixel"
                )
            return ItemScore(
                in_released_digits(released.score / 100), released.to_json()
            )
        pixels = stored_rgb(media)
        height, width = enlarged_size(pixels, short_side)
        within(
            media,
            "max_pixels",
            DEFAULT_LIMITS.max_pixels,
            height * width,
            "pixels, once enlarged,",
        )
        distance = niqe_of(resized(pixels, (height, width), "BICUBIC"))
        evidence = {
            **distance._asdict(),
            "enlarged": (height, width) != pixels.shape[:2],
            "too_few_patches": distance.niqe is None,
        }
        if distance.niqe is None:
            return ItemScore(0.0, evidence, reason=distance.fault)
        return ItemScore(quality_of(distance.niqe, worst=worst), evidence)

    return quality_of_media(trial, "image", item_score, unreadable=unreadable)


def quality_of(distance: float, *, worst: float = WORST_NIQE) -> float:
    """Converts the NIQE ``distance`` to a quality from 0 to 1."""
    return 1 - min(max(distance, 0.0), worst) / worst


def enlarged_size(pixels: Pixels, short_side: int) -> tuple[int, int]:
    """Returns a picture's height and width, enlarged to ``short_side`` if needed."""
    height, width = pixels.shape[:2]
    shorter = min(height, width)
    if shorter >= short_side:
        return height, width
    longer = round(max(height, width) * short_side / shorter)
    if height == shorter:
        return short_side, longer
    return longer, short_side
