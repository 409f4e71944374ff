"""The pitch of a voice, as measured by Praat or librosa.

The pitch is defined as in MMMG (task Voice Attribution). The voiced moments of a clip
are sorted into narrow bands of pitch. The pitch of the voice is the mean in the band
with the most loudness, weighted by loudness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mmeval.errors import UsageError
from mmeval.metrics.audio.clips import RATE
from mmeval.system import need

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.audio.clips import Samples

    Values = np.ndarray[Any, np.dtype[np.float64]]

Analysis = Literal["praat", "pyin"]
STEP = 256
"""Distance between two moments, in samples at 22050 Hz."""
FLOOR, CEILING = 80.0, 600.0
"""The lowest and the highest pitch in hertz."""
EDGES = 100
"""Number of edges of the bands, one more than there are bands."""
HEARD = 2e-5
"""The threshold of hearing, as an amplitude."""
_FRAME = 2048
"""Length of a frame in samples, for pYIN and for the loudness."""
_PIECE = 30
"""Seconds of sound that pYIN analyses at once. A minute needs 600 MB of memory."""
_BEYOND = 0.1
"""The bands extend beyond the lowest and the highest pitch by this number of mel."""


class VoicedFrames(NamedTuple):
    """The pitch and loudness of a clip's voiced moments.

    The pitch is in mel. The loudness is in decibels above the threshold of hearing, and
    at least 0.
    """

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
    analysis: Analysis = "praat",
) -> float | None:
    """Returns a clip's pitch in mel.

    Returns None if no moment is voiced or the clip is too short. The analysis is
    Praat's, or librosa's pYIN, which ignores ``intensity_floor``. Raises UsageError for
    a floor that is not below the ceiling.
    """
    if floor >= ceiling:
        raise UsageError(f"floor, {floor:g} Hz, must be below ceiling, {ceiling:g} Hz")
    if analysis == "pyin":
        voiced = _voiced_by_pyin(samples, floor=floor, ceiling=ceiling, step=step)
    else:
        voiced = _voiced(
            samples,
            floor=floor,
            ceiling=ceiling,
            intensity_floor=intensity_floor,
            step=step,
        )
    if not len(voiced.mel):
        return None
    return _weighted(voiced, edges)


def _voiced(
    samples: Samples, *, floor: float, ceiling: float, intensity_floor: float, step: int
) -> VoicedFrames:
    import numpy

    parselmouth = need("parselmouth", "pitch")
    try:
        sound = parselmouth.Sound(samples.astype(numpy.float64), RATE)
        pitch = sound.to_pitch(
            time_step=step / RATE, pitch_floor=floor, pitch_ceiling=ceiling
        )
        intensity = sound.to_intensity(
            minimum_pitch=intensity_floor, time_step=step / RATE
        )
    except parselmouth.PraatError:  # the clip is shorter than Praat's windows
        return VoicedFrames(numpy.zeros(0), numpy.zeros(0))
    hertz, decibels = pitch.selected_array["frequency"], intensity.values[0]
    if len(hertz) != len(decibels):
        decibels = numpy.interp(pitch.xs(), intensity.xs(), decibels)
    is_voiced = hertz > 0
    # A level below the threshold of hearing would have a negative weight.
    return VoicedFrames(_mel(hertz[is_voiced]), numpy.maximum(decibels[is_voiced], 0.0))


def _voiced_by_pyin(
    samples: Samples, *, floor: float, ceiling: float, step: int
) -> VoicedFrames:
    import numpy

    librosa = need("librosa", "librosa")
    pieces: list[VoicedFrames] = []
    for start in range(0, len(samples), _PIECE * RATE):
        piece = samples[start : start + _PIECE * RATE]
        frames = {"frame_length": _FRAME, "hop_length": step}
        hertz, is_voiced, _ = librosa.pyin(
            piece, fmin=floor, fmax=ceiling, sr=RATE, **frames
        )
        level = librosa.feature.rms(y=piece, **frames)[0][is_voiced]
        loudness = 20.0 * numpy.log10(numpy.maximum(level / HEARD, 1.0))
        pieces.append(VoicedFrames(_mel(hertz[is_voiced]), loudness))
    return VoicedFrames(*map(numpy.concatenate, zip(*pieces, strict=True)))


def _mel(hertz: Values) -> Values:
    import numpy

    mel: Values = 2595.0 * numpy.log10(1.0 + hertz / 700.0)
    return mel


def _weighted(voiced: VoicedFrames, edges: int) -> float:
    """Returns the mean pitch in the loudest band, weighted by loudness.

    The mean is unweighted if the loudness is 0 throughout.
    """
    import numpy

    mel, loudness = voiced
    if not loudness.any():
        loudness = numpy.ones_like(mel)
    lowest, highest = mel.min() - _BEYOND, mel.max() + _BEYOND
    bands = numpy.digitize(mel, numpy.linspace(lowest, highest, edges))
    best = bands == numpy.bincount(bands, weights=loudness).argmax()
    return float(numpy.average(mel[best], weights=loudness[best]))
