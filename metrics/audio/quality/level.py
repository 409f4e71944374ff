"""Measures a recording's level: dynamics, clipping, silence, transients and crest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mmeval.metrics.audio.quality.frames import TINY, clipped, decibels, framed, rms
from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

RANGE, RANGE_HOP = 0.05, 0.025
"""Length of a frame for the dynamic range, and distance between the starts of two
frames, in seconds."""
LOUD_PERCENTILE, QUIET_PERCENTILE = 95, 5
FULL_SCALE = 0.995
"""A sample from this amplitude on may be clipped."""
RUN = 4
"""Number of consecutive samples at full scale that count as clipped."""
SILENT_DB = -60.0
"""A quieter frame is silent."""
MOST_CLIPPED, MOST_OFFSET, MOST_SILENT = 0.02, 1e-3, 0.4
"""The clipped share, offset and silent share at which each loses its full third of the
score."""
ENVELOPE = RATE // 100
"""Number of samples over which the envelope is averaged."""
JUMP_PERCENTILE = 95
"""A step of the envelope above this percentile is a jump."""
STEP_TOLERANCE = 1e-9
"""A jump must exceed the percentile by more than this. The tolerance is far below the
smallest step of 16-bit sound (6e-8) and above rounding errors (1e-10)."""
MOST_JUMPS = 0.2
"""The share of jumps at which the score of transients is 0."""
_AT_ONCE = 2**16
"""Number of samples processed in one step."""


class LevelTerms(NamedTuple):
    """The share of clipped runs, the mean's distance from 0, and the silent share."""

    clipped: float
    offset: float
    silent: float


def dynamic_range(samples: Samples) -> float:
    """Returns the difference between loud and quiet frames in decibels."""
    import numpy

    levels = decibels(rms(framed(samples, RANGE, RANGE_HOP)))
    if not len(levels):
        return 0.0
    loud = numpy.percentile(levels, LOUD_PERCENTILE)
    return float(loud - numpy.percentile(levels, QUIET_PERCENTILE))


def level_terms(samples: Samples) -> LevelTerms:
    """Measures the faults in the level of a recording."""
    levels = decibels(rms(framed(samples)))
    silent = 0.0
    if len(levels):
        silent = float((levels < SILENT_DB).mean())
    return LevelTerms(clip_share(samples), abs(float(samples.mean())), silent)


def clip_share(samples: Samples) -> float:
    """Returns the share of runs of four samples that are at full scale.

    Eight such samples in a row count as two runs.
    """
    import numpy

    full = (samples >= FULL_SCALE) | (samples <= -FULL_SCALE)
    if not full.any():
        return 0.0
    edges = numpy.flatnonzero(numpy.diff(full, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    return float((lengths // RUN).sum()) / (len(samples) / RUN)


def level_score(terms: LevelTerms) -> float:
    """Returns 1 minus the faults. Each fault at its limit costs a third."""
    limits = (MOST_CLIPPED, MOST_OFFSET, MOST_SILENT)
    pairs = zip(terms, limits, strict=True)
    return sum(clipped(1 - share / most) for share, most in pairs) / len(limits)


def transient_score(samples: Samples) -> float:
    """Returns a score that is higher for fewer jumps of the envelope.

    By definition a twentieth of the steps are jumps, so the score is about 0.75 for any
    sound, and 1 if all steps are equal. The score carries no information and is kept
    only to match the released scorer. Steps that differ only by rounding count as equal
    here. In the released scorer the score of a steady tone depends on the processor.
    """
    import numpy

    steps = envelope_steps(samples)
    # overwrite_input saves a copy and only reorders the steps.
    jump = numpy.percentile(steps, JUMP_PERCENTILE, overwrite_input=True)
    return clipped(1 - float((steps > jump + STEP_TOLERANCE).mean()) / MOST_JUMPS)


def envelope_steps(samples: Samples) -> Samples:
    """Returns the n - 1 changes of the envelope from each sample to the next.

    The envelope is the running mean of absolute samples, with zeros beyond both ends.
    The mean is computed in double precision and stored in single precision.
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
    """Returns how far the highest sample is above the root mean square, in decibels."""
    import numpy

    peak = max(float(samples.max()), -float(samples.min()))
    energies: list[float] = []
    for start in range(0, len(samples), _AT_ONCE):
        part = samples[start : start + _AT_ONCE]
        energies.append(float(numpy.vdot(part, part)))
    power = math.sqrt(sum(energies) / len(samples))
    return 20 * math.log10((peak + TINY) / (power + TINY))
