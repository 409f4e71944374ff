"""Separates harmonic and percussive sound, and measures the rest that is neither.

As ``decompose.hpss`` of librosa 0.11 for amplitudes: running medians find what lasts in
time (harmonic) and what spreads over frequencies (percussive).
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
"""Rows on each side of the middle of a running median."""
NO_MARGIN = 1.0
"""The margin of the released code, at which the two masks sum to one."""


def separated_snr(samples: Samples, margin: float) -> float:
    """Decibels of harmonic and percussive sound over what is neither.

    With a margin of 1 the rest is only rounding noise, so that this is about 120 for
    any sound: a defect of the released code. With a wider margin the rest is what is
    not clearly one or the other.
    """
    import numpy

    kept = rest = 0.0
    count = frame_count(samples)
    for first, last in blocks(count):
        before, after = min(HALF, first), min(HALF, count - last)
        block = amplitudes(samples, first - before, last + after)
        here = block[before : before + last - first]
        lasting = running_median(block, HALF - before, HALF - after)
        spread = running_median(here.T, HALF, HALF).T
        both = here * soft_mask(lasting, spread, margin)
        both += here * soft_mask(spread, lasting, margin)
        left = numpy.maximum(here - both, 0)
        kept += float(numpy.vdot(both, both))
        rest += float(numpy.vdot(left, left))
    if not kept:
        return -math.inf
    return 10 * math.log10(kept / (rest + TINY))


def running_median(
    rows: Samples,
    before: int,
    after: int,
) -> Samples:
    """Medians of 31 neighbours along axis 0, with so many more rows mirrored at both
    ends, the outermost one twice."""
    import bottleneck
    import numpy

    around = ((before, after), (0, 0))
    padded = numpy.pad(rows, around, mode="symmetric")
    found: Samples = bottleneck.move_median(padded, 2 * HALF + 1, axis=0)
    return found[2 * HALF :]


def soft_mask(
    wanted: Samples,
    other: Samples,
    margin: float,
) -> Samples:
    """The share of each bin that belongs to ``wanted``. Its square over the sum of
    both, ``other`` first times the margin; an empty bin is 0, or a half at margin 1."""
    import numpy

    other = other * numpy.float32(margin)
    largest = numpy.maximum(wanted, other)
    tiny = numpy.finfo(numpy.float32).tiny
    none = largest < tiny
    largest[none] = 1
    mask = numpy.square(wanted / largest)
    mask /= numpy.maximum(mask + numpy.square(other / largest), tiny)
    mask[none] = 0.5 if margin == NO_MARGIN else 0.0
    return mask
