"""Periodicity: how similar a recording is to itself one period later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmeval.metrics.audio.quality.frames import TINY, framed
from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

LONG, LONG_HOP = 0.03, 0.01
"""Seconds of a frame, and between the starts of two."""
SHORTEST_LAG, LONGEST_LAG = RATE // 400, RATE // 50
"""Samples: the periods of 400 and of 50 Hz."""
_AT_ONCE = 256
"""Frames."""


def periodicity(samples: Samples) -> float:
    """Returns the median over frames of the highest autocorrelation; about 0 for noise.

    It falls with the length of the period, since less of the frame overlaps.
    """
    import numpy

    frames = framed(samples, LONG, LONG_HOP)
    if not len(frames):
        return 0.0
    peaks: list[Samples] = []
    for first in range(0, len(frames), _AT_ONCE):
        peaks.append(highest_peaks(frames[first : first + _AT_ONCE]))
    return float(numpy.median(numpy.concatenate(peaks)))


def highest_peaks(frames: Samples) -> Samples:
    """The highest autocorrelation of frames at a voice's lags, as a share of energy."""
    from scipy.fft import irfft, next_fast_len, rfft

    centred = frames - frames.mean(axis=1, keepdims=True)
    size = next_fast_len(frames.shape[1] + LONGEST_LAG, real=True)
    spectra = rfft(centred, n=size, axis=1)
    products = irfft((spectra * spectra.conj()).real, n=size, axis=1)
    energy = (centred * centred).sum(axis=1)
    peaks: Samples = products[:, SHORTEST_LAG : LONGEST_LAG + 1].max(axis=1)
    peaks /= energy + TINY
    return peaks
