"""Tuning: how far a recording's tones deviate from an instrument tuned to 440 Hz.

The method is that of ``estimate_tuning`` in librosa 0.11 with its defaults, for 36
steps per octave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.audio.clips import Samples

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.floating[Any]]]

STEPS = 36
"""Number of steps in an octave: three for each semitone."""
LOWEST, HIGHEST = 150.0, 4_000.0
"""Range in Hz in which tones are detected."""
FAINTEST = 0.1
"""A tone is louder than this share of the highest amplitude in its frame."""
CONCERT_A = 440.0
"""The concert pitch in Hz."""
RESOLUTION = 100
"""Number of histogram bins per step, for counting deviations."""


class Peaks(NamedTuple):
    """The tones in frames: frequencies in Hz, and amplitudes on any scale."""

    hertz: Numbers
    height: Numbers


def peaks_of(amplitude: Samples) -> Peaks:
    """Returns the local maxima of frames.

    Each maximum is located at the top of a parabola through three bins.
    """
    import numpy

    width = RATE / (2 * (amplitude.shape[1] - 1))
    first = int(-(-LOWEST // width))
    last = int(-(-HIGHEST // width))
    middle = amplitude[:, first:last]
    below = amplitude[:, first - 1 : last - 1]
    above = amplitude[:, first + 1 : last + 1]
    highest = amplitude.max(axis=1, keepdims=True, initial=0)
    is_audible = middle > numpy.float32(FAINTEST) * highest
    tones = numpy.nonzero(is_audible & (middle > below) & (middle >= above))
    here, left, right = middle[tones], below[tones], above[tones]
    curve, slope = right + left - 2 * here, (right - left) / 2
    flat = numpy.abs(slope) >= numpy.abs(curve)
    shift = numpy.where(flat, 0, -slope / numpy.where(flat, 1, curve))
    return Peaks((tones[1] + first + shift) * width, here + slope * shift / 2)


def tuning_of(peaks: Sequence[Peaks]) -> float:
    """Returns the most frequent deviation of the louder tones, or 0 without tones.

    The deviation is from -0.5 to 0.5 steps.
    """
    import numpy

    hertz, height = map(numpy.concatenate, zip(*peaks, strict=True))
    if not len(hertz):
        return 0.0
    louder = hertz[height >= numpy.median(height)]
    steps = STEPS * numpy.log2(louder / (CONCERT_A / 16))
    deviations = numpy.mod(steps, 1.0)
    deviations[deviations >= 0.5] -= 1.0
    edges = numpy.linspace(-0.5, 0.5, RESOLUTION + 1)
    counts, _ = numpy.histogram(deviations, edges)
    return float(edges[numpy.argmax(counts)])
