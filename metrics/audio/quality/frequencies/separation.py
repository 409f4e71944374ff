"""Separates harmonic and percussive sound, and measures the sound that is neither.

The method is that of ``decompose.hpss`` in librosa 0.11, applied to amplitudes. The
harmonic sound is estimated by running medians over time, and the percussive sound by
running medians over frequencies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mmeval.metrics.audio.quality.frames import TINY
from mmeval.metrics.audio.quality.frequencies.spectrum import (
    amplitudes,
    blocks,
    frame_count,
)

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

HALF = 15
"""Number of rows on each side of a running median's middle row."""
NO_MARGIN = 1.0
"""The margin of the released code, with which the two masks sum to one."""


def separated_snr(samples: Samples, margin: float) -> float:
    """Returns the ratio of harmonic and percussive sound to the rest, in decibels.

    With a margin of 1 the rest is only rounding noise, so the result is about 120 for
    any sound, which is a defect of the released code. With a wider margin the rest is
    the sound that is not clearly harmonic or percussive.
    """
    import numpy

    separated = rest = 0.0
    count = frame_count(samples)
    for first, last in blocks(count):
        # A block includes its neighbours' frames, so its medians do not depend on where
        # the recording is cut.
        before, after = min(HALF, first), min(HALF, count - last)
        block = amplitudes(samples, first - before, last + after)
        inner = block[before : before + last - first]
        harmonic = running_median(block, HALF - before, HALF - after)
        percussive = running_median(inner.T, HALF, HALF).T
        both = inner * soft_mask(harmonic, percussive, margin)
        both += inner * soft_mask(percussive, harmonic, margin)
        remaining = numpy.maximum(inner - both, 0)
        separated += float(numpy.vdot(both, both))
        rest += float(numpy.vdot(remaining, remaining))
    if not separated:
        return -math.inf
    return 10 * math.log10(separated / (rest + TINY))


def running_median(
    rows: Samples,
    before: int,
    after: int,
) -> Samples:
    """Returns the medians of 31 neighbours along axis 0.

    ``before`` and ``after`` are the numbers of rows mirrored at the ends. The outermost
    row is repeated.
    """
    import bottleneck
    import numpy

    around = ((before, after), (0, 0))
    padded = numpy.pad(rows, around, mode="symmetric")
    medians: Samples = bottleneck.move_median(padded, 2 * HALF + 1, axis=0)
    return medians[2 * HALF :]


def soft_mask(
    target: Samples,
    other: Samples,
    margin: float,
) -> Samples:
    """Returns the share of each bin that belongs to ``target``.

    The share is the square of ``target`` divided by the sum of the squares of
    ``target`` and ``margin * other``. For an empty bin the share is 0, or 0.5 with
    margin 1.
    """
    import numpy

    other = other * numpy.float32(margin)
    largest = numpy.maximum(target, other)
    tiny = numpy.finfo(numpy.float32).tiny
    is_empty = largest < tiny
    largest[is_empty] = 1
    mask = numpy.square(target / largest)
    mask /= numpy.maximum(mask + numpy.square(other / largest), tiny)
    mask[is_empty] = 0.5 if margin == NO_MARGIN else 0.0
    return mask
