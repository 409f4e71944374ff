"""Statistics of natural scenes: the distribution of normalised brightness.

The features of NIQE. A picture is processed in pieces of a few patches, so that memory does not grow with its size; a
piece includes three pixels of its neighbours, so there is no seam.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.metrics.image.quality.aggd import fitted, joined
from mmeval.metrics.image.quality.neighbours import neighbour_moments

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.pictures import Pixels
    from mmeval.metrics.image.quality.aggd import Numbers, Reals

    Luma: TypeAlias = np.ndarray[Any, np.dtype[Any]]
    """Of shape (height, width), from 0 to 255: whole numbers, or not (a picture of half the size)."""

PATCH = 96
"""Pixels a side in the full size; half as many in the half size."""
SHIFTS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""From a pixel to the neighbour that it is multiplied with: rows down, columns to the right."""
FEATURES = 2 + 4 * len(SHIFTS)
"""Features of a patch in each of the two sizes."""
REACH = 3
"""Rows and columns that a window of 7 x 7 reaches to each side; the kernel that halves a picture reaches as far."""
SIGMA = 7 / 6
"""The deviation of the Gaussian window, in pixels."""
STEADY = 1.0
"""Added to the deviation that a difference is divided by."""
RED, GREEN, BLUE, WHOLE = 299, 587, 114, 1000
"""The weights of the channels in the brightness, and their divisor."""
SHARP = -0.5
"""The parameter a of the cubic kernel."""
_STRIP = 2**16
"""Pixels that are processed in one step, so that they stay in the processor's cache."""


def luma(pixels: Pixels) -> Luma:
    """Each pixel's brightness (ITU-R BT.601), rounded to 0..255, a half to even.
    Some rows at a time, in single precision, in which the whole numbers before the division are exact."""
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
    height, width = (side - side % PATCH for side in picture.shape[:2])
    return picture[:height, :width]


def features(picture: Luma) -> Numbers:
    """36 numbers a patch, row by row: 18 in the full size, then 18 in the half size.

    Some numbers of a patch are NaN where it has no values on one side of zero, as in a uniform patch.
    """
    import numpy

    whole = cropped(picture)
    if not whole.size:
        return numpy.empty((0, 2 * FEATURES))
    return numpy.concatenate([_patch_features(whole, PATCH), _patch_features(halved(whole), PATCH // 2)], axis=1)


def normalised(picture: Luma, rows: range, columns: range) -> Numbers:
    """A piece minus its local mean, over its local deviation plus one (MSCN).
    Beyond the picture's borders the outermost pixels are repeated."""
    import numpy

    piece = _edged(picture, rows, columns)
    height, width = len(rows), piece.shape[1]
    found = numpy.empty((height, width))
    inner = found.reshape(-1)[: -2 * REACH]
    values = piece.reshape(-1)
    mean = _blurred(values, width)
    numpy.subtract(values[REACH * width + REACH :][: len(inner)], mean, out=inner)
    deviation = _blurred(numpy.square(values, out=values), width)
    deviation -= numpy.square(mean, out=mean)
    numpy.sqrt(numpy.abs(deviation, out=deviation), out=deviation)
    deviation += STEADY
    inner /= deviation
    return found[:, : -2 * REACH]


def _edged(picture: Luma, rows: range, columns: range) -> Numbers:
    """A piece of a picture with ``REACH`` more pixels to each side."""
    import numpy

    height, width = picture.shape
    down = numpy.arange(rows.start - REACH, rows.stop + REACH).clip(0, height - 1)
    left, right = max(columns.start - REACH, 0), min(columns.stop + REACH, width)
    found = numpy.empty((len(down), len(columns) + 2 * REACH))
    first = left - (columns.start - REACH)
    last = first + right - left
    found[:, first:last] = picture[down, left:right]
    found[:, :first], found[:, last:] = found[:, first, None], found[:, last - 1, None]
    return found


def halved(picture: Luma) -> Numbers:
    """A picture of even sides in half its size, as MATLAB's ``imresize`` makes it.
    By a cubic kernel of twice the width, mirrored at the borders; neither rounded nor clipped."""
    import numpy

    height, width = picture.shape
    found = numpy.empty((height // 2, width // 2))
    columns = _mirrored(-REACH, width + REACH, width)
    for top in range(0, height, PATCH):
        last = min(top + PATCH, height)
        band = picture[_mirrored(top - REACH, last + REACH, height)]
        down = _halved_rows(band.astype(numpy.float32))  # exact: whole numbers by multiples of 1/256
        across = numpy.ascontiguousarray(down.T, float)[columns]
        found[top // 2 : last // 2] = _halved_rows(across).T
    return found


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


@functools.cache
def window() -> Numbers:
    """The Gaussian window along one axis; the sum is 1."""
    import numpy

    away = numpy.arange(-REACH, REACH + 1)
    found: Numbers = numpy.exp(-(away**2) / (2 * SIGMA**2))
    found /= found.sum()
    return found


def _blurred(values: Numbers, width: int) -> Numbers:
    """Blur the concatenated rows of a piece, each of ``width``.
    The result starts ``REACH`` rows and columns in; each row's last ``2 * REACH`` numbers mix with the next row."""
    return _weighed(_weighed(values, width), 1)


def _weighed(values: Numbers, step: int) -> Numbers:
    """The weighted sum of each value and its neighbours ``step`` places apart.
    Opposite ones are added first, so that both directions agree to the last bit and uniform areas stay uniform."""
    import numpy

    kernel, count = window(), len(values) - 2 * REACH * step
    found: Numbers = values[REACH * step :][:count] * kernel[REACH]
    pair = numpy.empty_like(found)
    for at in range(REACH):
        numpy.add(values[at * step :][:count], values[(2 * REACH - at) * step :][:count], out=pair)
        pair *= kernel[at]
        found += pair
    return found


def _mirrored(first: int, last: int, size: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Rows ``first`` to before ``last``, mirrored at borders, the outermost one twice."""
    import numpy

    at = numpy.arange(first, last)
    at = numpy.where(at < 0, -1 - at, at)
    return numpy.where(at >= size, 2 * size - 1 - at, at)


def _halved_rows(rows: Reals) -> Reals:
    """Half of the rows, which have three more at both ends; the kernel is symmetric."""
    kernel, count = halving_kernel().tolist(), len(rows) // 2 - REACH
    even, odd = rows[::2], rows[1::2]
    total: Reals = kernel[REACH] * (odd[1 : count + 1] + even[2 : count + 2])
    total += kernel[0] * (even[:count] + odd[REACH : count + REACH])
    total += kernel[1] * (odd[:count] + even[REACH : count + REACH])
    total += kernel[2] * (even[1 : count + 1] + odd[2 : count + 2])
    return total


def _patch_features(picture: Luma, side: int) -> Numbers:
    """18 numbers for each patch in one size.
    Shape and spread of its values; then shape, mean and both spreads of its products with each of four neighbours."""
    import numpy

    fit = fitted(joined([neighbour_moments(patches, SHIFTS) for patches in _patches(picture, side)]))
    found = [fit.shape[0], (fit.left[0] + fit.right[0]) / 2]
    for product in zip(fit.shape[1:], fit.mean[1:], fit.left[1:], fit.right[1:], strict=True):
        found += product
    return numpy.stack(found, axis=1)


def _patches(picture: Luma, side: int) -> Iterator[Numbers]:
    """The normalised patches, row by row, (patches, side, side).
    A part of a row at a time where it is long, some rows where they are short."""
    height, width = picture.shape
    across = min(width, side * max(1, _STRIP // side**2))
    down = side * max(1, _STRIP // (side * across)) if across == width else side
    for top in range(0, height, down):
        for left in range(0, width, across):
            rows, columns = range(top, min(top + down, height)), range(left, min(left + across, width))
            piece = normalised(picture, rows, columns).reshape(len(rows) // side, side, len(columns) // side, side)
            yield piece.swapaxes(1, 2).reshape(-1, side, side)
