"""Grey, blur and half size as OpenCV computes them, to the last bit, without it.

In areas that are uniform or rise evenly, the released scorer of pictures measures only the rounding errors of a blur.
Its numbers need the same rounding: that of OpenCV 4.12 on a processor with fused multiplication.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.pictures import Pixels
    from mmeval.metrics.image.quality.aggd import Numbers

    Indices: TypeAlias = np.ndarray[Any, np.dtype[np.intp]]
    Whole: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]

RED, GREEN, BLUE, GREY_BITS = 9798, 19235, 3735, 15
"""The weights of the channels in the brightness, as fractions of 2 to the power of ``GREY_BITS``."""
SHARE_BITS = 11
"""Shares of a pixel are fractions of 2 to this power."""
REACH = 3
"""Pixels that a window of 7 x 7 reaches to each side."""
WINDOWS: Mapping[float, tuple[str, str, str, str]] = {
    1.16: ("0x1.8e692155eb036p-7", "0x1.3f3deab9801b2p-4", "0x1.e6a68641759c0p-3", "0x1.60d3f24c6ba65p-2"),
    1.5: ("0x1.2c18a51a3e5e7p-5", "0x1.c7ce552574441p-4", "0x1.bbe4f897eb627p-3", "0x1.152db38ecae3ep-2"),
}
"""Half of the Gaussian window of 7 pixels by its deviation, from the outermost to the middle: the normalised Gaussian
except for the last bit, which depends on OpenCV's own exponential function."""
STRIP = 2**16
"""Pixels that are processed in one step, to bound the memory."""
_SPLITTER = 2.0**27 + 1


def grey(pixels: Pixels) -> Pixels:
    """The brightness of (height, width, 3) bytes as bytes, in rounded fixed point."""
    import numpy

    found = numpy.empty(pixels.shape[:2], numpy.uint8)
    rows = max(1, STRIP // pixels.shape[1])
    for top in range(0, len(pixels), rows):
        strip = pixels[top : top + rows].astype(numpy.uint32)
        total = strip[..., 0] * RED + strip[..., 1] * GREEN + strip[..., 2] * BLUE
        found[top : top + rows] = (total + (1 << (GREY_BITS - 1))) >> GREY_BITS
    return found


def halved(pixels: Pixels) -> Pixels:
    """A picture (height, width, 3) of at least two pixels a side in half its size.
    The mean of two by two, or with an odd side linear interpolation in fixed point."""
    import numpy

    height, width = pixels.shape[:2]
    if height % 2 == width % 2 == 0:
        wide = pixels.astype(numpy.uint16)
        pairs = wide[::2] + wide[1::2]
        return ((pairs[:, ::2] + pairs[:, 1::2] + 2) >> 2).astype(numpy.uint8)
    down, across = _lines(height), _lines(width)
    rows = pixels.astype(numpy.int32)
    rows = rows[:, across.first] * across.rest[:, None] + rows[:, across.second] * across.share[:, None]
    rows >>= 4
    first, second = (rows[at] * share[:, None, None] for at, share in zip(down[:2], down[2:], strict=True))
    found: Pixels = (((first >> 16) + (second >> 16) + 2) >> 2).astype(numpy.uint8)
    return found


class _Lines(NamedTuple):
    """For each place, its two neighbours and the share of each."""

    first: Indices
    second: Indices
    rest: Whole
    share: Whole


def _lines(side: int) -> _Lines:
    import numpy

    count = side // 2
    at = ((numpy.arange(count) + 0.5) * (side / count) - 0.5).astype(numpy.float32)
    first = numpy.floor(at).astype(numpy.intp)
    share = at - first.astype(numpy.float32)
    one = 1 << SHARE_BITS
    rest, part = (numpy.rint(some * one).astype(numpy.int32) for some in (1 - share, share))
    return _Lines(first, numpy.minimum(first + 1, side - 1), rest, part)


def mirrored(picture: Pixels, top: int, last: int) -> Numbers:
    """Some rows of a grey picture with ``REACH`` more rows and columns on each side.
    Mirrored at the borders without repeating the outermost."""
    height, width = picture.shape
    rows, columns = _mirrored(top - REACH, last + REACH, height), _mirrored(-REACH, width + REACH, width)
    return picture[rows][:, columns].astype(float)


def blurred(band: Numbers, deviation: float) -> Numbers:
    """Blur by a 7 x 7 Gaussian of ``WINDOWS``; drops ``REACH`` pixels on each side.

    Rows from left to right, then columns from the middle to both ends: this order decides the rounding.
    """
    kernel = window(deviation)
    height, width = (side - 2 * REACH for side in band.shape)
    rows = kernel[0] * band[:, :width]
    for at in range(1, 2 * REACH + 1):
        rows = fused(kernel[at], band[:, at : at + width], rows)
    found = kernel[REACH] * rows[REACH : REACH + height]
    for away in range(1, REACH + 1):
        pair = rows[REACH + away : REACH + away + height] + rows[REACH - away : REACH - away + height]
        found = fused(kernel[REACH + away], pair, found)
    return found


def window(deviation: float) -> tuple[float, ...]:
    """The seven numbers of a window."""
    half = tuple(map(float.fromhex, WINDOWS[deviation]))
    return (*half, *half[-2::-1])


def fused(factor: float, numbers: Numbers, added: Numbers) -> Numbers:
    """``factor * numbers + added``, rounded once (Dekker's product and Knuth's sum)."""
    product = factor * numbers
    (high, low), (upper, lower) = _split(factor), _split(numbers)
    lost = ((high * upper - product) + high * lower + low * upper) + low * lower
    total = product + added
    part = total - product
    lost += (product - (total - part)) + (added - part)
    total += lost
    return total


def _split(number: Any) -> tuple[Any, Any]:
    """Numbers split into two halves of their digits; ``Any``: one number or an array."""
    wide = _SPLITTER * number
    high = wide - (wide - number)
    return high, number - high


def _mirrored(first: int, last: int, size: int) -> Indices:
    """Places ``first`` to before ``last``, mirrored at the borders as often as needed."""
    import numpy

    if size == 1:
        return numpy.zeros(last - first, numpy.intp)
    at = numpy.arange(first, last) % (2 * size - 2)
    return numpy.minimum(at, 2 * size - 2 - at)
