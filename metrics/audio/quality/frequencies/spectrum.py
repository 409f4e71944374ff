"""Measures the spectrum of a recording: structure, width and hiss.

The spectrum is computed in blocks of frames, so a long recording takes no more memory
than a short one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mmeval.metrics.audio.quality.frames import TINY, clipped
from mmeval.metrics.audio.quality.frequencies.contrast import contrast_of, extremes
from mmeval.metrics.audio.quality.frequencies.tuning import Peaks, peaks_of, tuning_of
from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.audio.clips import Samples

    Doubles: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

FRAME, HOP = 2048, 512
"""Length of a frame and distance between the starts of two frames, in samples."""
BINS = FRAME // 2 + 1
ENERGY_SHARE = 0.95
"""The filled band ends at the frequency below which this share of the energy lies."""
FULL_BAND = 0.9
"""A band that reaches this share of the highest frequency counts as full."""
HISS_LOW, HISS_HIGH = 4_000.0, 12_000.0
"""Range in Hz in which the slope of the spectrum indicates hiss."""
HIGH_LOW, HIGH_HIGH = 7_000.0, 16_000.0
"""Range of the high frequencies in Hz."""
_TINY_HERTZ = 1e-9
_AT_ONCE = 256
"""Number of frames in a block."""


class Spectrum(NamedTuple):
    """The measures of a spectrum.

    The fields are the flatness of each frame, the mean power of each bin, the contrast
    in decibels, and the tuning in thirds of a semitone.
    """

    flatness: Samples
    power: Doubles
    contrast_db: float
    tuning: float


def frame_count(samples: Samples) -> int:
    """Returns the number of frames.

    Frames are centred on multiples of ``HOP`` samples. The last centre is past the end
    of the recording.
    """
    return math.ceil(len(samples) / HOP) + 1


def amplitudes(
    samples: Samples,
    first: int,
    last: int,
) -> Samples:
    """Returns the amplitudes of frames, of shape (frames, bins).

    The frames are those from ``first`` up to, but not including, ``last``. The value
    for a sine of amplitude 1 is 0.5. Beyond its ends, a recording is padded with zeros.
    """
    import numpy
    from scipy.fft import rfft

    start, end = first * HOP - FRAME // 2, (last - 1) * HOP + FRAME // 2
    inside = samples[max(0, start) : max(0, end)]
    before = max(0, -start)
    padded = numpy.pad(inside, (before, end - start - before - len(inside)))
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, FRAME)[::HOP]
    # In double precision, as in scipy.signal.stft with padding: an empty band contains
    # only rounding noise, and this noise affects flatness and contrast.
    spectra = rfft(frames * _window(), axis=1).astype(numpy.complex64)
    absolute: Samples = numpy.abs(spectra)
    return absolute


def spectrum_of(samples: Samples) -> Spectrum:
    """Computes all measures of the spectrum in one pass, block by block."""
    import numpy

    flatness: list[Samples] = []
    valleys: list[Samples] = []
    tops: list[Samples] = []
    peaks: list[Peaks] = []
    power = numpy.zeros(BINS)
    count, centred = frame_count(samples), 1 + len(samples) // HOP
    for first, last in blocks(count):
        amplitude = amplitudes(samples, first, last)
        flatness.append(flatness_of(amplitude))
        power += numpy.einsum("ij,ij->j", amplitude, amplitude)
        valley, top = extremes(amplitude)
        valleys.append(valley)
        tops.append(top)
        peaks.append(peaks_of(amplitude[: max(0, centred - first)]))
    contrast = contrast_of(numpy.concatenate(valleys), numpy.concatenate(tops))
    return Spectrum(
        numpy.concatenate(flatness), power / count, contrast, tuning_of(peaks)
    )


def blocks(count: int, at_once: int = _AT_ONCE) -> Iterator[tuple[int, int]]:
    """Yields the first frame of each block and the frame after its last."""
    for first in range(0, count, at_once):
        yield first, min(first + at_once, count)


def flatness_of(amplitude: Samples) -> Samples:
    """Returns each frame's flatness: 0 for a tone, 1 for a flat spectrum.

    Flatness is the geometric mean of the amplitudes divided by their arithmetic mean.
    """
    import numpy

    above = amplitude + numpy.float32(TINY)
    means = above.mean(axis=1)
    logarithms = numpy.log(above, out=above)
    flatness: Samples = numpy.exp(logarithms.mean(axis=1)) / means
    return flatness


def band_end(power: Doubles) -> float:
    """Returns the frequency in Hz below which ``ENERGY_SHARE`` of the energy lies.

    Without any energy, the highest frequency is returned.
    """
    import numpy

    shares = numpy.cumsum(power / (power.sum() + TINY))
    reached = BINS - 1
    if shares[-1] >= ENERGY_SHARE:
        reached = int(numpy.argmax(shares >= ENERGY_SHARE))
    return reached * RATE / FRAME


def bandwidth(power: Doubles) -> float:
    """Returns how much of the band is filled, from 0 to 1."""
    return clipped(band_end(power) / (FULL_BAND * RATE / 2))


def hiss_slope(power: Doubles) -> float:
    """Returns the slope of power over frequency in the range of hiss.

    Power and frequency are logarithms to base 10.
    """
    import numpy

    bins = _between(HISS_LOW, HISS_HIGH)
    frequency = numpy.log10(numpy.linspace(0, RATE / 2, BINS)[bins] + _TINY_HERTZ)
    level = numpy.log10(power[bins] + TINY)
    frequency = frequency - frequency.mean()
    return float(frequency @ (level - level.mean()) / (frequency @ frequency))


def high_share(power: Doubles) -> float:
    """Returns the share of the energy that is in high frequencies."""
    high = power[_between(HIGH_LOW, HIGH_HIGH)]
    return float(high.sum() / (power.sum() + TINY))


@functools.cache
def _window() -> Doubles:
    """Returns a periodic Hann window, divided by its sum, which is a power of two.

    The values are rounded as scipy rounds them for samples of single precision.
    """
    import numpy

    at = numpy.arange(FRAME)
    window = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * at / FRAME)
    return (window / (FRAME / 2)).astype(numpy.float32).astype(numpy.float64)


def _between(low: float, high: float) -> slice:
    """Returns the bins of a range of frequencies, both ends included."""
    first = math.ceil(low * FRAME / RATE)
    last = math.floor(high * FRAME / RATE)
    return slice(first, last + 1)
