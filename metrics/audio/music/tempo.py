"""Tempo: has the answer's music as many beats a minute as it should?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from mmeval.metric import metric
from mmeval.metrics.audio.clips import MODEL_NEEDS, RATE, Positive, the_only_clip
from mmeval.metrics.audio.music.beats import BEAT_THIS, BEAT_THIS_NAME, beats
from mmeval.metrics.audio.silence import TRIM_DB, trimmed
from mmeval.metrics.models import bound
from mmeval.records import Sample, Score, Trial


def _sample_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    key = switches["tempo_key"]
    return "" if _beats_a_minute(sample, key) else f"the label {key!r} is no number of beats a minute"


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, task Music Tempo; official: audio evaluators 54527db8",
    needs=MODEL_NEEDS,
    check=_sample_fault,
    batch=8,
)
def tempo(
    trials: Sequence[Trial],
    *,
    tempo_key: str = "tempo",
    tolerance: float = 5.0,
    model: Annotated[str | Mapping[str, Any], BEAT_THIS] = BEAT_THIS_NAME,
    top_db: Positive = TRIM_DB,
) -> list[Score]:
    """1 when the tempo differs from the wanted one by less than ``tolerance``, else 0.

    Range 0 to 1, higher is better. The label under ``tempo_key`` is the wanted number. Silence at both ends is cut off;
    the beats that Beat This finds in the rest are counted and divided by its minutes. Twice or half the tempo is wrong.
    An answer that has not exactly one sound, or one that cannot be decoded, is 0, with the reason as evidence. Unscored
    without an answer or a label.

    Switches: ``tolerance`` is in beats a minute; ``model`` has the checkpoint ``final0`` of Beat This; what lies
    ``top_db`` decibels or more below the loudest frame is silent. Evidence: the beats a minute that were found, how
    many beats, and the seconds.
    """
    return [_score(trial, tempo_key, tolerance, bound(model), top_db) for trial in trials]


def _score(trial: Trial, key: str, tolerance: float, model: Mapping[str, Any], top_db: float) -> Score:
    clip = the_only_clip(trial)
    if isinstance(clip, Score):
        return clip
    asked = _beats_a_minute(trial.sample, key)
    if asked is None:
        return Score.unscored(_sample_fault(trial.sample, {"tempo_key": key}))
    heard = trimmed(clip, top_db)
    seconds, count = len(heard) / RATE, len(beats(heard, model))
    bpm = count * 60.0 / seconds
    return Score(float(abs(bpm - asked) < tolerance), evidence={"bpm": bpm, "beats": count, "seconds": seconds})


def _beats_a_minute(sample: Sample, key: str) -> float | None:
    label = sample.metadata.get(key)
    if isinstance(label, bool) or not isinstance(label, (int, float)):
        return None
    return float(label) if math.isfinite(label) and label > 0 else None
