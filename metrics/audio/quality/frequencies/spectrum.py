"""The spectrum of a recording: structure, width, and hiss.

It is computed in blocks of frames, so a long recording takes no more memory than a
short one.
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
"""Samples."""
BINS = FRAME // 2 + 1
ENERGY_SHARE = 0.95
"""The filled band ends where this share of the energy lies below."""
FULL_BAND = 0.9
"""A band up to this share of the highest frequency is full."""
HISS_LOW, HISS_HIGH = 4_000.0, 12_000.0
"""Hz between which the slope of the spectrum shows hiss."""
HIGH_LOW, HIGH_HIGH = 7_000.0, 16_000.0
"""Hz: high frequencies."""
_TINY_HERTZ = 1e-9
_AT_ONCE = 256
"""Frames of a block."""


class Spectrum(NamedTuple):
    """The measures of a spectrum.

    Flatness of each frame, mean power of each bin, contrast in decibels, and tuning in
    thirds of a semitone.
    """

    flatness: Samples
    power: Doubles
    contrast_db: float
    tuning: float


def frame_count(samples: Samples) -> int:
    """The number of frames, centred on every ``HOP`` samples, the last past the end."""
    return math.ceil(len(samples) / HOP) + 1


def amplitudes(
    samples: Samples,
    first: int,
    last: int,
) -> Samples:
    """The amplitudes of frames ``first`` to before ``last``: shape (frames, bins).

    A sine of amplitude 1 has 0.5. A recording is zero beyond its ends.
    """
    import numpy
    from scipy.fft import rfft

    start, end = first * HOP - FRAME // 2, (last - 1) * HOP + FRAME // 2
    inside = samples[max(0, start) : max(0, end)]
    before = max(0, -start)
    padded = numpy.pad(inside, (before, end - start - before - len(inside)))
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, FRAME)[::HOP]
    # In double precision, as in scipy.signal.stft with padding. An empty band has only
    # rounding noise, which flatness and contrast measure.
    spectra = rfft(frames * _window(), axis=1).astype(numpy.complex64)
    absolute: Samples = numpy.abs(spectra)
    return absolute


def spectrum_of(samples: Samples) -> Spectrum:
    """Compute the whole spectrum once, block by block."""
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
    """Returns the first frame of each block, and the one after its last."""
    for first in range(0, count, at_once):
        yield first, min(first + at_once, count)


def flatness_of(amplitude: Samples) -> Samples:
    """Geometric over arithmetic mean of each frame's amplitudes: 0 a tone, 1 flat."""
    import numpy

    above = amplitude + numpy.float32(TINY)
    means = above.mean(axis=1)
    logarithms = numpy.log(above, out=above)
    flatness: Samples = numpy.exp(logarithms.mean(axis=1)) / means
    return flatness


def band_end(power: Doubles) -> float:
    """Hz below which nearly all energy lies; the highest frequency without energy."""
    import numpy

    shares = numpy.cumsum(power / (power.sum() + TINY))
    reached = BINS - 1
    if shares[-1] >= ENERGY_SHARE:
        reached = int(numpy.argmax(shares >= ENERGY_SHARE))
    return reached * RATE / FRAME


def bandwidth(power: Doubles) -> float:
    """Returns the filled share of the band, 0 to 1."""
    return clipped(band_end(power) / (FULL_BAND * RATE / 2))


def hiss_slope(power: Doubles) -> float:
    """The slope of power in the range of hiss: powers of ten per power of ten in Hz."""
    import numpy

    bins = _between(HISS_LOW, HISS_HIGH)
    frequency = numpy.log10(numpy.linspace(0, RATE / 2, BINS)[bins] + _TINY_HERTZ)
    level = numpy.log10(power[bins] + TINY)
    frequency = frequency - frequency.mean()
    return float(frequency @ (level - level.mean()) / (frequency @ frequency))


def high_share(power: Doubles) -> float:
    """Returns the share of the energy that lies in high frequencies."""
    high = power[_between(HIGH_LOW, HIGH_HIGH)]
    return float(high.sum() / (power.sum() + TINY))


@functools.cache
def _window() -> Doubles:
    """Returns a periodic Hann window over its sum, which is a power of two.

    It is rounded as scipy rounds it for samples of single precision.
    """
    import numpy

    at = numpy.arange(FRAME)
    window = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * at / FRAME)
    return (window / (FRAME / 2)).astype(numpy.float32).astype(numpy.float64)


def _between(low: float, high: float) -> slice:
    """Returns the bins of a range, both ends included."""
    first = math.ceil(low * FRAME / RATE)
    last = math.floor(high * FRAME / RATE)
    return slice(first, last + 1)
