"""Loudness of a whole recording, in LUFS (ITU-R BS.1770-4, one channel), by pyloudnorm.

Its meter takes about twenty bytes a sample, so that a recording is measured in pieces
and its blocks are gated here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

BLOCK, STEP = 0.4, 0.1
"""Seconds of a block, and between the starts of two."""
ABSOLUTE_GATE, RELATIVE_GATE = -70.0, -10.0
"""LUFS below which a block does not count, and how far below the mean of the others it
may be."""
OFFSET = -0.691
"""Decibels by which the loudness of a sine of 997 Hz equals its level."""
SHORTEST = BLOCK
"""Seconds: the loudness of a shorter sound is not defined."""
_AT_ONCE = 100
"""Blocks of a piece."""
_LEAD = 10
"""Blocks before a piece, at the end of which its filters have forgotten where they
began."""


def loudness(samples: Samples) -> float:
    """Integrated loudness in LUFS; minus infinity where every block is below the
    gate."""
    import numpy
    import pyloudnorm

    meter, step = pyloudnorm.Meter(RATE), round(STEP * RATE)
    count = round((len(samples) / RATE - BLOCK) / STEP) + 1
    found: list[float] = []
    for first in range(0, count, _AT_ONCE):
        lead, last = min(first, _LEAD), min(first + _AT_ONCE, count)
        end = last - 1 + round(BLOCK / STEP)
        meter.integrated_loudness(samples[(first - lead) * step : end * step])
        found += meter.blockwise_loudness[lead:]
    blocks = numpy.array(found)
    powers = 10 ** ((blocks - OFFSET) / 10)
    heard = blocks >= ABSOLUTE_GATE
    if not heard.any():
        return -math.inf
    gate = OFFSET + 10 * math.log10(powers[heard].mean()) + RELATIVE_GATE
    return OFFSET + 10 * math.log10(powers[heard & (blocks > gate)].mean())
