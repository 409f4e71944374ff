"""Clips: the sound of an answer as metrics use it, mono at one rate."""

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
"""Hz."""
MODEL_NEEDS = ("torch:hf", "transformers:hf")
"""``@metric(needs=...)`` of a metric that passes clips to a model."""


def _size(samples: Samples) -> int:
    return samples.nbytes


@decoded_once(size=_size)
def clip(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Samples:
    """A medium's whole sound: mono float32 (n,), n at least 1, at ``RATE``, read-only.

    Channels are averaged, then resampled as librosa loads a file by default (soxr, high
    quality, n rounded up). Kept with the medium if it is at most 12 minutes long
    (``mmeval.media.decode.memo``). Raises the errors of ``mmeval.media.decode``, whose
    limits allow an hour.
    """
    sound = audio(media, limits=limits)
    samples = resampled(one_channel(sound.samples), sound.rate, RATE)
    samples.flags.writeable = False
    return samples


def one_channel(samples: Samples) -> Samples:
    """Returns the mean of the channels of samples (n, channels)."""
    if samples.shape[1] == 1:
        return samples[:, 0]
    mean: Samples = samples.mean(axis=1)
    return mean


def the_only_clip(trial: Trial) -> Samples | Score:
    """The clip of an answer with exactly one sound, or the score of any other answer.

    Without exactly one sound, or with a damaged one, it is 0 with the reason. Without
    an answer, or above the limits of decoding, it is unscored.
    """
    sound = the_only_medium(trial, "audio", "sounds")
    if isinstance(sound, Score):
        return sound
    return answer_clip(sound)


def answer_clip(sound: Media) -> Samples | Score:
    """The clip of an answer's sound; 0 if it is damaged, unscored beyond the limits."""
    return decoded(sound, clip)


def decodable(sound: Media, called: str = "") -> Media | Score:
    """Returns a decodable sound of the answer, or its score.

    ``called`` begins the reason.
    """
    clip_or_score = answer_clip(sound)
    if not isinstance(clip_or_score, Score):
        return sound
    before = f"{called}: " if called else ""
    if clip_or_score.status == "unscored":
        return Score.unscored(f"{before}{clip_or_score.reason}")
    return wrong(f"{before}{clip_or_score.evidence['reason']}")


def the_only_decodable(trial: Trial) -> Media | Score:
    """The answer's only sound, if decodable, else the score of ``the_only_clip``."""
    sound = the_only_medium(trial, "audio", "sounds")
    if isinstance(sound, Score):
        return sound
    return decodable(sound)


def resampled(
    samples: Samples,
    rate: int,
    target_rate: int,
) -> Samples:
    """One channel at another rate, as librosa resamples: the length is rounded up."""
    if rate == target_rate:
        return samples
    import numpy
    import soxr

    result: Samples = soxr.resample(samples, rate, target_rate, quality="soxr_hq")
    count = math.ceil(len(samples) * target_rate / rate)
    missing = max(0, count - len(result))
    return numpy.pad(result[:count], (0, missing))
