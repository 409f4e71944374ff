"""Moments of patches and, without computing these, of products of neighbours.

The size of a product is the product of the sizes, and its square and its sign likewise. So each sum over the products
is a dot product of a patch with itself shifted: of its sizes, of its squares, of its squares with their signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from mmeval.metrics.image.quality.aggd import Moments, Sums, moments_of

if TYPE_CHECKING:
    from mmeval.metrics.image.quality.aggd import Numbers, Reals

Shift: TypeAlias = tuple[int, int]
"""From a pixel to its neighbour: 0 or 1 row down, -1 to 1 columns to the right; not (0, 0) nor (0, -1)."""


def neighbour_moments(patches: Numbers, shifts: Sequence[Shift]) -> Moments:
    """The moments of each patch; then, a row a shift, of its products with itself.
    The patches are (patches, side, side), and continue beyond their borders with the opposite side."""
    import numpy

    def numbers(row: int, patch: int) -> Numbers:
        return _products(patches[patch], shifts[row - 1]) if row else patches[patch]

    values = _wrapped(patches)
    signs = _signs(values)
    sizes = numpy.abs(values)
    signs_sum, count = _sums(signs, shifts), _sums(numpy.abs(signs), shifts)
    sizes_sum = _sums(sizes, shifts)
    signed = _sums(numpy.multiply(sizes, values, out=sizes), shifts)
    squares = _sums(numpy.square(values, out=values), shifts)
    below, above = (count - signs_sum) / 2, (count + signs_sum) / 2
    return moments_of(Sums(below, above, patches[0].size, sizes_sum, squares, signed), numbers)


def _products(patch: Numbers, shift: Shift) -> Numbers:
    import numpy

    return patch * numpy.roll(patch, shift, axis=(0, 1))


def _wrapped(patches: Numbers) -> Numbers:
    """Patches with the opposite row above and the opposite columns on both sides."""
    import numpy

    count, side, _ = patches.shape
    found = numpy.empty((count, side + 1, side + 2))
    found[:, 1:, 1:-1] = patches
    found[:, 0, 1:-1] = patches[:, -1]
    found[:, :, 0], found[:, :, -1] = found[:, :, -2], found[:, :, 1]
    return found


def _signs(values: Numbers) -> Reals:
    """-1, 0 or 1 in single precision, in which their sums are exact."""
    import numpy

    signs = (values > 0).view(numpy.int8) - (values < 0).view(numpy.int8)
    return signs.astype(numpy.float32)


def _sums(wrapped: Reals, shifts: Sequence[Shift]) -> Numbers:
    """The sum of each patch; then, a row a shift, its dot product with itself shifted."""
    import numpy

    count, _, width = wrapped.shape
    alone = wrapped.copy()
    alone[:, 0] = alone[:, :, 0] = alone[:, :, -1] = 0
    # As one row of numbers, so that a shift is an offset; numbers from beyond a row meet a zero.
    one, other = alone.reshape(count, -1), wrapped.reshape(count, -1)
    offsets = [down * width + right for down, right in shifts]
    products = [(one[:, None, at:] @ other[:, :-at, None])[:, 0, 0] for at in offsets]
    return numpy.array([one.sum(axis=1), *products], float)
