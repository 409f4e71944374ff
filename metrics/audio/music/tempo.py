"""Tempo: has the answer's music as many beats a minute as it should?"""

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
    return f"the label {key!r} is no number of beats a minute"


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
    """1 when the tempo differs from the wanted one by less than ``tolerance``, else 0.

    Range 0 to 1, higher is better. The label under ``tempo_key`` is the wanted number.
    Silence at both ends is cut off; the beats that Beat This finds in the rest are
    counted and divided by its minutes. Twice or half the tempo is wrong. An answer that
    has not exactly one sound, or one that is damaged, is 0, with the reason as
    evidence. Unscored without an answer or a label.

    Switches: ``tolerance`` is in beats a minute; ``model`` has the checkpoint
    ``final0`` of Beat This; what lies ``top_db`` decibels or more below the loudest
    frame is silent. With ``tracker: librosa`` no model is needed: the tempo is that of
    the mean time between the beats that librosa finds, which does not compare with
    published numbers. Evidence: the beats a minute that were found, how many beats, and
    the seconds.
    """
    network = bound(model) if tracker == "beat_this" else None
    scores: list[Score] = []
    for trial in trials:
        clip = the_only_clip(trial)
        if isinstance(clip, Score):
            scores.append(clip)
            continue
        asked = _beats_a_minute(trial.sample, tempo_key)
        if asked is None:
            fault = _sample_fault(trial.sample, {"tempo_key": tempo_key})
            scores.append(Score.unscored(fault))
            continue
        heard = trimmed(clip, top_db)
        seconds = len(heard) / RATE
        times = librosa_beats(heard) if network is None else beats(heard, network)
        bpm = len(times) * 60.0 / seconds
        if network is None and len(times) > 1:
            bpm = (len(times) - 1) * 60.0 / (times[-1] - times[0])
        evidence = {"bpm": bpm, "beats": len(times), "seconds": seconds}
        scores.append(Score(float(abs(bpm - asked) < tolerance), evidence=evidence))
    return scores


def _beats_a_minute(sample: Sample, key: str) -> float | None:
    label = sample.metadata.get(key)
    if isinstance(label, bool) or not isinstance(label, (int, float)):
        return None
    if not math.isfinite(label) or label <= 0:
        return None
    return float(label)
