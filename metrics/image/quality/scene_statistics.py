"""Statistics of natural scenes: the distribution of normalised brightness.

The features of NIQE. A picture is processed in pieces of some patches, with three
pixels of the neighbours of each, so that there is no seam.
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
    """Of shape (height, width), from 0 to 255: whole numbers, or not (a picture of half
    the size)."""

PATCH = 96
"""Pixels a side in the full size; half as many in the half size."""
SHIFTS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""From a pixel to the neighbour that it is multiplied with: rows down, columns to the
right."""
FEATURES = 2 + 4 * len(SHIFTS)
"""Features of a patch in each of the two sizes."""
REACH = 3
"""Rows and columns that a window of 7 x 7 reaches to each side, and the kernel that
halves a picture."""
SIGMA = 7 / 6
"""The deviation of the Gaussian window, in pixels."""
STEADY = 1.0
"""Added to the deviation that a difference is divided by."""
RED, GREEN, BLUE, WHOLE = 299, 587, 114, 1000
"""The weights of the channels in the brightness, and their divisor."""
SHARP = -0.5
"""The parameter a of the cubic kernel."""
_STRIP = 2**16
"""Pixels whose brightness is computed in one step, so that they stay in the processor's
cache."""
AT_ONCE = 5
"""Rows and columns of patches in a piece."""


def luma(pixels: Pixels) -> Luma:
    """Each pixel's brightness (ITU-R BT.601), rounded to 0..255, a half to even. Some
    rows at a time, in single precision, in which the whole numbers before the division
    are exact."""
    import numpy

    found = numpy.empty(pixels.shape[:2], numpy.uint8)
    share = numpy.array([RED, GREEN, BLUE], numpy.float32)
    rows = max(1, _STRIP // max(1, pixels.shape[1]))
    for top in range(0, len(pixels), rows):
        total = pixels[top : top + rows].astype(numpy.float32) @ share
        total /= WHOLE
        found[top : top + rows] = numpy.rint(total, out=total)
    return found


def cropped(picture: Luma) -> Luma:
    """The picture without the bottom rows and right columns that fill no patch."""
    height, width = picture.shape[:2]
    return picture[: height - height % PATCH, : width - width % PATCH]


def features(picture: Luma) -> Numbers:
    """36 numbers a patch: 18 in the full size, then 18 in the half size.

    Some numbers of a patch are NaN where it has no values on one side of zero, as in a
    uniform patch.
    """
    import numpy

    whole = cropped(picture)
    if not whole.size:
        return numpy.empty((0, 2 * FEATURES))
    full = _patch_features(whole, PATCH)
    half = _patch_features(halved(whole), PATCH // 2)
    return numpy.concatenate([full, half], axis=1)


def normalised(
    picture: Luma,
    rows: range,
    columns: range,
) -> Numbers:
    """A piece minus its local mean, over its local deviation plus one (MSCN).
    Beyond the picture's borders the outermost pixels are repeated."""
    import numpy
    from scipy.ndimage import gaussian_filter

    top = max(0, rows.start - REACH)
    left = max(0, columns.start - REACH)
    piece = picture[top : rows.stop + REACH, left : columns.stop + REACH]
    piece = piece.astype(float)
    mean = gaussian_filter(piece, SIGMA, radius=REACH, mode="nearest")
    squares = gaussian_filter(piece * piece, SIGMA, radius=REACH, mode="nearest")
    deviation = numpy.sqrt(numpy.abs(squares - mean * mean))
    found: Numbers = (piece - mean) / (deviation + STEADY)
    inside = found[rows.start - top :, columns.start - left :]
    return inside[: len(rows), : len(columns)]


def halved(picture: Luma) -> Numbers:
    """A picture of even sides in half its size, as MATLAB's ``imresize`` makes it. By a
    cubic kernel of twice the width, mirrored at the borders; neither rounded nor
    clipped."""
    import numpy
    from scipy.ndimage import correlate1d

    for _ in range(2):  # each time turned, as rows are faster than columns
        found = correlate1d(
            picture, halving_kernel(), output=float, mode="reflect", origin=-1
        )
        picture = numpy.ascontiguousarray(found[:, ::2].T)
    return picture


@functools.cache
def halving_kernel() -> Numbers:
    """The weights of eight neighbours for the pixel of half size in their middle."""
    import numpy

    away = numpy.abs(numpy.arange(-REACH - 0.5, REACH + 1)) / 2
    near = (SHARP + 2) * away**3 - (SHARP + 3) * away**2 + 1
    far = SHARP * (away**3 - 5 * away**2 + 8 * away - 4)
    kernel: Numbers = numpy.where(away <= 1, near, far)
    kernel /= kernel.sum()
    return kernel


def _patch_features(picture: Luma, side: int) -> Numbers:
    """18 numbers for each patch in one size. Shape and spread of its values; then
    shape, mean and both spreads of its products with each of four neighbours, beyond
    its borders those of the opposite side."""
    import numpy

    found: list[Numbers] = []
    for patches in _patches(picture, side):
        own = fitted(moments_of(patches.reshape(len(patches), -1)))
        numbers = [own.shape, (own.left + own.right) / 2]
        for shift in SHIFTS:
            products = patches * numpy.roll(patches, shift, axis=(1, 2))
            fit = fitted(moments_of(products.reshape(len(patches), -1)))
            numbers += [fit.shape, fit.mean, fit.left, fit.right]
        found.append(numpy.stack(numbers, axis=1))
    return numpy.concatenate(found)


def _patches(picture: Luma, side: int) -> Iterator[Numbers]:
    """The normalised patches, some rows and columns of them at a time, (patches, side,
    side)."""
    (height, width), step = picture.shape, side * AT_ONCE
    for top in range(0, height, step):
        for left in range(0, width, step):
            rows = range(top, min(top + step, height))
            columns = range(left, min(left + step, width))
            piece = normalised(picture, rows, columns)
            piece = piece.reshape(-1, side, len(columns) // side, side)
            yield piece.swapaxes(1, 2).reshape(-1, side, side)
