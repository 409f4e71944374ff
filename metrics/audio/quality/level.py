"""The level of a recording: dynamics, clipping, silence, transients and crest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mmeval.metrics.audio.quality.frames import TINY, clipped, decibels, framed, rms
from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

RANGE, RANGE_HOP = 0.05, 0.025
"""Seconds of a frame of which the dynamic range is made, and between the starts of
two."""
LOUD_PERCENTILE, QUIET_PERCENTILE = 95, 5
FULL_SCALE = 0.995
"""A sample that is higher may be clipped."""
RUN = 4
"""Consecutive samples at full scale that count as clipped."""
SILENT_DB = -60.0
"""A frame that is quieter is silent."""
MOST_CLIPPED, MOST_OFFSET, MOST_SILENT = 0.02, 1e-3, 0.4
"""The values at which the score of the level is 0."""
ENVELOPE = RATE // 100
"""Samples over which the envelope is averaged."""
JUMP_PERCENTILE = 95
"""The percentile of the envelope's steps above which a step is a jump."""
STEP_TOLERANCE = 1e-9
"""How much higher a step must be: far below the least of 16-bit sound (6e-8), far above
what rounding adds (1e-10)."""
MOST_JUMPS = 0.2
"""The share of jumps at which the score of transients is 0."""
_AT_ONCE = 2**16
"""Samples."""


class LevelTerms(NamedTuple):
    """Clipped share of groups, distance of the mean from zero, silent share of
    frames."""

    clipped: float
    offset: float
    silent: float


def dynamic_range(samples: Samples) -> float:
    """Decibels between loud and quiet frames."""
    import numpy

    levels = decibels(rms(framed(samples, RANGE, RANGE_HOP)))
    if not len(levels):
        return 0.0
    loud = numpy.percentile(levels, LOUD_PERCENTILE)
    return float(loud - numpy.percentile(levels, QUIET_PERCENTILE))


def level_terms(samples: Samples) -> LevelTerms:
    """The faults in the level of a recording."""
    levels = decibels(rms(framed(samples)))
    silent = 0.0
    if len(levels):
        silent = float((levels < SILENT_DB).mean())
    return LevelTerms(clip_share(samples), abs(float(samples.mean())), silent)


def clip_share(samples: Samples) -> float:
    """The share of groups of four samples in a row at full scale; eight count twice."""
    import numpy

    full = (samples >= FULL_SCALE) | (samples <= -FULL_SCALE)
    if not full.any():
        return 0.0
    edges = numpy.flatnonzero(numpy.diff(full, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    return float((lengths // RUN).sum()) / (len(samples) / RUN)


def level_score(terms: LevelTerms) -> float:
    """1 without faults, a third less for each fault in full."""
    limits = (MOST_CLIPPED, MOST_OFFSET, MOST_SILENT)
    pairs = zip(terms, limits, strict=True)
    return sum(clipped(1 - found / most) for found, most in pairs) / len(limits)


def transient_score(samples: Samples) -> float:
    """How few jumps the envelope has: about 0.75, and 1 where all steps are equal. By
    definition a twentieth of its steps are jumps: it says nothing, and is kept as
    released. Steps that differ by rounding alone are equal here: as released, the score
    of a steady tone depends on the processor."""
    import numpy

    steps = envelope_steps(samples)
    # overwriting only reorders them
    jump = numpy.percentile(steps, JUMP_PERCENTILE, overwrite_input=True)
    return clipped(1 - float((steps > jump + STEP_TOLERANCE).mean()) / MOST_JUMPS)


def envelope_steps(samples: Samples) -> Samples:
    """How far the envelope moves from each sample to the next: n - 1 steps. It is the
    running mean of absolute samples, with zeros beyond both ends, in double precision
    and kept in single."""
    import numpy

    before = ENVELOPE // 2
    weights = numpy.full(ENVELOPE, 1 / ENVELOPE)
    steps = numpy.empty(len(samples) - 1, numpy.float32)
    for first in range(0, len(steps), _AT_ONCE):
        last = min(first + _AT_ONCE, len(steps))
        start, end = first - before, last + ENVELOPE - before
        sizes = numpy.abs(samples[max(0, start) : end])
        around = (max(0, -start), max(0, end - len(samples)))
        found = numpy.convolve(numpy.pad(sizes, around), weights, "valid")
        steps[first:last] = numpy.abs(numpy.diff(found))
    return steps


def crest(samples: Samples) -> float:
    """Decibels of the highest sample over the root mean square."""
    import numpy

    peak = max(float(samples.max()), -float(samples.min()))
    energies: list[float] = []
    for at in range(0, len(samples), _AT_ONCE):
        part = samples[at : at + _AT_ONCE]
        energies.append(float(numpy.vdot(part, part)))
    power = math.sqrt(sum(energies) / len(samples))
    return 20 * math.log10((peak + TINY) / (power + TINY))
