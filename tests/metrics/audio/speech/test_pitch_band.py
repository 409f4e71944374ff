from collections.abc import Sequence
from typing import Any

import pytest

from mmeval.media import Media
from mmeval.metric import bind, score_all
from mmeval.metrics.audio.speech import pitch_band as module
from mmeval.metrics.audio.speech.pitch_band import pitch_band
from mmeval.metrics.audio.speech.voices import DetectedGender
from tests.support.sounds import heard, silence, voice
from tests.support.trials import score_of

HIGH, LOW = {"pitch": "high"}, {"pitch": "low"}


def test_high_and_low_are_the_two_ends_of_the_band() -> None:
    bands = {
        (90, "male"): 0,
        (110, "male"): 0.5833,
        (130, "male"): 1,
        (110, "female"): 0,
        (180, "female"): 0.5215,
    }
    for (hertz, gender), high in bands.items():
        values = [
            score_of(pitch_band, heard(voice(hertz), metadata=one), gender=gender).value
            for one in (HIGH, LOW)
        ]
        assert values == pytest.approx([high, 1 - high], abs=1e-3)


def test_limits_in_the_wrong_order_are_no_fault_of_the_answer_and_a_row_without_a_pitch_is_satisfied() -> (
    None
):
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"male_low": 182.0}, "182"),
        ({"ceiling": 80.0}, "80 Hz"),
    ]
    for switches, numbers in wrong:
        score = score_of(
            pitch_band, heard(voice(110), metadata=LOW), gender="male", **switches
        )
        assert score.status == "unscored"
        assert score.reason.split(": ")[0] == "UsageError"
        assert score.reason.count(numbers) == 2
    assert "female_low" in bind(pitch_band, {"female_high": 236.0}).sample_fault(
        heard(metadata=LOW).sample
    )
    assert not bind(pitch_band, {"female_high": 236.1}).sample_fault(
        heard(metadata=LOW).sample
    )
    score = score_of(pitch_band, heard(silence(1)))
    assert score.value == 1
    assert score.evidence["mel"] is None
    assert "'pitch'" in score.evidence["reason"]


def test_without_a_given_gender_a_model_finds_it_where_a_pitch_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Media] = []

    def genders_of(
        sounds: Sequence[Media], model: Any, **switches: Any
    ) -> list[DetectedGender]:
        asked.extend(sounds)
        assert switches == {"seconds": 5.0, "male_class": 1}
        return [
            DetectedGender("male" if at == 0 else "female", 1.0)
            for at in range(len(sounds))
        ]

    monkeypatch.setattr(module, "genders_of", genders_of)
    trials = [
        heard(voice(110), metadata=LOW),
        heard(text="nothing", metadata=LOW),
        heard(voice(150)),
    ]
    trials += [heard(silence(1), metadata=HIGH), heard(voice(180), metadata=HIGH)]
    scores = [scores["pitch_band"] for scores in score_all(bind(pitch_band), trials)]
    assert [score.value for score in scores] == pytest.approx(
        [0.4167, 0, 1, 0, 0.5215], abs=1e-3
    )
    assert [score.evidence.get("gender") for score in scores] == [
        "male",
        None,
        None,
        None,
        "female",
    ]
    assert len(asked) == 2
