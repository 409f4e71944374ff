from typing import Any

import numpy as np
import pytest
import torch

from mmeval.metrics.audio.speech import voices
from mmeval.metrics.audio.speech.voices import (
    VOICE,
    DetectedGender,
    genders,
    same_speaker_pairs,
    voice_vectors,
)
from tests.support.models import tiny
from tests.support.sounds import Samples, silence, sound, tone, voice

CLIPS = [
    voice(110),
    voice(220),
    silence(2),
    tone(0.3),
    tone(12, 700),
    np.zeros(1, np.float32),
]


@pytest.fixture(scope="module")
def gender() -> dict[str, str]:
    return tiny("wav2vec2_gender", VOICE)


@pytest.fixture(scope="module")
def speaker() -> dict[str, str]:
    return tiny("wavlm_sv", VOICE)


def test_of_five_seconds_a_clip_has_a_gender_and_class_one_is_a_man(
    gender: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = voice(150, 5)
    short = start[:44100]
    clips = [
        np.concatenate([start, tone(4)]),
        start,
        np.concatenate([short, silence(3)]),
        short,
    ]
    whole, cut, padded, alone = (found.certainty for found in genders(clips, gender))
    assert (whole, padded) == pytest.approx((cut, alone), abs=2e-3)
    assert genders([start], gender, seconds=1)[0].certainty != pytest.approx(
        cut, abs=1e-6
    )
    together = genders(CLIPS, gender)
    assert [found.gender for found in together] == [
        genders([clip], gender)[0].gender for clip in CLIPS
    ]
    assert all(0.5 <= found.certainty <= 1 for found in together)
    monkeypatch.setattr(
        voices, "_logits", lambda voice, clips: torch.tensor([[0.0, 3.0], [3.0, 0.0]])
    )
    assert [found.gender for found in genders(CLIPS[:2], gender)] == ["male", "female"]
    assert [found.gender for found in genders(CLIPS[:2], gender, male_class=0)] == [
        "female",
        "male",
    ]


def test_a_voice_is_a_vector_of_its_first_seconds_and_two_turns_of_one_speaker_are_a_pair(
    speaker: dict[str, str],
) -> None:
    together = voice_vectors(CLIPS, speaker)
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(CLIPS)))
    for clip, vector in zip(CLIPS, together, strict=True):
        assert voice_vectors([clip], speaker)[0].tolist() == vector.tolist()
    assert together[0] @ together[1] < 0.9999
    assert len(voice_vectors([], speaker)) == 0
    start, both = voice(110, 1.5), np.concatenate([voice(110, 1.5), voice(220, 1.5)])
    whole, cut = voice_vectors([both, start], speaker, seconds=1.0)
    assert whole @ cut > 0.9999
    assert voice_vectors([both], speaker)[0].tolist() != whole.tolist()
    pairs = {
        "01201": [(0, 3), (1, 4)],
        "01010": [(0, 2), (0, 4), (1, 3), (2, 4)],
        "": [],
    }
    assert {order: same_speaker_pairs(order) for order in pairs} == pairs


def test_each_sound_goes_once(
    gender: dict[str, str], speaker: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def one_each(
        clips: list[Samples], *given: Any, **more: Any
    ) -> list[DetectedGender]:
        asked.append(len(clips))
        return [DetectedGender("male", 1.0) for _ in clips]

    monkeypatch.setattr(voices, "genders", one_each)
    monkeypatch.setattr(voices, "voice_vectors", one_each)
    media = [sound(tone(1)), sound(tone(2))]
    for some in (media[:1], media, media):
        voices.genders_of(some, gender)
        voices.voices_of(some, speaker)
    assert asked == [1, 1, 1, 1]
