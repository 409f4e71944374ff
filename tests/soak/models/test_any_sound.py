"""Whatever can be decoded has a score, by signals and by tiny models; what cannot be
heard is the answer's fault."""

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.media.media import Media
from mmeval.metric import Metric
from mmeval.metrics.audio.clap import CLAP, clap_similarity
from mmeval.metrics.audio.intensity import intensity
from mmeval.metrics.audio.music import tempo as tempo_module
from mmeval.metrics.audio.music.tempo import tempo
from mmeval.metrics.audio.silence_segments import silence_segments
from mmeval.metrics.audio.sound_class import sound_class
from mmeval.metrics.audio.speech.pitch_band import pitch_band
from mmeval.metrics.audio.speech.speakers import speaker_gender, speaker_similarity
from mmeval.metrics.audio.speech.speech_rate import speech_rate
from mmeval.metrics.audio.speech.transcript_constraints import transcript_constraints
from mmeval.metrics.audio.speech.transcription import PROCESSOR, WHISPER, transcript
from mmeval.metrics.audio.speech.voices import VOICE
from tests.support.models import tiny
from tests.support.sounds import (
    Samples,
    alternating,
    class_folder,
    heard,
    pulses,
    silence,
    sound_trial,
    tone,
    voice,
)
from tests.support.tiny_media import picture
from tests.support.trials import score_of

LABELS = {
    "intensity": ["end", "fade out"],
    "tempo": 120,
    "pitch": "high",
    "speed": "low",
}
OF_MODELS = {
    "target": "rain",
    "text": "lakes are deep",
    "constraint": ["length_word", ">= 0"],
    "gender": "male",
}
SWITCHES: dict[str, Any] = {
    "pitch_band": {"gender": "male"},
    "speech_rate": {"source": "text"},
}
SIGNALS = (silence_segments, intensity, tempo, pitch_band, speech_rate)
MODELS = (
    clap_similarity,
    sound_class,
    transcript,
    transcript_constraints,
    speaker_gender,
    speaker_similarity,
)
SOUNDS = {
    "silence": silence(1),
    "tone": tone(3),
    "pulses": pulses(4, (0, 1)),
    "voice": voice(130),
    "alternating": alternating(0.5, 1.2, 0.5),
    "square": np.sign(tone(2)),
    "constant": np.ones(30000, np.float32),
    "faint": tone(2) * np.float32(1e-7),
    "click": np.eye(1, 9000, 4000, dtype=np.float32)[0],
}


@pytest.fixture
def two_beats_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tempo_module, "beats", lambda clip, model: [0.0] * (len(clip) * 2 // 22050)
    )


def sound(samples: Samples, rate: int = 22050, channels: int = 1) -> Media:
    file = io.BytesIO()
    soundfile.write(
        file,
        np.stack([samples] * channels, axis=1),
        rate,
        format="WAV",
        subtype="FLOAT",
    )
    return Media.from_bytes(file.getvalue())


def numbers(evidence: Any) -> list[float]:
    if isinstance(evidence, Mapping):
        return [number for item in evidence.values() for number in numbers(item)]
    return [float(evidence)] if isinstance(evidence, (int, float)) else []


def value_of(metric: Metric, media: Media, profile: str = "standard") -> float:
    trial = heard(media, text="one two three", metadata=LABELS)
    score = score_of(metric, trial, profile, **SWITCHES.get(metric.name, {}))
    assert score.status == "scored" and score.value is not None, score.reason
    assert all(map(math.isfinite, (score.value, *numbers(score.evidence))))
    return score.value


@pytest.mark.usefixtures("two_beats_a_second")
@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(sorted(SOUNDS)),
    length=st.integers(1, 90000),
    rate=st.sampled_from([4000, 8000, 11025, 16000, 22050, 44100, 48000, 192000]),
    channels=st.integers(1, 3),
    scale=st.sampled_from([0.0, 1e-30, 1e-4, 1.0, 50.0]),
)
def test_every_sound_that_can_be_decoded_has_a_score(
    kind: str, length: int, rate: int, channels: int, scale: float
) -> None:
    media = sound(SOUNDS[kind][:length] * np.float32(scale), rate, channels)
    for metric in SIGNALS:
        for profile in ("standard", "official"):
            assert 0 <= value_of(metric, media, profile) <= 1


@pytest.mark.usefixtures("two_beats_a_second")
@pytest.mark.parametrize("metric", SIGNALS, ids=lambda metric: metric.name)
def test_what_is_heard_decides_not_the_form_in_which_it_came(metric: Metric) -> None:
    samples = np.concatenate([voice(130, 2), silence(1.5), voice(130, 2)])
    phone = sound(samples[np.arange(int(5.5 * 8000)) * 22050 // 8000], 8000, 2)
    assert value_of(metric, phone) == pytest.approx(
        value_of(metric, sound(samples)), abs=0.1
    )
    for nothing in (np.zeros(0, np.float32), np.full(5, np.nan, np.float32)):
        assert value_of(metric, sound(nothing)) == 0


@pytest.fixture(scope="module")
def switches(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    rain = class_folder(tmp_path_factory.mktemp("set"), {"rain": [tone(0.5, 900)]})
    whisper = {
        "model": tiny("whisper", WHISPER),
        "processor": tiny("whisper", PROCESSOR),
    }
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


@pytest.mark.parametrize("metric", MODELS, ids=lambda metric: metric.name)
def test_models_score_every_sound_and_what_cannot_be_heard_is_zero(
    metric: Metric, switches: Mapping[str, dict[str, Any]]
) -> None:
    def score(media: Media) -> Any:
        asked = sound_trial(
            media, given=[voice(130)], references=[voice(150)], **OF_MODELS
        )
        return score_of(metric, asked, **switches[metric.name])

    forms = [
        sound(silence(1)),
        sound(tone(0.3)),
        sound(np.zeros(1, np.float32)),
        sound(tone(2), 8000, 2),
    ]
    for media in (
        *forms,
        sound(tone(2), 192000),
        sound(np.sign(tone(2))),
        sound(voice(130) * np.float32(1e-9)),
    ):
        found = score(media)
        assert found.status == "scored", found.reason
        assert all(
            math.isfinite(number)
            for number in (found.value, *numbers(found.evidence))
            if number is not None
        )
    for nothing in (np.zeros(0, np.float32), np.full(9, np.nan, np.float32)):
        assert (
            found := score(sound(nothing))
        ).value == 0 and "reason" in found.evidence
    assert score(Media.from_bytes(picture())).value == 0
