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


def at_smaller_size(one: Pixels, other: Pixels) -> tuple[Numbers, Numbers]:
    """Both pictures with the lesser height and the lesser width of the two, as float32
    from 0 to 1.

    Each is resized alone, so that its sides may get another ratio: bilinear between the
    centres of pixels, without smoothing and without rounding.
    """
    import numpy

    height, width = (
        min(sides) for sides in zip(one.shape[:2], other.shape[:2], strict=True)
    )
    floats = (
        numpy.asarray(side, numpy.float32) / numpy.float32(255) for side in (one, other)
    )
    first, second = (_along(_along(side, height, 0), width, 1) for side in floats)
    return first, second


def _along(pixels: Numbers, wanted: int, axis: int) -> Numbers:
    import numpy

    length = pixels.shape[axis]
    if length == wanted:
        return pixels
    # Single precision throughout: with places of double precision a value differs from
    # torch's by up to 1e-4.
    half = numpy.float32(0.5)
    places = (
        (numpy.arange(wanted, dtype=numpy.float32) + half)
        * numpy.float32(length / wanted)
        - half
    ).clip(min=0)
    before = places.astype(numpy.intp)
    after = numpy.minimum(before + 1, length - 1)
    share = numpy.expand_dims(
        places - before.astype(numpy.float32), (1, 2) if axis == 0 else (0, 2)
    )
    found: Numbers = (
        pixels.take(before, axis) * (1 - share) + pixels.take(after, axis) * share
    )
    return found
