"""Edited pictures: the box that should change, and how well other areas are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mmeval.metric import metric
from mmeval.metrics.image.pictures import (
    data_pixels,
    input_picture,
    picture,
    reference_picture,
    resized,
    the_only,
)
from mmeval.metrics.image.ssim import SMALLEST, ssim_of
from mmeval.records import Sample, Score, Trial
from mmeval.system import OneOrMore

if TYPE_CHECKING:
    from PIL.Image import Image

    from mmeval.metrics.image.pictures import Pixels

Against = Literal["input", "reference"]
"""The picture with which the edited picture is compared: the original or the target."""

Region = Literal["whole", "bbox"]
"""The compared region: the full picture, or the padded box of an edited picture."""

FILTER = "BICUBIC"
"""The filter that resizes an edited picture to the size of the other picture."""


class PixelBox(NamedTuple):
    """A rectangle in pixels. ``right`` and ``bottom`` are exclusive."""

    left: int
    top: int
    right: int
    bottom: int


@metric(
    range=(-1, 1),
    version="2",
    source="MMMG, image editing (outside the edited region); official: image "
    "evaluators 6c7142e8",
    check=lambda sample, switches: box_fault(
        sample.metadata.get(switches["bbox_key"]), switches["bbox_key"]
    ),
)
def edit_outside_ssim(
    trial: Trial,
    *,
    against: Against = "input",
    bbox_key: str = "bbox",
    margin: OneOrMore = 10,
) -> Score:
    """SSIM of the edited picture and the original, outside the box that should change.

    Range -1 to 1, higher is better: 1 if no pixel differs. The box is painted black in
    both pictures, so it counts as perfect agreement. The answer's picture is first
    resized to the size of the other picture (bicubic). An answer scores 0, with the
    ``reason`` as evidence, unless it has exactly one picture that can be decoded.
    Unscored if the sample lacks the picture or a usable box.

    Not measured: the edit itself. A picture without any edit scores 1.

    Labels, for example: ``{"bbox": [40, 6, 60, 26]}``.

    Switches:

    - ``against``: the first picture of the ``input``, or of the ``reference``.
    - ``bbox_key``: the label with the box ``[left, top, right, bottom]``, in pixels of
      that picture.
    - ``margin``: the box is widened on each side by the picture's width or height
      divided by this number, and cut at the picture's edges.

    Evidence: ``ssim`` and ``padded_box``.
    """
    edit = edit_of(trial, against=against, bbox_key=bbox_key, margin=margin)
    if isinstance(edit, Score):
        return edit
    edited = blackened(edit.edited, edit.box)
    original = blackened(edit.original, edit.box)
    value = ssim_of(edited, original)
    return Score(value, evidence={"ssim": value, "padded_box": list(edit.box)})


class Edit(NamedTuple):
    """An edited picture, resized to the original's size, the original, and the box."""

    edited: Pixels
    original: Pixels
    box: PixelBox


def edit_of(
    trial: Trial,
    *,
    against: Against = "input",
    bbox_key: str = "bbox",
    margin: int = 10,
) -> Edit | Score:
    """Returns the edit in a trial, or the trial's score if there is none.

    The score is 0 if the answer is at fault, and unscored otherwise. The arguments are
    the switches of ``edit_outside_ssim``.
    """
    original = other_picture(trial.sample, against)
    if isinstance(original, Score):
        return original
    height, width = original.shape[:2]
    if min(height, width) < SMALLEST:
        return Score.unscored(
            f"the {against} picture is {width} x {height}, but each side must have at "
            f"least {SMALLEST} pixels"
        )
    label = trial.sample.metadata.get(bbox_key)
    fault = box_fault(label, bbox_key)
    if fault:
        return Score.unscored(fault)
    box = padded_box(label, (width, height), margin)
    if box.left >= box.right or box.top >= box.bottom:
        return Score.unscored(
            f"the box {label} in the label {bbox_key!r} is outside the picture, which "
            f"is {width} x {height}"
        )
    edited = the_only(trial)
    if isinstance(edited, Score):
        return edited
    return Edit(resized(edited, (height, width), FILTER), original, box)


def padded_box(
    bbox: Any,
    size: tuple[int, int],
    margin: int = 10,
) -> PixelBox:
    """Widens a box on each side, and cuts it at the edges of a picture.

    ``size`` is the picture's width and height. Each side of the box moves outwards by
    the width or height divided by ``margin``, rounded down.

    >>> padded_box([-1, 30, 90, 80], (150, 120))
    PixelBox(left=0, top=18, right=105, bottom=92)
    """
    (left, top, right, bottom), (width, height) = map(int, bbox), size
    across, down = width // margin, height // margin
    return PixelBox(
        max(0, left - across),
        max(0, top - down),
        min(width, right + across),
        min(height, bottom + down),
    )


def box_fault(label: Any, key: str) -> str:
    """Returns why a label is not a box, or an empty string if it is.

    A box may begin outside the picture.
    """
    form = (
        f"the row's label {key!r} must be a box [left, top, right, bottom] of whole "
        "numbers"
    )
    fault = f"{form}, not {label!r:.80}"
    if not isinstance(label, (list, tuple)) or len(label) != 4:
        return fault
    for edge in label:
        if isinstance(edge, bool) or not isinstance(edge, (int, float)):
            return fault
        if not abs(edge) < _MAX_EDGE or edge != int(edge):
            return fault
    if label[0] >= label[2] or label[1] >= label[3]:
        return (
            f"the box {label} in the label {key!r} is empty. Its right and bottom must "
            "be greater than its left and top"
        )
    return ""


_MAX_EDGE = 1e9
"""Largest valid coordinate in pixels. All pictures are smaller than this. The check
also rejects NaN."""


def cropped(pixels: Pixels, box: PixelBox) -> Image:
    """Cuts out the part of a picture inside a box."""
    part = pixels[box.top : box.bottom, box.left : box.right]
    return picture(part.copy())


def blackened(pixels: Pixels, box: PixelBox) -> Pixels:
    """Paints the box in a picture black."""
    painted = pixels.copy()
    painted[box.top : box.bottom, box.left : box.right] = 0
    return painted


def other_picture(sample: Sample, against: Against) -> Pixels | Score:
    """Returns the pixels of the original or the target, or an unscored score."""
    media = input_picture(sample) if against == "input" else reference_picture(sample)
    if isinstance(media, Score):
        return media
    return data_pixels(media)
