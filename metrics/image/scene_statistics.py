"""Statistics of natural scenes: what the brightness of a picture, set off against its surroundings, looks like.

The features of NIQE. A picture is worked on in bands as high as a patch, so that what is in work stays small whatever
the picture's size; a band reaches three rows into its neighbours, so there is no seam.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.metrics.image.aggd import fitted, joined, moments
from mmeval.metrics.image.neighbours import neighbour_moments

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.aggd import Numbers
    from mmeval.metrics.image.pictures import Pixels

    Luma: TypeAlias = np.ndarray[Any, np.dtype[Any]]
    """Of shape (height, width), from 0 to 255: whole numbers, or not (a picture of half the size)."""

PATCH = 96
"""Pixels a side in the full size; half as many in the half size."""
SHIFTS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""From a pixel to the neighbour that it is multiplied with: rows down, columns to the right."""
FEATURES = 2 + 4 * len(SHIFTS)
"""Of a patch, in each of the two sizes."""
REACH = 3
"""Rows and columns that a window of 7 x 7 reaches to each side; the kernel that halves a picture reaches as far."""
SIGMA = 7 / 6
"""Of the Gaussian window, in pixels."""
STEADY = 1.0
"""Is added to the deviation that a difference is divided by."""
RED, GREEN, BLUE = 0.299, 0.587, 0.114
"""What a channel adds to the brightness."""
SHARP = -0.5
"""The parameter a of the cubic kernel."""
_STRIP = 2**16
"""Pixels that are worked on at a time, so that they stay in the processor's cache."""


def luma(pixels: Pixels) -> Luma:
    """The brightness of each pixel (ITU-R BT.601), rounded to 0..255: a half as binary fractions have it, mostly to the
    even number. Some rows at a time."""
    import numpy

    found = numpy.empty(pixels.shape[:2], numpy.uint8)
    rows = max(1, _STRIP // pixels.shape[1])
    for top in range(0, len(pixels), rows):
        strip = pixels[top : top + rows]
        total = strip[..., 0] * RED
        total += strip[..., 1] * GREEN
        total += strip[..., 2] * BLUE
        found[top : top + rows] = numpy.rint(total, out=total)
    return found


def cropped(picture: Luma) -> Luma:
    """Without the rows below and the columns to the right that fill no patch."""
    height, width = (side - side % PATCH for side in picture.shape[:2])
    return picture[:height, :width]


def features(picture: Luma) -> Numbers:
    """36 numbers for each patch of a picture, row by row: 18 in the full size, then 18 in the half size.

    Those of a patch are NaN in part where it lacks values on one side of zero, as it does where it is all even.
    """
    import numpy

    whole = cropped(picture)
    if not whole.size:
        return numpy.empty((0, 2 * FEATURES))
    return numpy.concatenate([_patch_features(whole, PATCH), _patch_features(halved(whole), PATCH // 2)], axis=1)


def normalised(picture: Luma, top: int, rows: int) -> Numbers:
    """Some rows of a picture less their local mean, over their local deviation and one (MSCN). The picture goes on
    beyond its borders as its outermost pixels."""
    import numpy

    band = _edged(picture, top, rows)
    mean = _blurred(band)
    square = mean * mean
    found = band[REACH:-REACH, REACH:-REACH] - mean
    deviation = _blurred(numpy.square(band, out=band))
    deviation -= square
    numpy.sqrt(numpy.abs(deviation, out=deviation), out=deviation)
    deviation += STEADY
    found /= deviation
    return found


def _edged(picture: Luma, top: int, rows: int) -> Numbers:
    """Some rows of a picture with ``REACH`` more pixels to each side."""
    import numpy

    at = numpy.arange(top - REACH, top + rows + REACH).clip(0, len(picture) - 1)
    found = numpy.empty((len(at), picture.shape[1] + 2 * REACH))
    found[:, REACH:-REACH] = picture[at]
    found[:, :REACH], found[:, -REACH:] = found[:, REACH, None], found[:, -REACH - 1, None]
    return found


def halved(picture: Luma) -> Numbers:
    """A picture of even sides in half its size, neither rounded nor clipped, as MATLAB's ``imresize`` makes it: by a
    cubic kernel of twice the width, the picture mirrored at its borders."""
    import numpy

    found = numpy.empty((picture.shape[0] // 2, picture.shape[1] // 2))
    rows = PATCH
    for top in range(0, len(picture), rows):
        at = _mirrored(top - REACH, min(top + rows, len(picture)) + REACH, len(picture))
        down = _halved_rows(picture[at].astype(float))
        across = down[:, _mirrored(-REACH, picture.shape[1] + REACH, picture.shape[1])]
        found[top // 2 : (top + rows) // 2] = _halved_columns(across)
    return found


@functools.cache
def halving_kernel() -> Numbers:
    """What each of eight neighbours adds to the pixel of half the size that lies in their middle."""
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


def _blurred(band: Numbers) -> Numbers:
    """By the window, without the ``REACH`` outer rows and columns, which are only looked at. Down by sums of rows;
    then across all rows as one, of which the results where one ends and the next begins are left out. These are the
    fastest ways that treat every pixel alike to the last bit, so that what is even stays even."""
    import numpy

    kernel, rows, width = window(), len(band) - 2 * REACH, band.shape[1]
    flat = numpy.zeros(rows * width + 2 * REACH)
    down = numpy.multiply(band[REACH : REACH + rows], kernel[REACH], out=flat[: rows * width].reshape(rows, width))
    pair = numpy.empty_like(down)
    for at in range(REACH):
        numpy.add(band[at : at + rows], band[2 * REACH - at : 2 * REACH - at + rows], out=pair)
        pair *= kernel[at]
        down += pair
    return numpy.correlate(flat, kernel, "valid").reshape(rows, width)[:, : -2 * REACH]


def _mirrored(first: int, last: int, size: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """The rows from one before the last, those beyond the borders seen in a mirror: the outermost comes twice."""
    import numpy

    at = numpy.arange(first, last)
    at = numpy.where(at < 0, -1 - at, at)
    return numpy.where(at >= size, 2 * size - 1 - at, at)


def _halved_rows(rows: Numbers) -> Numbers:
    """Half as many rows, from these with three more above and below. The kernel is even: four sums of two."""
    kernel, count = halving_kernel(), len(rows) // 2 - REACH
    even, odd = rows[::2], rows[1::2]
    total: Numbers = kernel[REACH] * (odd[1 : count + 1] + even[2 : count + 2])
    total += kernel[0] * (even[:count] + odd[REACH : count + REACH])
    total += kernel[1] * (odd[:count] + even[REACH : count + REACH])
    total += kernel[2] * (even[1 : count + 1] + odd[2 : count + 2])
    return total


def _halved_columns(rows: Numbers) -> Numbers:
    import numpy

    return _halved_rows(numpy.ascontiguousarray(rows.T)).T


def _patch_features(picture: Luma, side: int) -> Numbers:
    """18 numbers for each patch in one size: the shape and the spread of its values; then shape, mean and both spreads
    of their products with each of four neighbours."""
    import numpy

    bands = [
        (moments(patches.reshape(len(patches), -1)), *neighbour_moments(patches, SHIFTS))
        for patches in _patches(picture, side)
    ]
    fit = fitted(joined([part for parts in zip(*bands, strict=True) for part in parts]))
    shape, mean, left, right = (some.reshape(1 + len(SHIFTS), -1) for some in (fit.shape, fit.mean, fit.left, fit.right))
    found = [shape[0], (left[0] + right[0]) / 2]
    for at in range(1, len(shape)):
        found += [shape[at], mean[at], left[at], right[at]]
    return numpy.stack(found, axis=1)


def _patches(picture: Luma, side: int) -> Iterator[Numbers]:
    """The patches of a picture after normalisation, row by row, (patches, side, side): one row of them at a time, or
    more where these are short."""
    height, width = picture.shape
    most = side * max(1, _STRIP // (side * width))
    for top in range(0, height, most):
        rows = min(most, height - top)
        band = normalised(picture, top, rows).reshape(rows // side, side, width // side, side)
        yield band.swapaxes(1, 2).reshape(-1, side, side)
