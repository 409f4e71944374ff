"""Estimates signal to noise from the quietest and flattest frames of a recording."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mmeval.metrics.audio.quality.frames import TINY, clipped, decibels, framed, rms

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

LOWEST_DB, HIGHEST_DB = -10.0, 50.0
"""The limits of the ratio in decibels."""
NOISE_BELOW_DB, NOISE_FLATNESS = -45.0, 0.6
"""A frame is noise if it is quieter than the first number and flatter than the
second."""
ENOUGH_NOISE = 10
"""If fewer frames are noise, the quietest frames are used instead."""
NOISE_PERCENTILE, ANY_PERCENTILE = 20, 10
"""The percentile used as the noise level: among noise frames, or among all frames."""
VALID_DB = -50.0
"""A frame above this level is valid for the estimate by flatness."""
ENOUGH_VALID = 20
"""Number of valid frames that the estimate by flatness needs."""
NOISY_FLATNESS = 0.55
"""A frame above this flatness is noisy."""
SIGNAL_BELOW, NOISE_ABOVE = 0.45, 0.65
"""A frame below the first flatness is signal, and one above the second is noise."""
FEWEST, FEWEST_SHARE = 10, 0.05
"""The estimate by flatness needs at least this number of signal frames and of noise
frames, and at least this share of the valid frames."""
STEEPNESS = 0.33
"""Steepness of the score per decibel."""
MIDDLE_DB, MIDDLE_MUSIC_DB = 28.0, 22.0
"""The ratio that scores 0.5, for other sound and for music."""


class NoiseTerms(NamedTuple):
    """Both estimates of signal to noise in decibels, and the share of noisy frames.

    ``by_flatness`` is None if flatness yields no estimate.
    """

    by_level: float
    by_flatness: float | None
    noisy: float


def noise_terms(samples: Samples, flatness: Samples) -> NoiseTerms:
    """Estimates signal to noise by level and by flatness.

    The frames of level and the frames of flatness are paired by their indices, as in
    the released scorer. Their hops differ (480 and 512 samples), so after a minute they
    are four seconds apart.
    """
    levels = rms(framed(samples))
    count = min(len(levels), len(flatness))
    levels, flatness = levels[:count], flatness[:count]
    return NoiseTerms(_by_level(levels, flatness), *_by_flatness(levels, flatness))


def effective(*ratios: float | None) -> float:
    """Returns the highest estimate, limited to the range of the ratio."""
    known = [ratio for ratio in ratios if ratio is not None]
    return clipped(max(known), LOWEST_DB, HIGHEST_DB)


def snr_score(ratio: float, *, music: bool) -> float:
    """Returns the score of a ratio, from 0 to 1. At equal ratios music scores more."""
    middle = MIDDLE_MUSIC_DB if music else MIDDLE_DB
    return 1 / (1 + math.exp(-STEEPNESS * (ratio - middle)))


def _by_level(levels: Samples, flatness: Samples) -> float:
    import numpy

    if not len(levels):
        return 0.0
    noise = levels[(decibels(levels) < NOISE_BELOW_DB) & (flatness > NOISE_FLATNESS)]
    if len(noise) >= ENOUGH_NOISE:
        floor = numpy.percentile(noise, NOISE_PERCENTILE)
    else:
        floor = numpy.percentile(levels, ANY_PERCENTILE)
    ratio = (float(levels.mean()) + TINY) / (float(floor) + TINY)
    return clipped(20 * math.log10(ratio), LOWEST_DB, HIGHEST_DB)


def _by_flatness(levels: Samples, flatness: Samples) -> tuple[float | None, float]:
    import numpy

    valid = decibels(levels) > VALID_DB
    levels, flatness = levels[valid], flatness[valid]
    if len(levels) < ENOUGH_VALID:
        return None, 0.0
    noisy = float((flatness > NOISY_FLATNESS).mean())
    signal, noise = levels[flatness < SIGNAL_BELOW], levels[flatness > NOISE_ABOVE]
    fewest = max(FEWEST, int(FEWEST_SHARE * len(levels)))
    if len(signal) < fewest or len(noise) < fewest:
        return None, noisy
    ratio = float(numpy.median(signal)) / float(numpy.median(noise))
    return 20 * math.log10(ratio), noisy
