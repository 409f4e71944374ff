"""The level of a recording: dynamics, clipping, silence, transients and crest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mmeval.metrics.audio.quality.frames import TINY, clipped, decibels, framed, rms
from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

RANGE, RANGE_HOP = 0.05, 0.025
"""Seconds of a frame for the dynamic range, and between the starts of two."""
LOUD_PERCENTILE, QUIET_PERCENTILE = 95, 5
FULL_SCALE = 0.995
"""A higher sample may be clipped."""
RUN = 4
"""Consecutive samples at full scale that count as clipped."""
SILENT_DB = -60.0
"""A quieter frame is silent."""
MOST_CLIPPED, MOST_OFFSET, MOST_SILENT = 0.02, 1e-3, 0.4
"""The values at which the score of the level is 0."""
ENVELOPE = RATE // 100
"""Samples over which the envelope is averaged."""
JUMP_PERCENTILE = 95
"""A step of the envelope above this percentile is a jump."""
STEP_TOLERANCE = 1e-9
"""How much higher a jump must be. It is far below the smallest step of 16-bit sound
(6e-8), and far above rounding errors (1e-10)."""
MOST_JUMPS = 0.2
"""The share of jumps at which the score of transients is 0."""
_AT_ONCE = 2**16
"""Samples."""


class LevelTerms(NamedTuple):
    """Clipped share of groups, distance of the mean from 0, silent share of frames."""

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
    """Returns the faults in the level of a recording."""
    levels = decibels(rms(framed(samples)))
    silent = 0.0
    if len(levels):
        silent = float((levels < SILENT_DB).mean())
    return LevelTerms(clip_share(samples), abs(float(samples.mean())), silent)


def clip_share(samples: Samples) -> float:
    """The share of runs of four samples at full scale; eight in a row are two runs."""
    import numpy

    full = (samples >= FULL_SCALE) | (samples <= -FULL_SCALE)
    if not full.any():
        return 0.0
    edges = numpy.flatnonzero(numpy.diff(full, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    return float((lengths // RUN).sum()) / (len(samples) / RUN)


def level_score(terms: LevelTerms) -> float:
    """1 without faults, less a third for each fault at its limit."""
    limits = (MOST_CLIPPED, MOST_OFFSET, MOST_SILENT)
    pairs = zip(terms, limits, strict=True)
    return sum(clipped(1 - share / most) for share, most in pairs) / len(limits)


def transient_score(samples: Samples) -> float:
    """Returns how few jumps the envelope has: about 0.75, and 1 if all steps are equal.

    By definition a twentieth of the steps are jumps, so it says nothing. It is kept as
    released. Steps that differ only by rounding are equal here; as released, the score
    of a steady tone depends on the processor.
    """
    import numpy

    steps = envelope_steps(samples)
    # overwrite_input only reorders the steps
    jump = numpy.percentile(steps, JUMP_PERCENTILE, overwrite_input=True)
    return clipped(1 - float((steps > jump + STEP_TOLERANCE).mean()) / MOST_JUMPS)


def envelope_steps(samples: Samples) -> Samples:
    """Returns the change of the envelope from each sample to the next: n - 1 steps.

    The envelope is the running mean of absolute samples, with zeros beyond both ends.
    It is computed in double precision and stored in single precision.
    """
    import numpy

    before = ENVELOPE // 2
    weights = numpy.full(ENVELOPE, 1 / ENVELOPE)
    steps = numpy.empty(len(samples) - 1, numpy.float32)
    for first in range(0, len(steps), _AT_ONCE):
        last = min(first + _AT_ONCE, len(steps))
        start, end = first - before, last + ENVELOPE - before
        sizes = numpy.abs(samples[max(0, start) : end])
        around = (max(0, -start), max(0, end - len(samples)))
        envelope = numpy.convolve(numpy.pad(sizes, around), weights, "valid")
        steps[first:last] = numpy.abs(numpy.diff(envelope))
    return steps


def crest(samples: Samples) -> float:
    """Decibels from the root mean square to the highest sample."""
    import numpy

    peak = max(float(samples.max()), -float(samples.min()))
    energies: list[float] = []
    for start in range(0, len(samples), _AT_ONCE):
        part = samples[start : start + _AT_ONCE]
        energies.append(float(numpy.vdot(part, part)))
    power = math.sqrt(sum(energies) / len(samples))
    return 20 * math.log10((peak + TINY) / (power + TINY))
