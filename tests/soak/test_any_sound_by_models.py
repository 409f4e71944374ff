"""Whatever can be decoded has a score by the metrics that models compute, too; what cannot is the answer's fault."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from mmeval.content.media import Media
from mmeval.metric.contract import Metric
from mmeval.metrics.audio.clap import CLAP, clap_similarity
from mmeval.metrics.audio.sound_class import sound_class
from mmeval.metrics.audio.speech.speakers import speaker_gender, speaker_similarity
from mmeval.metrics.audio.speech.transcript_constraints import transcript_constraints
from mmeval.metrics.audio.speech.transcription import PROCESSOR, WHISPER, transcript
from mmeval.metrics.audio.speech.voices import VOICE
from tests.support.hearing import class_folder, sound_trial, tiny
from tests.support.sounds import Samples, silence, tone, voice
from tests.support.tiny_media import picture
from tests.support.trials import score_of

METRICS = (clap_similarity, sound_class, transcript, transcript_constraints, speaker_gender, speaker_similarity)
LABELS = {"target": "rain", "text": "lakes are deep", "constraint": ["length_word", ">= 0"], "gender": "male"}


@pytest.fixture(scope="module")
def switches(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    rain = class_folder(tmp_path_factory.mktemp("set"), {"rain": [tone(0.5, 900)]})
    whisper = {"model": tiny("whisper", WHISPER), "processor": tiny("whisper", PROCESSOR)}
    clap = {"model": tiny("clap", CLAP)}
    return {
        "clap_similarity": clap,
        "sound_class": {**clap, "references": str(rain)},
        "transcript": whisper,
        "transcript_constraints": whisper,
        "speaker_gender": {"model": tiny("wav2vec2_gender", VOICE)},
        "speaker_similarity": {"model": tiny("wavlm_sv", VOICE)},
    }


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path))


def recorded(samples: Samples, rate: int, channels: int = 1) -> Media:
    file = io.BytesIO()
    soundfile.write(file, np.stack([samples] * channels, axis=1), rate, format="WAV", subtype="FLOAT")
    return Media.from_bytes(file.getvalue())


def numbers(evidence: Any) -> list[float]:
    if isinstance(evidence, Mapping):
        return [number for item in evidence.values() for number in numbers(item)]
    return [float(evidence)] if isinstance(evidence, (int, float)) else []


SOUNDS = {
    "silence": recorded(silence(1), 22050),
    "0.3 seconds": recorded(tone(0.3), 22050),
    "one sample": recorded(np.zeros(1, np.float32), 22050),
    "8 kHz, stereo": recorded(tone(2), 8000, 2),
    "192 kHz": recorded(tone(2), 192000),
    "full scale": recorded(np.sign(tone(2)), 22050),
    "faint": recorded(voice(130) * np.float32(1e-9), 22050),
}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("name", SOUNDS)
def test_every_sound_that_can_be_decoded_has_a_score(
    name: str, metric: Metric, switches: Mapping[str, dict[str, Any]]
) -> None:
    asked = sound_trial(SOUNDS[name], given=[voice(130)], references=[voice(150)], **LABELS)

    score = score_of(metric, asked, **switches[metric.name])

    assert score.status == "scored", score.reason
    assert all(math.isfinite(number) for number in (score.value, *numbers(score.evidence)) if number is not None)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize(
    "answer",
    [
        recorded(np.zeros(0, np.float32), 22050),
        recorded(np.full(9, np.nan, np.float32), 22050),
        Media.from_bytes(picture()),
    ],
    ids=["0 seconds", "no numbers", "a picture"],
)
def test_what_cannot_be_heard_is_zero_with_the_reason(
    answer: Media, metric: Metric, switches: Mapping[str, dict[str, Any]]
) -> None:
    asked = sound_trial(answer, given=[voice(130)], references=[voice(150)], **LABELS)

    score = score_of(metric, asked, **switches[metric.name])

    assert (score.value, "reason" in score.evidence) == (0, True)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_no_model_is_opened_for_answers_without_a_sound(metric: Metric) -> None:
    """None is here by its usual name."""
    asked = sound_trial(given=[voice(130)], references=[voice(150)], **LABELS)

    assert score_of(metric, asked).value == 0
