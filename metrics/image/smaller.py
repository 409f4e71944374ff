"""Resizes two pictures to the smaller height and width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.pictures import Pixels

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
    """Pixels of shape (height, width, 3), from 0 to 1."""

Size = Literal["own", "smaller"]
"""A switch: pictures of different sizes are not resized (``own``), or are resized by
``at_smaller_size`` (``smaller``)."""


def smaller_size(first_picture: Pixels, second_picture: Pixels) -> tuple[int, int]:
    """Returns the smaller height and the smaller width of two pictures."""
    height, width = first_picture.shape[:2]
    rows, columns = second_picture.shape[:2]
    return min(height, rows), min(width, columns)


def at_smaller_size(
    first_picture: Pixels, second_picture: Pixels
) -> tuple[Numbers, Numbers]:
    """Resizes both pictures to the smaller height and width, as float32 from 0 to 1.

    The aspect ratio of a picture may change. Resizing is bilinear between the centres
    of pixels, without smoothing or rounding.
    """
    import numpy

    height, width = smaller_size(first_picture, second_picture)
    sides: list[Numbers] = []
    for pixels in (first_picture, second_picture):
        numbers = numpy.asarray(pixels, numpy.float32) / numpy.float32(255)
        sides.append(_along(_along(numbers, height, 0), width, 1))
    first, second = sides
    return first, second


def _along(
    pixels: Numbers,
    size: int,
    axis: int,
) -> Numbers:
    import numpy

    length = pixels.shape[axis]
    if length == size:
        return pixels
    # Single precision throughout, since in double precision a value differs from
    # torch's by up to 1e-4.
    half = numpy.float32(0.5)
    middles = numpy.arange(size, dtype=numpy.float32) + half
    places = (middles * numpy.float32(length / size) - half).clip(min=0)
    before = places.astype(numpy.intp)
    after = numpy.minimum(before + 1, length - 1)
    other_axes = (1 - axis, 2)
    share = numpy.expand_dims(places - before.astype(numpy.float32), other_axes)
    resized: Numbers = pixels.take(before, axis) * (1 - share)
    resized += pixels.take(after, axis) * share
    return resized
