"""Spectral contrast: how far peaks rise above valleys, in bands of an octave.

The numbers equal those of ``feature.spectral_contrast`` of librosa 0.11 for amplitudes,
with its defaults.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.audio.clips import Samples

    Doubles: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

LOWEST = 200.0
"""Frequency in Hz at which the first octave begins. One more band is below it."""
OCTAVES = 6
QUANTILE = 0.02
"""The share of a band's bins that form its peak. As many bins form its valley."""
FAINTEST = 1e-10
"""The lowest level that is converted to decibels."""
SPAN_DB = 80.0
"""Levels are raised to at least this many decibels below the recording's highest peak
(for peaks) or highest valley (for valleys)."""


class Band(NamedTuple):
    """The bins of a band, ``start`` to ``end`` (exclusive), and a peak's bin count."""

    start: int
    end: int
    size: int


def extremes(amplitude: Samples) -> tuple[Samples, Samples]:
    """Returns the valleys and the peaks of frames, each of shape (frames, bands)."""
    import numpy

    shape = (len(amplitude), OCTAVES + 1)
    valleys = numpy.empty(shape, numpy.float32)
    peaks = numpy.empty(shape, numpy.float32)
    for index, (start, end, size) in enumerate(bands(amplitude.shape[1])):
        places = (size - 1, end - start - size)
        ordered = numpy.partition(amplitude[:, start:end], places, axis=1)
        valleys[:, index] = ordered[:, :size].mean(axis=1)
        peaks[:, index] = ordered[:, -size:].mean(axis=1)
    return valleys, peaks


def contrast_of(valleys: Samples, peaks: Samples) -> float:
    """Returns the decibels between peaks and valleys.

    The result is the median over bands of each band's median over time.
    """
    import numpy

    over_time = numpy.median(_decibels(peaks) - _decibels(valleys), axis=0)
    return float(numpy.median(over_time))


@functools.cache
def bands(bins: int) -> tuple[Band, ...]:
    """Returns the bands of a spectrum up to half the rate.

    As in librosa, a band begins with the bin before its range. Every band except the
    last omits the last bin of its range, although its ``size`` is computed with this
    bin.
    """
    import numpy

    frequencies = numpy.linspace(0, RATE / 2, bins)
    edges = [0.0, *(LOWEST * 2.0**octave for octave in range(OCTAVES + 1))]
    all_bands: list[Band] = []
    for low, high in itertools.pairwise(edges):
        inside = numpy.flatnonzero((frequencies >= low) & (frequencies <= high))
        start = max(0, int(inside[0]) - 1)
        last = int(inside[-1])
        counted = last + 1 - start
        end = last
        if len(all_bands) == OCTAVES:
            counted, end = bins - start, bins
        size = max(1, int(numpy.rint(QUANTILE * counted)))
        all_bands.append(Band(start, end, size))
    return tuple(all_bands)


def _decibels(levels: Samples) -> Doubles:
    import numpy

    limited = numpy.maximum(levels.astype(numpy.float64), FAINTEST)
    levels_db: Doubles = 10 * numpy.log10(limited)
    return numpy.asarray(numpy.maximum(levels_db, levels_db.max() - SPAN_DB))
