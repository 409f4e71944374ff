"""Reads the scored recording: one channel at 48 kHz, without mean and silent ends."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from mmeval.media import Media
from mmeval.media.decode import DEFAULT_LIMITS, audio
from mmeval.metrics.audio.clips import one_channel, resampled

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

RATE = 48_000
"""Sampling rate in Hz."""
LONGEST = 900.0
"""The longest sound that is scored, in seconds."""
AUDIBLE = 1e-4
"""A sample up to this amplitude counts as silent."""
KEPT = 0.2
"""Seconds kept before the first and after the last audible sample."""
LIMITS = replace(DEFAULT_LIMITS, max_audio_seconds=LONGEST)


def recording(media: Media) -> Samples:
    """Returns the sound of a medium as float32 of shape (n,), with n at least 1.

    Raises the errors of ``mmeval.media.decode``. A sound longer than a quarter of an
    hour exceeds the limits.
    """
    import numpy

    sound = audio(media, limits=LIMITS)
    mono = one_channel(sound.samples)
    samples = resampled(mono, sound.rate, RATE)
    missing = length_at_rate(len(mono), sound.rate) - len(samples)
    if missing > 0:
        samples = numpy.pad(samples, (0, missing))
    return audible(samples - samples.mean())


def audible(samples: Samples) -> Samples:
    """Removes the silence at both ends, except for a fifth of a second.

    A sound that is silent throughout is unchanged.
    """
    import numpy

    is_audible = (samples > AUDIBLE) | (samples < -AUDIBLE)
    if not is_audible.any():
        return samples
    around = int(KEPT * RATE)
    first = int(numpy.argmax(is_audible))
    last = len(is_audible) - 1 - int(numpy.argmax(is_audible[::-1]))
    return samples[max(0, first - around) : last + around]


def length_at_rate(count: int, rate: int) -> int:
    """Returns how many samples librosa makes from ``count`` samples at ``rate``.

    The number is rounded up. The quotient of floats is often slightly too large. In
    this case, a sample of silence is added although the exact quotient is an integer.
    """
    return math.ceil(count * (RATE / rate))
