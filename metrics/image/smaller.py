"""Two pictures brought to one size, the lesser of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.pictures import Pixels

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
    """Of shape (height, width, 3), 0 to 1."""

Size = Literal["own", "smaller"]
"""A switch: pictures are compared as they are, or ``at_smaller_size`` where their sizes
differ."""


def smaller_size(one: Pixels, other: Pixels) -> tuple[int, int]:
    """The lesser height and the lesser width of two pictures."""
    height, width = one.shape[:2]
    rows, columns = other.shape[:2]
    return min(height, rows), min(width, columns)


def at_smaller_size(one: Pixels, other: Pixels) -> tuple[Numbers, Numbers]:
    """Both pictures with the lesser height and the lesser width of the two, as float32
    from 0 to 1.

    Each is resized alone, so that its sides may get another ratio: bilinear between the
    centres of pixels, without smoothing and without rounding.
    """
    import numpy

    height, width = smaller_size(one, other)
    sides: list[Numbers] = []
    for pixels in (one, other):
        numbers = numpy.asarray(pixels, numpy.float32) / numpy.float32(255)
        sides.append(_along(_along(numbers, height, 0), width, 1))
    first, second = sides
    return first, second


def _along(
    pixels: Numbers,
    wanted: int,
    axis: int,
) -> Numbers:
    import numpy

    length = pixels.shape[axis]
    if length == wanted:
        return pixels
    # Single precision throughout: with places of double precision a value differs from
    # torch's by up to 1e-4.
    half = numpy.float32(0.5)
    middles = numpy.arange(wanted, dtype=numpy.float32) + half
    places = (middles * numpy.float32(length / wanted) - half).clip(min=0)
    before = places.astype(numpy.intp)
    after = numpy.minimum(before + 1, length - 1)
    other_axes = (1 - axis, 2)
    share = numpy.expand_dims(places - before.astype(numpy.float32), other_axes)
    found: Numbers = pixels.take(before, axis) * (1 - share)
    found += pixels.take(after, axis) * share
    return found
