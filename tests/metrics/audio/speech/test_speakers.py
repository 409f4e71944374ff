from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mmeval.content.media import Media
from mmeval.metric.bound import bind
from mmeval.metrics.audio.clips import clip
from mmeval.metrics.audio.speech import speakers
from mmeval.metrics.audio.speech.speakers import speaker_gender, speaker_similarity
from mmeval.metrics.audio.speech.voices import VOICE, Heard
from tests.support.hearing import DAMAGED, scored_together, sound_trial, tiny
from tests.support.sounds import Samples, tone, voice
from tests.support.trials import score_of, trial


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for the models: a louder voice is a man's, and how loud it is turns it by so many quarters."""

    def loudness(sound: Media) -> float:
        return float(np.abs(clip(sound)).max())

    def genders_of(sounds: Sequence[Media], model: Any, *, seconds: float, male_class: int) -> list[Heard]:
        return [Heard("male" if (loudness(s) > 0.1 * seconds) == (male_class == 1) else "female", 0.9) for s in sounds]

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


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize(("gender", "value"), [("male", 1), ("female", 0)])
def test_the_gender_that_is_heard_is_compared_with_the_label(gender: str, value: float) -> None:
    score = score_of(speaker_gender, sound_trial(loud(0.8), gender=gender))

    assert (score.value, score.evidence) == (value, {"heard": "male", "certainty": 0.9})


@pytest.mark.usefixtures("heard")
def test_every_switch_of_gender_matters() -> None:
    asked = sound_trial(loud(0.8), gender="male", voice="female")

    for changed in ({"seconds": 9.0}, {"male_class": 0}, {"gender_key": "voice"}):
        assert score_of(speaker_gender, asked, **changed).value == 0
    assert speaker_gender.switches == {
        "model": "alefiury/wav2vec2-large-xlsr-53-gender-recognition-librispeech",
        "seconds": 5.0,
        "male_class": 1,
        "gender_key": "gender",
    }


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("label", [None, "man", 1])
def test_another_label_is_unscored_and_told_before_the_run(label: Any) -> None:
    asked = sound_trial(loud(0.8), gender=label)

    assert score_of(speaker_gender, asked).reason == bind(speaker_gender).sample_fault(asked.sample) != ""


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize(
    ("cosine", "threshold", "value"),
    [(0.935, None, 1), (0.925, None, 0), (0.9, 0.86, 1), (0.85, 0.86, 0), (1.0, 1.0, 0)],
    ids=["above .93", "below .93", "above the paper's", "below the paper's", "at it"],
)
def test_voices_are_one_persons_above_the_threshold(cosine: float, threshold: float | None, value: float) -> None:
    switches: dict[str, Any] = {} if threshold is None else {"threshold": threshold}
    score = score_of(speaker_similarity, sound_trial(apart(cosine), given=[loud(0)]), **switches)

    assert score.value == value
    assert score.evidence["cosines"]["input"] == pytest.approx(cosine, abs=1e-3)


@pytest.mark.usefixtures("heard")
def test_the_voice_of_the_data_is_that_of_the_input_or_of_the_reference() -> None:
    asked = sound_trial(loud(0), given=[loud(0.9), loud(0)], references=[loud(0)])

    assert score_of(speaker_similarity, asked).value == 0
    assert score_of(speaker_similarity, asked, against="reference").value == 1


@pytest.mark.usefixtures("heard")
def test_all_turns_of_one_speaker_are_alike_and_different_speakers_may_be() -> None:
    alike = sound_trial(loud(0), loud(0), loud(0), order=[0, 1, 0])
    third = sound_trial(loud(0), loud(0), loud(0), loud(0), apart(0.5), order=[0, 1, 0, 1, 0])
    alone = sound_trial(loud(0), loud(0.9), order=["Ann", "Bo"])

    values = [score_of(speaker_similarity, one, against="turns").value for one in (alike, third, alone)]
    assert values == [1, 0, 1]
    assert list(score_of(speaker_similarity, third, against="turns").evidence["cosines"]) == [
        "0-2",
        "0-4",
        "1-3",
        "2-4",
    ]


@pytest.mark.usefixtures("heard")
def test_another_number_of_sounds_than_turns_and_a_damaged_one_are_zero() -> None:
    for answer in ([], [loud(0)], [loud(0)] * 3, [loud(0), DAMAGED]):
        score = score_of(speaker_similarity, sound_trial(*answer, order=[0, 0]), against="turns")
        assert (score.value, "reason" in score.evidence) == (0, True)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("answer", [[], [tone(1), tone(2)], [DAMAGED]], ids=["none", "two", "damaged"])
def test_an_answer_without_exactly_one_sound_is_zero_with_the_reason(answer: list[Samples]) -> None:
    asked = sound_trial(*answer, given=[tone(1)], gender="male")

    for metric in (speaker_gender, speaker_similarity):
        score = score_of(metric, asked)
        assert (score.value, "reason" in score.evidence) == (0, True)


@pytest.mark.usefixtures("heard")
def test_a_voice_of_the_data_that_lacks_or_is_damaged_is_unscored() -> None:
    for given in ([], [DAMAGED]):
        asked = sound_trial(tone(1), given=given)
        assert score_of(speaker_similarity, asked).reason == bind(speaker_similarity).sample_fault(asked.sample) != ""
    turns = sound_trial(tone(1), order="Ann")
    assert score_of(speaker_similarity, turns, against="turns").status == "unscored"
    assert score_of(speaker_similarity, trial(None)).status == "unscored"
    assert score_of(speaker_gender, trial(None)).status == "unscored"


def test_the_documented_values_of_the_switches() -> None:
    assert speaker_similarity.switches == {
        "model": "microsoft/wavlm-base-sv",
        "against": "input",
        "threshold": 0.93,
        "seconds": 60.0,
        "order_key": "order",
    }


def test_the_whole_path_gives_a_batch_the_scores_of_each_alone() -> None:
    trials = [sound_trial(voice(hertz), given=[voice(110)], gender="male") for hertz in (110, 150, 220)]
    trials.append(sound_trial(given=[voice(110)], gender="male"))

    for metric, name in ((speaker_gender, "wav2vec2_gender"), (speaker_similarity, "wavlm_sv")):
        switches: dict[str, Any] = {"model": tiny(name, VOICE)}
        together = scored_together(metric, trials, **switches)
        assert [score.value for score in together] == [score_of(metric, one, **switches).value for one in trials]
        assert together[3].value == 0
    assert scored_together(speaker_similarity, trials[:1], **switches)[0].value == 1
