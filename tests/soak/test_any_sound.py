"""Whatever can be decoded has a score, and what is heard decides it, not the form in which it came."""

from __future__ import annotations

import io
import math
import time
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.content.media import Media
from mmeval.metric import Metric
from mmeval.metrics.audio.intensity import intensity
from mmeval.metrics.audio.music import tempo as tempo_module
from mmeval.metrics.audio.music.tempo import tempo
from mmeval.metrics.audio.silence_segments import silence_segments
from mmeval.metrics.audio.speech.pitch_band import pitch_band
from mmeval.metrics.audio.speech.speech_rate import speech_rate
from tests.support.sounds import Samples, alternating, heard, pulses, silence, tone, voice
from tests.support.trials import score_of

LABELS = {"intensity": ["end", "fade out"], "tempo": 120, "pitch": "high", "speed": "low"}
SWITCHES: dict[str, Any] = {"pitch_band": {"gender": "male"}, "speech_rate": {"source": "text"}}
METRICS = (silence_segments, intensity, tempo, pitch_band, speech_rate)
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


@pytest.fixture(autouse=True)
def two_beats_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempo_module, "beats", lambda clip, model: [0.0] * (len(clip) * 2 // 22050))


def sound(samples: Samples, rate: int, channels: int = 1) -> Media:
    file = io.BytesIO()
    soundfile.write(file, np.stack([samples] * channels, axis=1), rate, format="WAV", subtype="FLOAT")
    return Media.from_bytes(file.getvalue())


def value_of(metric: Metric, media: Media, profile: str = "standard") -> float:
    score = score_of(
        metric, heard(media, text="one two three", metadata=LABELS), profile, **SWITCHES.get(metric.name, {})
    )
    assert score.status == "scored", score.reason
    assert score.value is not None
    numbers = [number for number in score.evidence.values() if isinstance(number, float)]
    assert all(math.isfinite(number) for number in (score.value, *numbers))
    return score.value


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

    for metric in METRICS:
        for profile in ("standard", "official"):
            assert 0 <= value_of(metric, media, profile) <= 1


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("samples", [silence(0.3), tone(0.3), voice(130, 0.3), np.zeros(1, np.float32)], ids=range(4))
def test_a_third_of_a_second_and_one_sample_have_a_score(samples: Samples, metric: Metric) -> None:
    assert 0 <= value_of(metric, sound(samples, 22050)) <= 1


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_eight_kilohertz_in_stereo_is_the_same_sound(metric: Metric) -> None:
    samples = np.concatenate([voice(130, 2), silence(1.5), voice(130, 2)])
    phone = samples[np.arange(int(5.5 * 8000)) * 22050 // 8000]

    assert value_of(metric, sound(phone, 8000, 2)) == pytest.approx(value_of(metric, sound(samples, 22050)), abs=0.1)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_sound_of_no_seconds_and_one_that_is_no_number_are_wrong(metric: Metric) -> None:
    for samples in (np.zeros(0, np.float32), np.full(5, np.nan, np.float32)):
        assert value_of(metric, sound(samples, 22050)) == 0


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_twenty_minutes_are_scored_in_seconds(metric: Metric) -> None:
    long = sound(np.tile(voice(130, 1)[:8000], 20 * 60), 8000)
    started = time.process_time()

    assert 0 <= value_of(metric, long) <= 1
    assert time.process_time() - started < 60
