"""Statistics of natural scenes: the distribution of normalised brightness.

The statistics are the features of NIQE. A picture is processed in tiles of some
patches. Each tile includes three pixels of its neighbours, to avoid seams.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.metrics.image.quality.aggd import fitted, moments_of

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.pictures import Pixels
    from mmeval.metrics.image.quality.aggd import Numbers

    Luma: TypeAlias = np.ndarray[Any, np.dtype[Any]]
    """Brightness of shape (height, width), from 0 to 255. In full size the numbers are
    integers."""

PATCH = 96
"""Side of a patch in pixels, in full size. At half size a patch has half this side."""
SHIFTS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Offset of the neighbour in a product: rows down, columns to the right."""
FEATURES = 2 + 4 * len(SHIFTS)
"""Number of features of a patch in each of the two sizes."""
REACH = 3
"""Number of rows or columns on each side of the middle, in a window of 7 x 7 and in the
kernel that halves a picture."""
SIGMA = 7 / 6
"""Standard deviation of the Gaussian window in pixels, as in NIQE's released code."""
STEADY = 1.0
"""Constant added to the deviation before the division."""
RED, GREEN, BLUE, WHOLE = 299, 587, 114, 1000
"""The weights of the channels in the brightness, and their divisor."""
SHARP = -0.5
"""The parameter ``a`` of the cubic kernel."""
_STRIP = 2**16
"""Number of pixels whose brightness is computed in one step. They fit in the
processor's cache."""
AT_ONCE = 5
"""Number of rows and of columns of patches in a tile."""


def luma(pixels: Pixels) -> Luma:
    """Returns each pixel's brightness (ITU-R BT.601), rounded to 0..255, half to even.

    The brightness is computed in single precision, in which the integers before the
    division are exact.
    """
    import numpy

    brightness = numpy.empty(pixels.shape[:2], numpy.uint8)
    share = numpy.array([RED, GREEN, BLUE], numpy.float32)
    rows = max(1, _STRIP // max(1, pixels.shape[1]))
    for top in range(0, len(pixels), rows):
        total = pixels[top : top + rows].astype(numpy.float32) @ share
        total /= WHOLE
        brightness[top : top + rows] = numpy.rint(total, out=total)
    return brightness


def cropped(picture: Luma) -> Luma:
    """Removes the rows and columns at the bottom and right that fill no patch."""
    height, width = picture.shape[:2]
    return picture[: height - height % PATCH, : width - width % PATCH]


def features(picture: Luma) -> Numbers:
    """Returns 36 numbers per patch: 18 in full size, then 18 in half size.

    Some numbers are NaN if a patch, such as a uniform patch, has no values on one side
    of zero.
    """
    import numpy

    complete = cropped(picture)
    if not complete.size:
        return numpy.empty((0, 2 * FEATURES))
    full = _patch_features(complete, PATCH)
    half = _patch_features(halved(complete), PATCH // 2)
    return numpy.concatenate([full, half], axis=1)


def normalised(
    picture: Luma,
    rows: range,
    columns: range,
) -> Numbers:
    """Subtracts the local mean and divides by the local deviation plus one (MSCN).

    The outermost pixels are repeated beyond the picture's borders.
    """
    import numpy
    from scipy.ndimage import gaussian_filter

    top = max(0, rows.start - REACH)
    left = max(0, columns.start - REACH)
    piece = picture[top : rows.stop + REACH, left : columns.stop + REACH]
    piece = piece.astype(float)
    mean = gaussian_filter(piece, SIGMA, radius=REACH, mode="nearest")
    squares = gaussian_filter(piece * piece, SIGMA, radius=REACH, mode="nearest")
    deviation = numpy.sqrt(numpy.abs(squares - mean * mean))
    values: Numbers = (piece - mean) / (deviation + STEADY)
    inside = values[rows.start - top :, columns.start - left :]
    return inside[: len(rows), : len(columns)]


def halved(picture: Luma) -> Numbers:
    """Halves the size of a picture with even sides, as MATLAB's ``imresize`` does.

    The cubic kernel has twice its usual width, and the picture is mirrored at the
    borders. Values are neither rounded nor clipped.
    """
    import numpy
    from scipy.ndimage import correlate1d

    for _ in range(2):  # transposed each time: rows are faster than columns
        rows = correlate1d(
            picture, halving_kernel(), output=float, mode="reflect", origin=-1
        )
        picture = numpy.ascontiguousarray(rows[:, ::2].T)
    return picture


@functools.cache
def halving_kernel() -> Numbers:
    """Returns the weights of the eight pixels that form one pixel at half size."""
    import numpy

    away = numpy.abs(numpy.arange(-REACH - 0.5, REACH + 1)) / 2
    near = (SHARP + 2) * away**3 - (SHARP + 3) * away**2 + 1
    far = SHARP * (away**3 - 5 * away**2 + 8 * away - 4)
    kernel: Numbers = numpy.where(away <= 1, near, far)
    kernel /= kernel.sum()
    return kernel


def _patch_features(picture: Luma, side: int) -> Numbers:
    """Returns 18 numbers for each patch in one size.

    The numbers are the shape and spread of the values, then the shape, mean and both
    spreads of the products with each of four neighbours. A patch wraps around at its
    borders.
    """
    import numpy

    blocks: list[Numbers] = []
    for patches in _patches(picture, side):
        fit_of_values = fitted(moments_of(patches.reshape(len(patches), -1)))
        numbers = [fit_of_values.shape, (fit_of_values.left + fit_of_values.right) / 2]
        for shift in SHIFTS:
            products = patches * numpy.roll(patches, shift, axis=(1, 2))
            fit = fitted(moments_of(products.reshape(len(patches), -1)))
            numbers += [fit.shape, fit.mean, fit.left, fit.right]
        blocks.append(numpy.stack(numbers, axis=1))
    return numpy.concatenate(blocks)


def _patches(picture: Luma, side: int) -> Iterator[Numbers]:
    """Yields the normalised patches of some rows and columns at a time.

    The shape is (patches, side, side).
    """
    (height, width), step = picture.shape, side * AT_ONCE
    for top in range(0, height, step):
        for left in range(0, width, step):
            rows = range(top, min(top + step, height))
            columns = range(left, min(left + step, width))
            piece = normalised(picture, rows, columns)
            piece = piece.reshape(-1, side, len(columns) // side, side)
            yield piece.swapaxes(1, 2).reshape(-1, side, side)
