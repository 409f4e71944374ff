"""The pitch of a voice, by Praat's analysis.

The definition is MMMG's (task Voice Attribution): the voiced moments of a clip are sorted into narrow bands of pitch,
and the pitch of the voice is the mean, weighted by loudness, in the band that holds most of the loudness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.errors import UsageError
from mmeval.metrics.audio.clips import RATE
from mmeval.system import need

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.audio.clips import Samples

    Values = np.ndarray[Any, np.dtype[np.float64]]

STEP = 256
"""Samples at 22050 Hz between two moments."""
FLOOR, CEILING = 80.0, 600.0
"""Hertz."""
EDGES = 100
"""Edges of bands: there is one band fewer."""
_BEYOND = 0.1
"""Mel by which the bands reach beyond the lowest and the highest pitch."""


class Voiced(NamedTuple):
    """The voiced moments of a clip.
    Their pitch in mel, and their loudness in decibels above the threshold of hearing, at least 0."""

    mel: Values
    loudness: Values


def pitch_of(
    samples: Samples,
    *,
    floor: float = FLOOR,
    ceiling: float = CEILING,
    intensity_floor: float = FLOOR,
    step: int = STEP,
    edges: int = EDGES,
    rate: int = RATE,
) -> float | None:
    """A clip's pitch in mel; None if no moment is voiced or the clip is too short.

    Raises UsageError for a floor that is not below the ceiling.
    """
    if floor >= ceiling:
        raise UsageError(f"the lowest pitch, {floor:g} Hz, must be below the highest one, {ceiling:g} Hz")
    voiced = _voiced(samples, floor=floor, ceiling=ceiling, intensity_floor=intensity_floor, step=step, rate=rate)
    return _weighted(voiced, edges) if len(voiced.mel) else None


def _voiced(samples: Samples, *, floor: float, ceiling: float, intensity_floor: float, step: int, rate: int) -> Voiced:
    import numpy

    parselmouth = need("parselmouth", "pitch")
    try:
        sound = parselmouth.Sound(samples.astype(numpy.float64), rate)
        pitch = sound.to_pitch(time_step=step / rate, pitch_floor=floor, pitch_ceiling=ceiling)
        intensity = sound.to_intensity(minimum_pitch=intensity_floor, time_step=step / rate)
    except parselmouth.PraatError:  # Praat's windows are longer than the clip
        return Voiced(numpy.zeros(0), numpy.zeros(0))
    hertz, decibels = pitch.selected_array["frequency"], intensity.values[0]
    if len(hertz) != len(decibels):
        decibels = numpy.interp(pitch.xs(), intensity.xs(), decibels)
    voiced = hertz > 0
    mel = 2595.0 * numpy.log10(1.0 + hertz[voiced] / 700.0)
    # A level below the threshold of hearing would have a negative weight.
    return Voiced(mel, numpy.maximum(decibels[voiced], 0.0))


def _weighted(voiced: Voiced, edges: int) -> float:
    """The mean pitch in the band with most loudness, weighted by it if there is any."""
    import numpy

    mel, loudness = voiced
    if not loudness.any():
        loudness = numpy.ones_like(mel)
    bands = numpy.digitize(mel, numpy.linspace(mel.min() - _BEYOND, mel.max() + _BEYOND, edges))
    best = bands == numpy.bincount(bands, weights=loudness).argmax()
    return float(numpy.average(mel[best], weights=loudness[best]))
