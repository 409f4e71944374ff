from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mmeval.content.media import Media
from mmeval.metric.bound import bind
from mmeval.metrics.audio.clips import clip
from mmeval.metrics.audio.speech import transcript_constraints as module
from mmeval.metrics.audio.speech.transcript_constraints import transcript_constraints
from mmeval.metrics.audio.speech.transcription import PROCESSOR, WHISPER
from tests.support.hearing import DAMAGED, sound_trial, tiny
from tests.support.sounds import Samples, tone
from tests.support.trials import score_of, trial

ONE, TWO, THREE = tone(1), tone(2), tone(3)
SAID = {1: "we watched the stars with nasa", 2: "i disagree with you", 3: "a fair compromise"}


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for Whisper: what is said depends on the length."""

    def transcripts_of(sounds: Sequence[Media], model: Any, processor: Any, language: str) -> list[str]:
        assert language == "english"
        return [SAID[round(len(clip(sound)) / 22050)] for sound in sounds]

    monkeypatch.setattr(module, "transcripts_of", transcripts_of)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        (["start", "We watched"], 1),
        (["length_word", "< 7"], 1),
        ([["start", "We watched"], ["length_word", "> 6"]], 0),
        ([["start", "We watched"], ["end", "NASA"]], 1),
    ],
    ids=["one", "counted", "one of two", "both"],
)
def test_constraints_of_one_sound_are_met_together(constraint: Any, value: float) -> None:
    score = score_of(transcript_constraints, sound_trial(ONE, constraint=constraint))

    assert (score.value, score.evidence["heard"]) == (value, SAID[1])


@pytest.mark.usefixtures("heard")
def test_keywords_with_capitals_are_found_and_officially_never() -> None:
    excluded = sound_trial(ONE, constraint=["keyword_exclude", "NASA", "Mars"])

    assert score_of(transcript_constraints, excluded).value == 0
    assert score_of(transcript_constraints, excluded, "official").value == 1


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize(
    "constraint", [["keyword_exclude", "Mars"], ["length_word", "< 20"]], ids=["excluded", "short"]
)
def test_no_sound_is_zero_and_officially_an_empty_text(constraint: list[str]) -> None:
    silent = sound_trial(constraint=constraint)

    assert score_of(transcript_constraints, silent).value == 0
    assert score_of(transcript_constraints, silent, "official").value == 1
    assert score_of(transcript_constraints, sound_trial(constraint=["start", "a"]), "official").value == 0


@pytest.mark.usefixtures("heard")
def test_of_turns_the_mean_over_those_with_a_constraint_counts() -> None:
    turns = {"1": ["start", "I disagree"], "2": ["keyword_include", "compromise", "suggestion"]}

    score = score_of(transcript_constraints, sound_trial(ONE, TWO, THREE, order=[0, 1, 0], constraint=turns))

    assert score.value == 0.5
    assert {turn: found["heard"] for turn, found in score.evidence["turns"].items()} == {"1": SAID[2], "2": SAID[3]}


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("answer", [[], [ONE], [ONE, TWO, THREE]], ids=len)
def test_another_number_of_sounds_than_turns_is_zero(answer: list[Samples], profile: str) -> None:
    asked = sound_trial(*answer, order=[0, 1], constraint={"0": ["keyword_exclude", "Mars"]})

    assert score_of(transcript_constraints, asked, profile).value == 0


@pytest.mark.usefixtures("heard")
def test_a_damaged_sound_and_two_for_one_are_zero_in_both_profiles() -> None:
    for profile in ("standard", "official"):
        for answer in ([DAMAGED], [ONE, TWO]):
            asked = sound_trial(*answer, constraint=["keyword_exclude", "Mars"])
            assert score_of(transcript_constraints, asked, profile).value == 0
    turns = sound_trial(DAMAGED, ONE, order=[0, 1], constraint={"0": ["start", "a"]})
    assert "turn 0" in score_of(transcript_constraints, turns).evidence["reason"]


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"constraint": ["rhymes", "a"]},
        {"constraint": {}, "order": [0]},
        {"constraint": {"1": ["start", "a"]}, "order": [0]},
        {"constraint": {"0": ["start", "a"]}},
        {"constraint": {"0": ["length_word", "many"]}, "order": [0]},
    ],
    ids=str,
)
def test_labels_that_ask_for_nothing_are_unscored_and_told_before_the_run(labels: dict[str, Any]) -> None:
    asked = sound_trial(ONE, **labels)

    reason = score_of(transcript_constraints, asked).reason
    assert reason == bind(transcript_constraints).sample_fault(asked.sample) != ""


def test_without_an_answer_it_is_unscored() -> None:
    asked = trial(None, metadata={"constraint": ["start", "a"]})

    assert score_of(transcript_constraints, asked).status == "unscored"


@pytest.mark.usefixtures("heard")
def test_every_switch_matters() -> None:
    asked = sound_trial(ONE, constraint=["keyword_exclude", "NASA"], other=["start", "We"])
    turns = sound_trial(ONE, constraint={"0": ["start", "We"]}, order=[0], speakers=[0, 1])

    assert score_of(transcript_constraints, asked, lower_keywords=False).value == 1
    assert score_of(transcript_constraints, asked, constraint_key="other").value == 1
    assert score_of(transcript_constraints, sound_trial(constraint=["length_word", "< 2"]), missing="empty_text").value
    assert score_of(transcript_constraints, turns).value == 1
    assert score_of(transcript_constraints, turns, order_key="speakers").value == 0


def test_the_documented_values_of_the_switches() -> None:
    assert transcript_constraints.switches == {
        "model": "openai/whisper-large-v3",
        "processor": "openai/whisper-large-v3",
        "language": "english",
        "constraint_key": "constraint",
        "order_key": "order",
        "lower_keywords": True,
        "missing": "zero",
    }


def test_the_whole_path_with_a_model() -> None:
    whisper: dict[str, Any] = {"model": tiny("whisper", WHISPER), "processor": tiny("whisper", PROCESSOR)}
    asked = sound_trial(ONE, TWO, order=[0, 0], constraint={"0": ["length_word", ">= 0"], "1": ["start", "qx"]})

    assert score_of(transcript_constraints, asked, **whisper).value == 0.5
