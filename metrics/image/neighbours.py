"""Moments of the products of neighbours, without the products.

The size of a product is the product of the sizes, and its square and its sign likewise. So each sum over the products
is a dot product of a patch with itself shifted: of its sizes, of its squares, of its squares with their signs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mmeval.metrics.image.aggd import Moments, moments_of

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.aggd import Numbers

    Signs: TypeAlias = np.ndarray[Any, np.dtype[np.int8]]

Shift: TypeAlias = tuple[int, int]
"""From a pixel to its neighbour: 0 or 1 row down, -1 to 1 columns to the right; not (0, 0) nor (0, -1)."""


class _Framed(NamedTuple):
    """Patches with one more row above and column to either side, a row of numbers for each: zeros there (``alone``),
    and what a patch goes on with (``around``). A shift is an offset along the row."""

    alone: Numbers
    around: Numbers


def neighbour_moments(patches: Numbers, shifts: Sequence[Shift]) -> list[Moments]:
    """For each shift, the moments of the products of each patch, (patches, side, side), with itself shifted. A patch
    goes on beyond its borders with what is at the opposite ones."""
    import numpy

    side = patches.shape[1]
    offsets = [down * (side + 2) + right for down, right in shifts]
    values = _framed(patches)
    counts = [*_counts(values, offsets)]
    work = _Framed(numpy.abs(values.alone), numpy.abs(values.around))
    sizes = _dots(work, offsets)
    signed = _dots(_multiplied(work, values), offsets)
    squares = _dots(_multiplied(values, values), offsets)
    products = [functools.partial(_products, patches, shift) for shift in shifts]
    sums = zip(counts, sizes, squares, signed, products, strict=True)
    return [moments_of(*sides, side * side, *found) for sides, *found in sums]


def _framed(patches: Numbers) -> _Framed:
    import numpy

    count, side, _ = patches.shape
    alone, around = numpy.zeros((count, side + 1, side + 2)), numpy.empty((count, side + 1, side + 2))
    alone[:, 1:, 1:-1] = around[:, 1:, 1:-1] = patches
    around[:, 0, 1:-1] = patches[:, -1]
    around[:, :, 0], around[:, :, -1] = around[:, :, -2], around[:, :, 1]
    return _Framed(alone.reshape(count, -1), around.reshape(count, -1))


def _counts(values: _Framed, offsets: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """For each offset, how many products of each patch are below and above zero."""
    import numpy

    alone, around = ((some > 0).view(numpy.int8) - (some < 0).view(numpy.int8) for some in values)
    for offset in offsets:
        signs = alone[:, offset:] * around[:, :-offset]
        yield [numpy.count_nonzero(row) for row in signs < 0], [numpy.count_nonzero(row) for row in signs > 0]


def _dots(values: _Framed, offsets: Sequence[int]) -> list[Numbers]:
    """For each offset, the dot product of each patch with itself shifted."""
    return [(values.alone[:, None, at:] @ values.around[:, :-at, None])[:, 0, 0] for at in offsets]


def _multiplied(values: _Framed, factors: _Framed) -> _Framed:
    """In their place."""
    for some, factor in zip(values, factors, strict=True):
        some *= factor
    return values


def _products(patches: Numbers, shift: Shift, at: int) -> Numbers:
    """The products themselves, of one patch."""
    import numpy

    return patches[at] * numpy.roll(patches[at], shift, axis=(0, 1))
