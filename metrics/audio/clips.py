"""Clips: the sounds of answers, converted to mono at one sampling rate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.media import Media
from mmeval.media.decode import DEFAULT_LIMITS, DecodeLimits, audio, decoded_once
from mmeval.metrics.produced import decoded, the_only_medium, wrong
from mmeval.records import Score, Trial

if TYPE_CHECKING:
    import numpy as np

    Samples: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

RATE = 22050
"""Sampling rate of clips in Hz."""
MODEL_NEEDS = ("torch:hf", "transformers:hf")
"""The ``needs`` of ``@metric`` for a metric that passes clips to a model."""


def _size(samples: Samples) -> int:
    return samples.nbytes


@decoded_once(size=_size)
def clip(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Samples:
    """Returns the full sound of a medium in mono at ``RATE``.

    The result is a read-only float32 array of shape (n,), with n at least 1. Channels
    are averaged, then resampled as librosa does by default when it loads a file (soxr,
    high quality, n rounded up). A clip of at most 12 minutes is kept with the medium
    (``mmeval.media.decode.memo``). Raises the errors of ``mmeval.media.decode``, whose
    default limits allow one hour of sound.
    """
    sound = audio(media, limits=limits)
    samples = resampled(one_channel(sound.samples), sound.rate, RATE)
    samples.flags.writeable = False
    return samples


def one_channel(samples: Samples) -> Samples:
    """Averages the channels of samples of shape (n, channels)."""
    if samples.shape[1] == 1:
        return samples[:, 0]
    mean: Samples = samples.mean(axis=1)
    return mean


def the_only_clip(trial: Trial) -> Samples | Score:
    """Returns the clip of an answer with exactly one sound, or else the answer's score.

    An answer without exactly one sound, or with a damaged sound, scores 0, with the
    reason as evidence. The trial is unscored if there is no answer, or if the sound
    exceeds the limits of decoding.
    """
    sound = the_only_medium(trial, "audio", "sounds")
    if isinstance(sound, Score):
        return sound
    return answer_clip(sound)


def answer_clip(sound: Media) -> Samples | Score:
    """Returns the clip of an answer's sound, or the score if it cannot be decoded.

    A damaged sound scores 0. A sound above the limits of decoding is unscored.
    """
    return decoded(sound, clip)


def decodable(sound: Media, called: str = "") -> Media | Score:
    """Returns a sound if it can be decoded, or else the score of the answer.

    The reason of the score begins with ``called``.
    """
    clip_or_score = answer_clip(sound)
    if not isinstance(clip_or_score, Score):
        return sound
    before = f"{called}: " if called else ""
    if clip_or_score.status == "unscored":
        return Score.unscored(f"{before}{clip_or_score.reason}")
    return wrong(f"{before}{clip_or_score.evidence['reason']}")


def the_only_decodable(trial: Trial) -> Media | Score:
    """Returns the answer's only sound, or else the score of ``the_only_clip``."""
    sound = the_only_medium(trial, "audio", "sounds")
    if isinstance(sound, Score):
        return sound
    return decodable(sound)


def resampled(
    samples: Samples,
    rate: int,
    target_rate: int,
) -> Samples:
    """Resamples one channel as librosa does, with the length rounded up."""
    if rate == target_rate:
        return samples
    import numpy
    import soxr

    result: Samples = soxr.resample(samples, rate, target_rate, quality="soxr_hq")
    count = math.ceil(len(samples) * target_rate / rate)
    missing = max(0, count - len(result))
    return numpy.pad(result[:count], (0, missing))
