"""Pitch band: whether a man's or a woman's voice is as high or low as requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from mmeval.media import Media
from mmeval.metric import HubModel, metric
from mmeval.metrics.audio.clips import MODEL_NEEDS, clip, the_only_decodable
from mmeval.metrics.audio.speech.pitch import (
    CEILING,
    EDGES,
    FLOOR,
    STEP,
    Analysis,
    pitch_of,
)
from mmeval.metrics.audio.speech.requested_level import (
    RequestedLevel,
    band_fault,
    level_fault,
    requested_level,
    share_of,
)
from mmeval.metrics.audio.speech.voices import (
    GENDER_NAME,
    MALE_CLASS,
    SECONDS,
    VOICE,
    Gender,
    genders_of,
)
from mmeval.metrics.models import bound
from mmeval.metrics.produced import wrong
from mmeval.records import Sample, Score, Trial
from mmeval.system import AboveZero, Condition, OneOrMore

GENDER_MODEL = HubModel(VOICE.files, unless="gender")


Edges = Annotated[int, Condition(lambda value: "" if value >= 2 else "2 or more")]


def _sample_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    fault = level_fault(sample, switches["pitch_key"])
    return fault or band_fault(switches, "male", "female")


@metric(
    range=(0, 1),
    version="3",
    source="MMMG, tasks Voice Attribution and Multi-Lingual Speech; official: audio "
    "evaluators 54527db8",
    needs=lambda switches: (
        *(() if switches["gender"] else MODEL_NEEDS),
        "librosa:librosa" if switches["analysis"] == "pyin" else "parselmouth:pitch",
    ),
    check=_sample_fault,
    batch=8,
    stand_ins={"analysis": "pyin"},
)
def pitch_band(
    trials: Sequence[Trial],
    *,
    pitch_key: str = "pitch",
    gender: Literal["", "male", "female"] = "",
    model: Annotated[str | Mapping[str, Any], GENDER_MODEL] = GENDER_NAME,
    seconds: AboveZero = SECONDS,
    male_class: int = MALE_CLASS,
    male_low: float = 140.0,
    male_high: float = 182.0,
    female_low: float = 236.0,
    female_high: float = 278.0,
    floor: AboveZero = FLOOR,
    ceiling: AboveZero = CEILING,
    intensity_floor: AboveZero = FLOOR,
    step: OneOrMore = STEP,
    edges: Edges = EDGES,
    analysis: Analysis = "praat",
) -> list[Score]:
    """How high or low the answer's voice is within the pitch band of men or women.

    Range 0 to 1, higher is better. If the label is ``high``, the value is 0 up to the
    lower end of the band, 1 from the upper end on, and linear between. If it is
    ``low``, the value is reversed. If the row has no label, any sound scores 1. The
    pitch is Praat's: the voiced moments are sorted into narrow bands, and the pitch is
    the mean in the band with the most loudness, weighted by loudness. A sound without a
    voiced moment, or shorter than 0.08 seconds, scores 0. An answer scores 0, with the
    ``reason`` as evidence, unless it has exactly one sound that can be decoded.
    Unscored without an answer, and for any other label.

    Praat comes with the package praat-parselmouth (extra ``pitch``, GPL). The extra
    ``all`` does not install it.

    Not measured: what is said.

    Labels, for example: ``{"pitch": "high"}``.

    Switches:

    - ``pitch_key``: the label.
    - ``gender``: the band, ``male`` or ``female``. If this is empty, a model detects
      the gender.
    - ``model``, ``seconds``, ``male_class``: as in ``speaker_gender``.
    - ``male_low``, ``male_high``, ``female_low``, ``female_high``: the ends of the
      bands, in mel.
    - ``floor``, ``ceiling``: the lowest and highest pitch, in hertz.
    - ``intensity_floor``: the lowest pitch for the measurement of loudness, in hertz.
      Changes of loudness within a period of this pitch do not count.
    - ``step``: the distance between two moments, in samples at 22050 Hz.
    - ``edges``: the number of edges of the narrow bands, one more than there are bands.
    - ``analysis``: ``praat``, or ``pyin`` of librosa (extra ``librosa``). On clean
      voices both agree within one mel. Scores by ``pyin`` are not comparable with
      published numbers.

    Evidence: the pitch in ``mel``, and the ``gender``.
    """
    switches: dict[str, Any] = {
        "floor": floor,
        "ceiling": ceiling,
        "intensity_floor": intensity_floor,
        "step": step,
        "edges": edges,
        "analysis": analysis,
    }
    bands: Mapping[Gender, tuple[float, float]] = {
        "male": (male_low, male_high),
        "female": (female_low, female_high),
    }
    voices = [_pitched_voice(trial, pitch_key, switches) for trial in trials]
    sounds = [voice.sound for voice in voices if isinstance(voice, _PitchedVoice)]
    if gender:
        genders: list[Gender] = [gender] * len(sounds)
    else:
        detected = genders_of(
            sounds, bound(model), seconds=seconds, male_class=male_class
        )
        genders = [voice.gender for voice in detected]
    scores: list[Score] = []
    for voice in voices:
        if isinstance(voice, Score):
            scores.append(voice)
            continue
        voice_gender = genders.pop(0)
        share = share_of(voice.mel, voice.level, *bands[voice_gender])
        scores.append(Score(share, evidence={"mel": voice.mel, "gender": voice_gender}))
    return scores


class _PitchedVoice(NamedTuple):
    """A voice, its pitch in mel, and the requested pitch."""

    sound: Media
    level: RequestedLevel
    mel: float


def _pitched_voice(
    trial: Trial,
    key: str,
    switches: Mapping[str, Any],
) -> _PitchedVoice | Score:
    sound = the_only_decodable(trial)
    if isinstance(sound, Score):
        return sound
    if fault := level_fault(trial.sample, key):
        return Score.unscored(fault)
    level = requested_level(trial.sample, key)
    if level is None:
        evidence = {"mel": None, "reason": f"the row has no label {key!r}"}
        return Score(1.0, evidence=evidence)
    mel = pitch_of(clip(sound), **switches)
    if mel is None:
        return wrong("the sound contains no voice")
    return _PitchedVoice(sound, level, mel)
