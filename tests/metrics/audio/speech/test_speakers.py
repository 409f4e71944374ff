import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mmeval.media import Media
from mmeval.metric import bind
from mmeval.metrics.audio.clips import clip
from mmeval.metrics.audio.speech import speakers
from mmeval.metrics.audio.speech.speakers import speaker_gender, speaker_similarity
from mmeval.metrics.audio.speech.voices import DetectedGender
from tests.support.sounds import DAMAGED, Samples, sound_trial, tone
from tests.support.trials import score_of


@pytest.fixture(autouse=True)
def heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for the models: a louder voice is a man's, and its loudness turns its
    vector by quarters."""

    def loudness(sound: Media) -> float:
        return float(np.abs(clip(sound)).max())

    def genders_of(
        sounds: Sequence[Media], model: Any, *, seconds: float, male_class: int
    ) -> list[DetectedGender]:
        return [
            DetectedGender(
                "male"
                if (loudness(s) > 0.1 * seconds) == (male_class == 1)
                else "female",
                0.9,
            )
            for s in sounds
        ]

    def voices_of(sounds: Sequence[Media], model: Any, *, seconds: float) -> list[Any]:
        angles = [loudness(sound) * math.pi / 2 for sound in sounds]
        return [np.array([math.cos(angle), math.sin(angle)]) for angle in angles]

    monkeypatch.setattr(speakers, "genders_of", genders_of)
    monkeypatch.setattr(speakers, "voices_of", voices_of)


def loud(level: float) -> Samples:
    return np.full(22050, level, np.float32)


def apart(cosine: float) -> Samples:
    """A voice that is so like that of ``loud(0)``."""
    return loud(math.acos(cosine) * 2 / math.pi)


def test_the_gender_of_the_voice_and_voices_above_the_threshold() -> None:
    for gender, value in {"male": 1, "female": 0}.items():
        score = score_of(
            speaker_gender, sound_trial(loud(0.8), gender=gender, voice="female")
        )
        assert score.value == value
        assert score.evidence == {"heard": "male", "certainty": 0.9}
    for changed in ({"seconds": 9.0}, {"male_class": 0}, {"gender_key": "voice"}):
        asked = sound_trial(loud(0.8), gender="male", voice="female")
        assert score_of(speaker_gender, asked, **changed).value == 0
    for cosine, threshold, value in ((0.935, 0.93, 1), (0.925, 0.93, 0), (1.0, 1.0, 0)):
        score = score_of(
            speaker_similarity,
            sound_trial(apart(cosine), given=[loud(0)]),
            threshold=threshold,
        )
        assert score.value == value
        assert score.evidence["cosines"]["input"] == pytest.approx(cosine, abs=1e-3)


def test_a_label_that_is_no_gender_is_found_before_the_run() -> None:
    asked = sound_trial(loud(0.8), gender="man")
    fault = bind(speaker_gender).sample_fault(asked.sample)
    assert fault
    assert score_of(speaker_gender, asked).reason == fault


def test_a_voice_to_compare_with_that_cannot_be_heard_is_found_before_the_run() -> None:
    asked = sound_trial(loud(0), given=[loud(0.9), loud(0)], references=[loud(0)])
    assert [
        score_of(speaker_similarity, asked, against=one).value
        for one in ("input", "reference")
    ] == [0, 1]
    unfit = sound_trial(tone(1), given=[DAMAGED])
    fault = bind(speaker_similarity).sample_fault(unfit.sample)
    assert fault
    assert score_of(speaker_similarity, unfit).reason == fault


@pytest.mark.parametrize(
    ("answer", "order", "value", "pairs"),
    [
        ([loud(0)] * 3, [0, 1, 0], 1, ["0-2"]),
        (
            [*[loud(0)] * 4, apart(0.5)],
            [0, 1, 0, 1, 0],
            0,
            ["0-2", "0-4", "1-3", "2-4"],
        ),
        ([loud(0), loud(0.9)], ["Ann", "Bo"], 1, []),
        # Another number of sounds than turns, and a damaged one.
        *(
            ([*answer], [0, 0], 0, None)
            for answer in ([loud(0)], [loud(0)] * 3, [loud(0), DAMAGED])
        ),
    ],
)
def test_turns_of_one_speaker(
    answer: list[Any], order: list[Any], value: float, pairs: list[str] | None
) -> None:
    score = score_of(
        speaker_similarity, sound_trial(*answer, order=order), against="turns"
    )
    assert score.value == value
    assert ("reason" in score.evidence) == (pairs is None)
    assert pairs is None or list(score.evidence["cosines"]) == pairs
