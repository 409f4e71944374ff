"""Structural similarity of pictures (SSIM)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.metric import metric
from mmeval.metrics.image.pictures import compared, resized
from mmeval.records import Score, Trial

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.pictures import Pixels

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

SMALLEST = 7
"""Minimum number of pixels on each side, so that the window of SSIM fits."""
FILTER = "LANCZOS"
"""The filter that resizes an answer's picture to the size of the reference's."""
_WINDOW = SMALLEST * SMALLEST
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2
_STRIP = 2**17
"""Number of values of a channel that are processed in one step. These values fit in the
processor's cache."""


@metric(
    range=(-1, 1),
    version="2",
    source="MMMG, Multi-View and Multi-Angle (and wherever it compares pixels); "
    "computed as scikit-image 0.26 does",
)
def ssim(trial: Trial) -> Score:
    """Mean structural similarity of the answer's and reference's pictures, in order.

    Range -1 to 1, higher is better: 1 if no pixel differs. A picture of the answer is
    first resized to its partner's size (Lanczos). Transparency is dropped, and the
    stored colours are used unchanged. An answer with another number of pictures, or
    with a damaged picture, scores 0, with the ``reason`` as evidence. Only the first
    reference is used. Unscored if it has no picture, or a picture that is damaged or
    has a side below 7 pixels.

    Not measured: meaning. A shifted or rotated picture of the same thing differs.

    Evidence: the ``ssim`` of each pair.
    """

    def similarity(answer: Pixels, reference: Pixels) -> float:
        return ssim_of(resized(answer, reference.shape[:2], FILTER), reference)

    return compared(trial, "ssim", similarity, SMALLEST)


def ssim_of(answer: Pixels, reference: Pixels) -> float:
    """Returns the structural similarity of two pictures of the same size.

    The similarity is from -1 to 1, and is 1 for equal pictures. It equals
    ``structural_similarity`` of scikit-image for bytes with the channels last and its
    defaults: uniform windows of 7 x 7, constants 0.01 and 0.03 of the range 255, sample
    covariance, and the mean over channels and over the windows inside the picture. Each
    side must have at least 7 pixels.
    """
    import numpy

    height, width, channels = answer.shape
    first = numpy.ascontiguousarray(answer).reshape(height, width * channels)
    second = numpy.ascontiguousarray(reference).reshape(height, width * channels)
    total = 0.0
    windows = height - SMALLEST + 1
    rows = max(1, _STRIP // (width * channels))
    for top in range(0, windows, rows):
        last = min(top + rows, windows) + SMALLEST - 1
        total += _similarities(first[top:last], second[top:last], channels)
    return float(total / (windows * (width - SMALLEST + 1) * channels))


def _similarities(
    first: Numbers,
    second: Numbers,
    channels: int,
) -> float:
    """Sums SSIM over the windows of some rows. A pixel is ``channels`` numbers.

    A sum of 49 bytes fits in 16 bits. Sums of products, and everything that is
    subtracted, fit in 32 bits. All numbers before the fractions are therefore exact.
    Only the sum of the variances is needed, so both pictures' squares are added up
    together.
    """
    import numpy

    a, b = first.astype(numpy.uint16), second.astype(numpy.uint16)
    wide_a, wide_b = first.astype(numpy.int32), second.astype(numpy.int32)
    sum_a = _windows(a, channels).astype(numpy.int32)
    sum_b = _windows(b, channels).astype(numpy.int32)
    products = _windows(wide_a * wide_b, channels)
    wide_a *= wide_a
    wide_b *= wide_b
    wide_a += wide_b
    squares = _windows(wide_a, channels)

    means = sum_a * sum_b
    sum_a *= sum_a
    sum_b *= sum_b
    sum_a += sum_b
    products *= _WINDOW
    products -= means
    squares *= _WINDOW
    squares -= sum_a
    # All numbers, including the constants, are scaled: by 49 * 49 for means, and by
    # 49 * 48 for sample covariances.
    for_means = numpy.float32(_C1 * _WINDOW**2)
    for_covariances = numpy.float32(_C2 * _WINDOW * (_WINDOW - 1))
    over = 2 * means.astype(numpy.float32) + for_means
    over *= 2 * products.astype(numpy.float32) + for_covariances
    under = sum_a.astype(numpy.float32) + for_means
    under *= squares.astype(numpy.float32) + for_covariances
    over /= under
    return float(over.sum(dtype=numpy.float64))


def _windows(numbers: Numbers, channels: int) -> Numbers:
    """Returns the sums over every 7 x 7 window, first down, then across."""
    down = _sevens(numbers, 1, axis=0)
    return _sevens(down, channels, axis=1)


def _sevens(
    numbers: Numbers,
    step: int,
    *,
    axis: int,
) -> Numbers:
    """Returns the sums over every seven successive numbers that are ``step`` apart.

    The sums of seven are built from sums of two numbers and sums of four numbers.
    """

    def part(
        array: Numbers,
        start: int,
        length: int,
    ) -> Numbers:
        if axis == 0:
            return array[start : start + length]
        return array[:, start : start + length]

    length = numbers.shape[axis]
    pairs = part(numbers, 0, length - step) + part(numbers, step, length - step)
    count = length - 6 * step
    sums = part(pairs, 0, count) + part(pairs, 2 * step, count)
    sums += part(pairs, 4 * step, count)
    sums += part(numbers, 6 * step, count)
    return sums
