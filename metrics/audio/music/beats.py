"""Finds the beats in music, with Beat This (without a tempo model) or librosa."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.metric import HubModel, loaded
from mmeval.metrics.audio.music.beat_network import (
    CHECKPOINTS,
    FRAMES_A_SECOND,
    RATE,
    beat_logits,
    loaded_network,
)
from mmeval.system import need

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.audio.clips import Samples

    Logits: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

BEAT_THIS = HubModel(
    ("|".join(CHECKPOINTS),),
    unless="tracker=librosa",
    by_hand="mmeval ls metrics tempo says how to get it",
)
BEAT_THIS_NAME = "CPJKU/beat_this"
"""The authors' name for the network, which is not on the hub."""

SHORTEST = 1024
"""Samples in one window. A shorter sound has no beat, since no window fits into it."""
NEAR = 3
"""A beat is a maximum among this number of frames on each side (60 milliseconds)."""


def beats(clip: Samples, model: Mapping[str, Any]) -> list[float]:
    """Returns the times of beats, in seconds and in rising order.

    ``clip`` is mono at 22050 Hz. ``model`` is the value of a switch annotated with
    ``BEAT_THIS``. A beat is a frame with a logit above 0 that no near frame exceeds.
    Equal neighbours count as one beat in their middle.
    """
    import numpy as np

    if len(clip) < SHORTEST:
        return []
    logits = beat_logits(loaded(model, loaded_network), clip).numpy().astype(np.float64)
    return [frame / FRAMES_A_SECOND for frame in _middles(_peaks(logits))]


def librosa_beats(clip: Samples) -> list[float]:
    """Returns the times of beats that librosa finds, in seconds and in rising order.

    The beats are found by the method of Ellis (2007). ``clip`` is mono at 22050 Hz. The
    times are multiples of 23 milliseconds, the length of a frame. A fast tempo may be
    detected as half the true tempo, and a slow tempo as twice the true tempo.
    """
    if len(clip) < 2 * SHORTEST:  # shorter than a frame of librosa
        return []
    _, times = need("librosa", "librosa").beat.beat_track(
        y=clip, sr=RATE, units="time", trim=False
    )
    return list(map(float, times))


def _peaks(logits: Logits) -> list[int]:
    import numpy as np
    from scipy.ndimage import maximum_filter1d

    highest = maximum_filter1d(logits, 2 * NEAR + 1, mode="nearest")
    is_peak = (logits == highest) & (logits > 0)
    return np.flatnonzero(is_peak).tolist()


def _middles(frames: list[int]) -> list[float]:
    """Returns the mean of each run of frames.

    A frame belongs to a run if it is at most one frame after the run's mean so far.

    >>> _middles([3, 10, 11, 40])
    [3.0, 10.5, 40.0]
    """
    runs: list[list[int]] = []
    for frame in frames:
        if runs and frame - fmean(runs[-1]) <= 1:
            runs[-1].append(frame)
        else:
            runs.append([frame])
    return list(map(fmean, runs))
