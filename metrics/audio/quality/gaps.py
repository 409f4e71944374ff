"""Measures gaps, the silence in the middle of a recording, and their penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mmeval.metrics.audio.quality.frames import (
    SHORT_HOP,
    clipped,
    decibels,
    framed,
    rms,
)
from mmeval.metrics.audio.quality.recording import AUDIBLE, KEPT, RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples
    from mmeval.metrics.audio.quality.frames import Flags

LOUDEST = 0.3
"""The share of the loudest frames whose median level is the reference level."""
BELOW_DB = 20.0
"""A frame is silent if it is more than this number of decibels below the reference."""
LOWEST_DB, HIGHEST_DB = -55.0, -30.0
"""A frame below the first level is always silent. A frame above the second level is
silent only if enough of its samples are silent."""
SILENT_SHARE = 0.97
"""A frame is silent if its share of silent samples is larger than this."""
SHORT_GAP = 0.1
"""Seconds of silence that are not penalised."""
GAP_SPAN, MOST_COST = 0.8, 0.98
"""The share of the middle section at which a gap would cost 1, and the highest cost."""
ENOUGH_ACTIVE, COST_OF_ABSENCE, LEAST = 0.85, 2.0, 0.1
"""The share of active frames from which on nothing is deducted, the slope of the
penalty below this share, and the lowest factor."""
MUCH_SILENCE, STEEPNESS = 0.35, 4.0
"""The share of silent frames above which the penalty grows, and its steepness."""
_AT_ONCE = 1024
"""Number of frames inspected in one step."""


class Gaps(NamedTuple):
    """The longest silence in seconds, the share of silent frames, and the factor."""

    longest: float
    silent: float
    factor: float


def gaps_of(samples: Samples) -> Gaps:
    """Measures the gaps of a recording.

    A recording that is too short to have a middle section has no gaps.
    """
    import numpy

    # The recording keeps this much silence at both ends, which are not gaps.
    around = int(KEPT * RATE)
    middle = samples[around:-around]
    frames = framed(middle)
    if not len(frames):
        return Gaps(0.0, 0.0, 1.0)
    silent = silent_frames(frames)
    edges = numpy.flatnonzero(numpy.diff(silent, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    longest = float(lengths.max(initial=0)) * SHORT_HOP
    share = float(silent.mean())
    return Gaps(longest, share, gap_factor(longest, share, seconds=len(middle) / RATE))


def silent_frames(frames: Samples) -> Flags:
    """Returns a flag for each frame: True if the frame is silent.

    The reference level is the median level of the loudest frames.
    """
    import numpy

    levels = decibels(rms(frames))
    count = max(1, int(LOUDEST * len(levels)))
    loudest = float(numpy.median(numpy.sort(levels)[-count:]))
    threshold = clipped(loudest - BELOW_DB, LOWEST_DB, HIGHEST_DB)
    # In parts, since overlapping frames take several times a recording's memory.
    shares = numpy.empty(len(frames))
    for first in range(0, len(frames), _AT_ONCE):
        part = frames[first : first + _AT_ONCE]
        inaudible = numpy.abs(part) < AUDIBLE
        shares[first : first + len(part)] = inaudible.mean(axis=1)
    silent: Flags = (levels < threshold) | (shares > SILENT_SHARE)
    return silent


def gap_factor(
    longest: float,
    silent: float,
    *,
    seconds: float,
) -> float:
    """Returns the factor, from 0 to 1, for the longest silence and the silent share.

    ``seconds`` is the length of the recording's middle section.
    """
    gap = cover = 1.0
    if longest > SHORT_GAP:
        gap -= min(MOST_COST, (longest - SHORT_GAP) / (GAP_SPAN * seconds))
    active = 1 - silent
    if active < ENOUGH_ACTIVE:
        cover = max(LEAST, 1 - COST_OF_ABSENCE * (ENOUGH_ACTIVE - active))
    return clipped(gap * cover) / (1 + STEEPNESS * max(0.0, silent - MUCH_SILENCE))
