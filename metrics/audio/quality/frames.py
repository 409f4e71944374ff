"""Cuts a recording into frames and measures their levels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.audio.clips import Samples

    Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

TINY = 1e-12
"""Added to a level that may be zero, before a division by it or its logarithm."""
SHORT, SHORT_HOP = 0.02, 0.01
"""Length of a frame and distance between the starts of two frames, in seconds, for the
measures of noise, silence and gaps."""


def framed(
    samples: Samples,
    seconds: float = SHORT,
    hop: float = SHORT_HOP,
) -> Samples:
    """Returns views of the frames, of shape (n, length).

    The last frame that fits is left out, as in the released code.
    """
    import numpy

    length, step = round(seconds * RATE), round(hop * RATE)
    if len(samples) <= length:
        return numpy.empty((0, length), samples.dtype)
    return numpy.lib.stride_tricks.sliding_window_view(samples[:-1], length)[::step]


def rms(frames: Samples) -> Samples:
    """Returns the root mean square of each frame, plus ``TINY``."""
    import numpy

    powers: Samples = numpy.einsum("ij,ij->i", frames, frames) / numpy.float32(
        frames.shape[1]
    )
    return numpy.sqrt(powers) + numpy.float32(TINY)


def decibels(levels: Samples) -> Samples:
    """Converts amplitudes to decibels relative to full scale."""
    import numpy

    return 20 * numpy.log10(levels)


def clipped(
    value: float,
    low: float = 0.0,
    high: float = 1.0,
) -> float:
    """Limits a number to a range."""
    return min(max(float(value), low), high)


def band(
    value: float,
    low: float,
    high: float,
    softness: float,
) -> float:
    """Returns 1 inside a range, and an exponentially falling score outside.

    The larger ``softness`` is, the more slowly the score falls.
    """
    return math.exp(-max(low - value, value - high, 0.0) / softness)
