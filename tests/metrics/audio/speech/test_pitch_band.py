from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pytest

from mmeval.content.media import Media
from mmeval.errors import UsageError
from mmeval.installation import install_command
from mmeval.metric.apply import score_all
from mmeval.metric.bound import bind
from mmeval.metrics.audio.speech import pitch_band as module
from mmeval.metrics.audio.speech.pitch_band import pitch_band
from mmeval.metrics.audio.speech.voices import Heard
from tests.support.sounds import Samples, heard, silence, voice
from tests.support.trials import score_of, trial

HIGH = {"pitch": "high"}
LOW = {"pitch": "low"}


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize(
    ("hertz", "gender", "label", "value", "mel"),
    [(110, "male", LOW, 0.41667679208895386, 164.49957), (180, "female", HIGH, 0.5215016009558697, 257.90307)],
    ids=["a man's low voice", "a woman's high voice"],
)
def test_the_share_of_the_band_is_that_of_the_released_evaluator(
    hertz: float, gender: str, label: dict[str, str], value: float, mel: float, profile: str
) -> None:
    score = score_of(pitch_band, heard(voice(hertz), metadata=label), profile, gender=gender)

    assert score.value == pytest.approx(value, abs=0.5 / 42)
    assert score.evidence == {"mel": pytest.approx(mel, abs=0.5), "gender": gender}


@pytest.mark.parametrize(
    ("hertz", "gender", "high"),
    [(90, "male", 0), (110, "male", 0.5833), (130, "male", 1), (110, "female", 0), (200, "female", 1)],
)
def test_high_and_low_are_the_two_ends_of_the_band(hertz: float, gender: str, high: float) -> None:
    sound = voice(hertz)

    assert score_of(pitch_band, heard(sound, metadata=HIGH), gender=gender).value == pytest.approx(high, abs=1e-3)
    assert score_of(pitch_band, heard(sound, metadata=LOW), gender=gender).value == pytest.approx(1 - high, abs=1e-3)


@pytest.mark.parametrize(
    ("switches", "reason"),
    [
        ({"male_low": 182.0}, "the lower end of the band, 182, must be below the upper one, 182"),
        ({"ceiling": 80.0}, "the lowest pitch, 80 Hz, must be below the highest one, 80 Hz"),
    ],
    ids=["band", "analysis"],
)
def test_limits_in_the_wrong_order_are_no_fault_of_the_answer(switches: dict[str, Any], reason: str) -> None:
    score = score_of(pitch_band, heard(voice(110), metadata=LOW), gender="male", **switches)

    assert (score.status, score.reason) == ("unscored", f"UsageError: {reason}")


def test_a_band_without_width_is_found_before_the_run() -> None:
    bound = bind(pitch_band, {"female_high": 236.0})

    assert bound.sample_fault(heard(metadata=LOW).sample) == "the switch female_low must be below female_high"


def test_a_row_that_asks_for_no_pitch_is_satisfied_by_any_sound() -> None:
    score = score_of(pitch_band, heard(silence(1)))

    assert (score.value, score.evidence) == (1, {"mel": None, "reason": "the row has no label 'pitch'"})


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("samples", [silence(2), voice(150)[:1], voice(150)[:1763]], ids=["silent", "one", "80 ms"])
def test_where_nothing_is_voiced_it_is_wrong_where_the_released_evaluator_broke_off(
    samples: Samples, profile: str
) -> None:
    score = score_of(pitch_band, heard(samples, metadata=HIGH), profile, gender="male")

    assert (score.value, score.evidence) == (0, {"reason": "no moment of the sound is voiced"})


def test_without_a_given_gender_a_model_tells_it_of_those_voices_alone_whose_pitch_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Media] = []

    def genders_of(sounds: Sequence[Media], model: Any, **switches: Any) -> list[Heard]:
        asked.extend(sounds)
        assert switches == {"seconds": 5.0, "male_class": 1}
        return [Heard("male" if at == 0 else "female", 1.0) for at in range(len(sounds))]

    monkeypatch.setattr(module, "genders_of", genders_of)
    trials = [
        heard(voice(110), metadata=LOW),
        heard(text="nothing", metadata=LOW),
        heard(voice(150)),
        heard(silence(1), metadata=HIGH),
        heard(voice(180), metadata=HIGH),
    ]

    scores = [scores["pitch_band"] for scores in score_all(bind(pitch_band), trials)]

    assert [score.value for score in scores] == pytest.approx([0.4167, 0, 1, 0, 0.5215], abs=1e-3)
    assert [score.evidence.get("gender") for score in scores] == ["male", None, None, None, "female"]
    assert len(asked) == 2


def test_another_label_is_unscored_and_told_before_the_run() -> None:
    asked = heard(voice(150), metadata={"pitch": "deep"})

    assert score_of(pitch_band, asked, gender="male").reason == "the label 'pitch' must be high or low, not 'deep'"
    assert bind(pitch_band).sample_fault(asked.sample) == "the label 'pitch' must be high or low, not 'deep'"


def test_a_gender_that_has_no_band_is_refused() -> None:
    with pytest.raises(UsageError, match="must be , male or female, not 'mail'"):
        bind(pitch_band, {"gender": "mail"})


@pytest.mark.parametrize(("switches", "least"), [({"step": 0}, 1), ({"edges": 1}, 2)], ids=["step", "edges"])
def test_a_step_of_nothing_and_bands_without_two_edges_are_refused(switches: dict[str, int], least: int) -> None:
    with pytest.raises(UsageError, match=f"must be {least} or more"):
        bind(pitch_band, switches)


def test_without_praat_it_is_unavailable_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "parselmouth", None)

    reason = bind(pitch_band).unavailable(frozenset())

    assert reason == f"parselmouth is not installed; run: {install_command('pitch')}"


def test_an_answer_without_a_sound_is_wrong_and_no_answer_unscored() -> None:
    assert score_of(pitch_band, heard(text="none", metadata=HIGH)).value == 0
    assert score_of(pitch_band, trial(None, metadata=HIGH)).status == "unscored"
