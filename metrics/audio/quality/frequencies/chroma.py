"""Chroma: how energy moves among the twelve semitones, added up over all octaves.

The numbers equal those of ``feature.chroma_cqt`` of librosa 0.11 with its defaults for
48 kHz. Chroma is computed by a constant-Q transform of seven octaves from C1, with 36
bins each. Each octave is analysed at twice the rate of the octave below, so the filters
of the top octave serve all seven.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mmeval.metrics.audio.quality.frequencies.tuning import STEPS
from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.audio.clips import Samples

    Complex: TypeAlias = np.ndarray[Any, np.dtype[np.complex64]]

LOWEST = 440.0 * 2.0 ** (-45 / 12)
"""Frequency of the note C1 in Hz."""
OCTAVES, CLASSES = 7, 12
HOP = 256
"""Samples between two frames at half the rate, which suffices for the top octave."""
FRAME = 1024
"""Length in samples of an octave's longest filter, rounded up to a power of two."""
DROPPED = 0.01
"""The faintest bins of a filter are dropped, up to this share of the filter's summed
amplitudes."""
_AT_ONCE = 512
"""Number of frames transformed in one step."""


class Filters(NamedTuple):
    """An octave's filters: weights of shape (bins, filters) for bins from ``start``."""

    start: int
    passed: Complex


def chroma_variance(samples: Samples, tuning: float) -> float:
    """Returns the median over the twelve classes of their variance over time.

    Each frame is scaled so that its largest class is 1.
    """
    import numpy

    return float(numpy.median(chroma(samples, tuning).var(axis=0)))


def chroma(samples: Samples, tuning: float) -> Samples:
    """Returns chroma from 0 to 1, of shape (frames, 12), beginning with C.

    ``tuning`` is in thirds of a semitone.
    """
    import numpy

    filters = filters_of(tuning)
    octave = halved(samples)
    count = 1 + len(octave) // HOP
    total = numpy.zeros((count, CLASSES), numpy.float32)
    for number in range(OCTAVES):
        if number:
            octave = halved(octave)
        count = min(count, _add_octave(total[:count], octave, HOP >> number, filters))
    total = total[:count]
    most = total.max(axis=1, keepdims=True)
    most[most < numpy.finfo(numpy.float32).tiny] = 1
    total /= most
    return total


def halved(samples: Samples) -> Samples:
    """Resamples to half the rate with equal energy, as librosa does.

    The length is rounded up.
    """
    import numpy
    import soxr

    halves: Samples = soxr.resample(samples, 2, 1, quality="soxr_hq")
    count = (len(samples) + 1) // 2
    halves = halves[:count]
    if len(halves) < count:
        halves = numpy.pad(halves, (0, count - len(halves)))
    halves *= numpy.sqrt(numpy.float32(2))
    return halves


@functools.lru_cache(maxsize=128)
def filters_of(tuning: float) -> Filters:
    """Returns the filters of the top octave.

    Each filter is a windowed oscillation. All filters have the same number of periods.
    """
    import numpy
    from scipy.fft import fft

    rate = RATE / 2
    steps = numpy.arange(STEPS) + (OCTAVES - 1) * STEPS + tuning
    hertz = LOWEST * 2.0 ** (steps / STEPS)
    ratio = 2.0 ** (2 / STEPS)
    periods = (ratio + 1) / (ratio - 1)
    lengths = periods * rate / hertz
    waves = numpy.zeros((STEPS, FRAME), numpy.complex64)
    for index in range(STEPS):
        length = float(lengths[index])
        angle = 2 * numpy.pi * float(hertz[index]) / rate
        places = numpy.arange(-length // 2, length // 2, dtype=numpy.float64)
        turns = numpy.arange(len(places))
        window = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * turns / len(places))
        wave = numpy.exp(1j * angle * places) * window
        wave = numpy.asarray(wave / numpy.abs(wave).sum(), numpy.complex64)
        start = (FRAME - len(wave)) // 2
        waves[index, start : start + len(wave)] = wave
    waves *= (lengths / FRAME)[:, None]
    passed = _sparse(fft(waves, axis=1)[:, : FRAME // 2 + 1])
    passed /= numpy.sqrt(lengths)[:, None]
    used = numpy.flatnonzero(numpy.abs(passed).any(axis=0))
    start, end = int(used[0]), int(used[-1]) + 1
    used_part = numpy.ascontiguousarray(passed[:, start:end].T)
    return Filters(start, used_part.astype(numpy.complex64))


def _sparse(passed: Complex) -> Complex:
    """Sets the faintest bins of the filters to 0."""
    import numpy

    heights = numpy.abs(passed)
    ordered = numpy.sort(heights, axis=1)
    totals = heights.sum(axis=1, keepdims=True)
    shares = numpy.cumsum(ordered / totals, axis=1)
    first = numpy.argmax(shares >= DROPPED, axis=1)
    faintest = ordered[numpy.arange(len(passed)), first]
    return numpy.where(heights >= faintest[:, None], passed, 0)


def _add_octave(
    total: Samples,
    octave: Samples,
    hop: int,
    filters: Filters,
) -> int:
    """Adds an octave's energy to each class and frame. Returns the number of frames."""
    import numpy
    from scipy.fft import rfft

    count = min(len(total), 1 + len(octave) // hop)
    padded = numpy.pad(octave, FRAME // 2)
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, FRAME)[::hop][:count]
    end = filters.start + len(filters.passed)
    for first in range(0, count, _AT_ONCE):
        spectra = rfft(frames[first : first + _AT_ONCE], axis=1)
        energies = numpy.abs(spectra[:, filters.start : end] @ filters.passed)
        # Three bins make a semitone. The middle bin has the semitone's frequency.
        bins = numpy.roll(energies, 1, axis=1)
        semitones = bins.reshape(len(energies), CLASSES, STEPS // CLASSES)
        total[first : first + len(energies)] += semitones.sum(axis=2)
    return count
