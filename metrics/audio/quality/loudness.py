"""Loudness of a recording, in LUFS (ITU-R BS.1770-4, one channel), by pyloudnorm.

The meter of pyloudnorm needs about twenty bytes of memory per sample. This module
therefore measures a recording in sections, and gates the blocks itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

BLOCK, STEP = 0.4, 0.1
"""Length of a block and distance between the starts of two blocks, in seconds."""
ABSOLUTE_GATE, RELATIVE_GATE = -70.0, -10.0
"""A block below the first level, in LUFS, is left out. The second level is relative to
the mean of the blocks above the first level."""
OFFSET = -0.691
"""Decibels that make the loudness of a sine of 997 Hz equal to its level."""
SHORTEST = BLOCK
"""Shortest sound in seconds. The loudness of a shorter sound is undefined."""
_AT_ONCE = 100
"""Number of blocks that are measured at once, called a section."""
_LEAD = 10
"""Number of blocks before a section, during which the filters settle."""


def loudness(samples: Samples) -> float:
    """Returns the integrated loudness in LUFS.

    The loudness is minus infinity if every block is below the gate.
    """
    import numpy
    import pyloudnorm

    meter, step = pyloudnorm.Meter(RATE), round(STEP * RATE)
    count = round((len(samples) / RATE - BLOCK) / STEP) + 1
    loudnesses: list[float] = []
    for first in range(0, count, _AT_ONCE):
        lead, last = min(first, _LEAD), min(first + _AT_ONCE, count)
        end = last - 1 + round(BLOCK / STEP)
        # Called only because it sets meter.blockwise_loudness.
        meter.integrated_loudness(samples[(first - lead) * step : end * step])
        loudnesses += meter.blockwise_loudness[lead:]
    blocks = numpy.array(loudnesses)
    powers = 10 ** ((blocks - OFFSET) / 10)
    is_counted = blocks >= ABSOLUTE_GATE
    if not is_counted.any():
        return -math.inf
    gate = OFFSET + 10 * math.log10(powers[is_counted].mean()) + RELATIVE_GATE
    return OFFSET + 10 * math.log10(powers[is_counted & (blocks > gate)].mean())
