"""Compares an answer's and its reference's pictures by pixels, with scikit-image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from mmeval.metric import metric
from mmeval.metrics.image.pictures import compared, resized
from mmeval.metrics.image.smaller import at_smaller_size
from mmeval.metrics.image.ssim import FILTER
from mmeval.metrics.produced import wrong
from mmeval.records import Score, Trial
from mmeval.system import Condition

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.pictures import Pixels

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

Measure = Literal["psnr", "nrmse", "mse", "ssim"]
Sizes = Literal["reference", "smaller"]
"""The size of both pictures: the reference's, or the smaller height and width."""
Window = Annotated[
    int,
    Condition(
        lambda value: "" if value >= 3 and value % 2 else "an odd number, 3 or more"
    ),
]

WORST: Mapping[Measure, float] = {
    "psnr": 0.0,
    "nrmse": 1.0,
    "mse": 255.0**2,
    "ssim": 0.0,
}
"""The value of an answer without the right pictures. For ``nrmse`` this is the value of
a black picture."""
GAUSSIAN = 11
"""Side in pixels of the weighted window."""


@metric(
    range=(-inf, inf),
    higher_is_better=lambda switches: switches["measure"] in ("psnr", "ssim"),
    version="3",
    source="scikit-image 0.26, skimage.metrics; Wang et al., Image quality assessment, "
    "2004; the PSNR of MME-Unify",
)
def image_similarity(
    trial: Trial,
    *,
    measure: Measure = "psnr",
    sizes: Sizes = "reference",
    window: Window = 7,
    gaussian: bool = False,
    most: float = 100.0,
) -> Score:
    """Mean similarity of the answer's and reference's pictures, in order.

    The ``measure`` sets the range and direction. An answer gets the worst value if it
    has another number of pictures, or a picture that is damaged or too small for the
    window. Only the first reference is used. Unscored if it has no picture, or a
    picture that is damaged, too small, or (for ``nrmse``) black.

    Not measured: meaning. A shifted or rotated picture of the same thing differs.

    Switches:

    - ``measure``:

      - ``psnr``: peak signal-to-noise ratio in decibels, 0 to ``most``, higher is
        better. The worst value is 0. Equal pictures have an infinite ratio, which
        counts as ``most``.
      - ``mse``: mean squared error of bytes, 0 to 65025, lower is better. The worst
        value is 65025.
      - ``nrmse``: the root of ``mse`` divided by the root mean square of the reference,
        0 upwards, lower is better. The worst value is 1, as for a black picture in the
        answer.
      - ``ssim``: structural similarity, -1 to 1, higher is better. The worst value
        is 0.

    - ``sizes``: if the sizes differ, the answer's picture is resized to the size of the
      ``reference`` (Lanczos), or both are resized to the ``smaller`` height and width
      (bilinear, without smoothing or rounding), as in MME-Unify.
    - ``window``: the side of the window of ``ssim``, an odd number of pixels.
    - ``gaussian``: weight the window as Wang et al. do, with a width of 11 pixels.
    - ``most``: the largest ``psnr``.

    Evidence: the value of each pair.
    """
    smallest = 1
    if measure == "ssim":
        smallest = GAUSSIAN if gaussian else window
    measure_pair = partial(
        likeness,
        measure=measure,
        sizes=sizes,
        window=None if gaussian else window,
        most=most,
        smallest=smallest,
    )
    score = compared(trial, measure, measure_pair, smallest)
    if "reason" in score.evidence:
        return replace(score, value=WORST[measure])
    return score


def likeness(
    answer: Pixels,
    reference: Pixels,
    *,
    measure: Measure,
    sizes: Sizes,
    window: int | None,
    most: float,
    smallest: int,
) -> float | Score:
    """Computes one ``measure`` of two pictures, as in ``image_similarity``.

    An answer's picture with a side below ``smallest`` pixels is wrong.
    """
    from skimage import metrics

    first: Numbers
    second: Numbers
    if answer.shape == reference.shape or sizes == "reference":
        first, second = resized(answer, reference.shape[:2], FILTER), reference
    else:
        first_small, second_small = at_smaller_size(answer, reference)
        first, second = first_small * 255, second_small * 255
    if min(first.shape[:2]) < smallest:
        return wrong(f"a picture of the answer has a side below {smallest} pixels")
    if measure == "ssim":
        window_arguments: dict[str, Any] = {"win_size": window}
        if not window:
            # With these arguments scikit-image agrees with Wang et al.
            window_arguments = {
                "gaussian_weights": True,
                "sigma": 1.5,
                "use_sample_covariance": False,
            }
        return float(
            metrics.structural_similarity(
                second, first, channel_axis=2, data_range=255, **window_arguments
            )
        )
    error = float(metrics.mean_squared_error(second, first))
    if measure == "mse":
        return error
    if measure == "psnr":
        ratio = most
        if error:
            ratio = metrics.peak_signal_noise_ratio(second, first, data_range=255)
        return min(float(ratio), most)
    if not second.any():
        return Score.unscored("nrmse is undefined because the reference is black")
    return float(metrics.normalized_root_mse(second, first))
