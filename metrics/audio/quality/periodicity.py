"""Periodicity: how similar a recording is to itself one period later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmeval.metrics.audio.quality.frames import TINY, framed
from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

LONG, LONG_HOP = 0.03, 0.01
"""Length of a frame and distance between the starts of two frames, in seconds."""
SHORTEST_LAG, LONGEST_LAG = RATE // 400, RATE // 50
"""The periods of 400 Hz and of 50 Hz, in samples."""
_AT_ONCE = 256
"""Number of frames analysed in one step."""


def periodicity(samples: Samples) -> float:
    """Returns the median over frames of the highest autocorrelation.

    The result is about 0 for noise, and lower for longer periods, since less of the
    frame overlaps with its shifted copy.
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
    """Returns each frame's highest autocorrelation, as a share of its energy.

    Only the lags of a voice are searched.
    """
    from scipy.fft import irfft, next_fast_len, rfft

    centred = frames - frames.mean(axis=1, keepdims=True)
    size = next_fast_len(frames.shape[1] + LONGEST_LAG, real=True)
    spectra = rfft(centred, n=size, axis=1)
    products = irfft((spectra * spectra.conj()).real, n=size, axis=1)
    energy = (centred * centred).sum(axis=1)
    peaks: Samples = products[:, SHORTEST_LAG : LONGEST_LAG + 1].max(axis=1)
    peaks /= energy + TINY
    return peaks
