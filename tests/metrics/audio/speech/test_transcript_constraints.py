from collections.abc import Sequence
from typing import Any

import pytest

from mmeval.media import Media
from mmeval.metrics.audio.clips import clip
from mmeval.metrics.audio.speech import transcript_constraints as module
from mmeval.metrics.audio.speech.transcript_constraints import transcript_constraints
from tests.support.sounds import DAMAGED, sound_trial, tone
from tests.support.trials import score_of

ONE, TWO, THREE = tone(1), tone(2), tone(3)
SAID = {
    1: "we watched the stars with nasa",
    2: "i disagree with you",
    3: "a fair compromise",
}
NO_MARS = {"0": ["keyword_exclude", "Mars"]}


@pytest.fixture(autouse=True)
def heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for Whisper: the words depend on the length."""

    def transcripts_of(
        sounds: Sequence[Media], model: Any, processor: Any, language: str
    ) -> list[str]:
        assert language == "english"
        return [SAID[round(len(clip(sound)) / 22050)] for sound in sounds]

    monkeypatch.setattr(module, "transcripts_of", transcripts_of)


def test_constraints_of_one_sound_are_met_together() -> None:
    start: list[Any] = ["start", "We watched"]
    for constraint, value in (
        (start, 1),
        ([start, ["length_word", "> 6"]], 0),
        ([start, ["end", "NASA"]], 1),
    ):
        score = score_of(
            transcript_constraints, sound_trial(ONE, constraint=constraint)
        )
        assert score.value == value
        assert score.evidence["heard"] == SAID[1]


@pytest.mark.parametrize(
    ("answer", "constraint", "values"),
    [
        # officially keywords with capitals are never found
        ([ONE], ["keyword_exclude", "NASA", "Mars"], [0, 1]),
        ([], ["keyword_exclude", "Mars"], [0, 1]),  # and no sound is an empty text
        ([], ["start", "a"], [0, 0]),
        ([DAMAGED], ["keyword_exclude", "Mars"], [0, 0]),
        ([ONE, TWO], ["keyword_exclude", "Mars"], [0, 0]),
        # not as many sounds as turns
        *((answer, NO_MARS, [0, 0]) for answer in ([], [ONE], [ONE, TWO, THREE])),
    ],
)
def test_both_profiles(answer: list[Any], constraint: Any, values: list[float]) -> None:
    asked = sound_trial(*answer, constraint=constraint, order=[0, 1])
    assert [
        score_of(transcript_constraints, asked, one).value
        for one in ("standard", "official")
    ] == values


def test_of_turns_the_mean_over_those_with_a_constraint_counts() -> None:
    turns = {
        "1": ["start", "I disagree"],
        "2": ["keyword_include", "compromise", "suggestion"],
    }
    score = score_of(
        transcript_constraints,
        sound_trial(ONE, TWO, THREE, order=[0, 1, 0], constraint=turns),
    )
    assert score.value == 0.5
    assert {
        turn: found["heard"] for turn, found in score.evidence["turns"].items()
    } == {"1": SAID[2], "2": SAID[3]}
    damaged = sound_trial(DAMAGED, ONE, order=[0, 1], constraint=NO_MARS)
    assert "turn 0" in score_of(transcript_constraints, damaged).evidence["reason"]
