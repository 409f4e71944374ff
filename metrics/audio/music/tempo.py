"""Tempo: whether the answer's music has the requested beats per minute."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from mmeval.metric import metric
from mmeval.metrics.audio.clips import MODEL_NEEDS, RATE, the_only_clip
from mmeval.metrics.audio.music.beats import (
    BEAT_THIS,
    BEAT_THIS_NAME,
    beats,
    librosa_beats,
)
from mmeval.metrics.audio.silence import TRIM_DB, trimmed
from mmeval.metrics.models import bound
from mmeval.records import Sample, Score, Trial
from mmeval.system import AboveZero


def _sample_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    key = switches["tempo_key"]
    if _beats_a_minute(sample, key):
        return ""
    return f"the label {key!r} must be a number of beats per minute"


@metric(
    range=(0, 1),
    version="3",
    source="MMMG, task Music Tempo; official: audio evaluators 54527db8",
    needs=lambda switches: (
        ("librosa:librosa",) if switches["tracker"] == "librosa" else MODEL_NEEDS
    ),
    check=_sample_fault,
    batch=8,
    stand_ins={"tracker": "librosa"},
)
def tempo(
    trials: Sequence[Trial],
    *,
    tempo_key: str = "tempo",
    tolerance: float = 5.0,
    tracker: Literal["beat_this", "librosa"] = "beat_this",
    model: Annotated[str | Mapping[str, Any], BEAT_THIS] = BEAT_THIS_NAME,
    top_db: AboveZero = TRIM_DB,
) -> list[Score]:
    """1 if the music's tempo differs from the requested one by less than ``tolerance``.

    Range 0 to 1, higher is better. The value is 0 otherwise. Silence at both ends is
    cut off. The tempo is the number of beats that Beat This finds in the rest, divided
    by its length in minutes. Twice or half the requested tempo counts as wrong. An
    answer scores 0, with the ``reason`` as evidence, unless it has exactly one sound
    that can be decoded. Unscored without an answer or a label.

    Not measured: anything else about the music.

    Labels, for example: ``{"tempo": 120}``.

    Switches:

    - ``tempo_key``: the label with the beats per minute.
    - ``tolerance``: the allowed difference in beats per minute.
    - ``tracker``: ``beat_this``, or ``librosa`` (extra ``librosa``), which needs no
      model. With ``librosa`` the tempo follows from the mean time between beats, and a
      tempo of about 170 or more may be detected as half its value. Such scores are not
      comparable with published numbers.
    - ``model``: a folder with the checkpoint ``final0.ckpt`` of Beat This (about 0.1
      GB). The page github.com/CPJKU/beat_this links to it. The package is not needed.
    - ``top_db``: a frame is silent if it is at least this number of decibels below the
      loudest frame.

    Evidence: ``bpm``, the number of ``beats``, and the length in ``seconds``.
    """
    network = bound(model) if tracker == "beat_this" else None
    scores: list[Score] = []
    for trial in trials:
        clip = the_only_clip(trial)
        if isinstance(clip, Score):
            scores.append(clip)
            continue
        target = _beats_a_minute(trial.sample, tempo_key)
        if target is None:
            fault = _sample_fault(trial.sample, {"tempo_key": tempo_key})
            scores.append(Score.unscored(fault))
            continue
        sound = trimmed(clip, top_db)
        seconds = len(sound) / RATE
        times = librosa_beats(sound) if network is None else beats(sound, network)
        bpm = len(times) * 60.0 / seconds
        if network is None and len(times) > 1:
            bpm = (len(times) - 1) * 60.0 / (times[-1] - times[0])
        evidence = {"bpm": bpm, "beats": len(times), "seconds": seconds}
        scores.append(Score(float(abs(bpm - target) < tolerance), evidence=evidence))
    return scores


def _beats_a_minute(sample: Sample, key: str) -> float | None:
    label = sample.metadata.get(key)
    if isinstance(label, bool) or not isinstance(label, (int, float)):
        return None
    if not math.isfinite(label) or label <= 0:
        return None
    return float(label)
