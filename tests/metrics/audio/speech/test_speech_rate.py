from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mmeval.content.media import Media
from mmeval.metric.apply import score_all
from mmeval.metric.bound import bind
from mmeval.metrics.audio.speech import speech_rate as module
from mmeval.metrics.audio.speech.speech_rate import speech_rate
from tests.support.sounds import Samples, heard, silence, tone
from tests.support.trials import score_of, trial

FAST, SLOW = {"speed": "high"}, {"speed": "low"}
TEXT = {"source": "text"}


def words(count: int) -> str:
    return " ".join(["lake"] * count)


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize(
    ("count", "seconds", "label", "rate", "value"),
    [(20, 6.0, FAST, 200.0, 1.0), (20, 9.0, {}, 133.33333333333334, 1.0)],
    ids=["fast", "nothing asked"],
)
def test_the_rate_is_that_of_the_released_evaluator(
    count: int, seconds: float, label: dict[str, str], rate: float, value: float, profile: str
) -> None:
    score = score_of(speech_rate, heard(tone(seconds), text=words(count), metadata=label), profile, **TEXT)

    assert (score.value, score.evidence) == (value, {"rate": rate, "counted": count, "seconds": seconds})


@pytest.mark.parametrize(
    ("count", "fast"), [(13, 0), (14, 0.5), (15, 1), (16, 1), (1, 0)], ids=["156", "168", "180", "192", "12"]
)
def test_fast_and_slow_are_the_two_ends_of_the_band(count: int, fast: float) -> None:
    answer = tone(5)

    assert score_of(speech_rate, heard(answer, text=words(count), metadata=FAST), **TEXT).value == fast
    assert score_of(speech_rate, heard(answer, text=words(count), metadata=SLOW), **TEXT).value == 1 - fast


def test_of_chinese_the_characters_are_counted() -> None:
    answer = heard(tone(5), text="湖" * 21, metadata=FAST)

    score = score_of(speech_rate, answer, language="chinese", **TEXT)

    assert (score.value, score.evidence["rate"]) == (pytest.approx(0.5), 252)


def test_the_words_are_those_of_the_normalised_text() -> None:
    counted = [
        score_of(speech_rate, heard(tone(1), text=text), **TEXT).evidence["counted"]
        for text in ("It's late, [sighs] they said.", "", "...")
    ]

    assert counted == [5, 1, 1]  # "it is late they said"; no words count as one


def test_silence_at_both_ends_is_no_time_and_a_pause_is() -> None:
    parts = [silence(3), tone(2), silence(2), tone(2), silence(3)]

    score = score_of(speech_rate, heard(np.concatenate(parts), text=words(10)), **TEXT)

    assert score.evidence["seconds"] == pytest.approx(6, abs=0.1)


@pytest.mark.parametrize("samples", [silence(2), silence(0.3), np.zeros(1, np.float32)], ids=["2 s", "0.3 s", "one"])
def test_a_silent_sound_takes_all_of_its_time(samples: Samples) -> None:
    score = score_of(speech_rate, heard(samples, metadata=SLOW), **TEXT)

    assert score.evidence["seconds"] == len(samples) / 22050


def test_by_default_the_words_are_those_that_are_heard_in_the_answers_that_have_a_sound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def transcripts_of(sounds: Sequence[Media], model: Any, processor: Any, language: str) -> list[str]:
        assert (model["name"], processor["name"], language) == ("owner/ears", "owner/spelling", "german")
        return [words(13 + at) for at in range(len(sounds))]

    monkeypatch.setattr(module, "transcripts_of", transcripts_of)
    trials = [heard(tone(5), metadata=FAST), heard(text="no sound"), heard(tone(5, 500), metadata=FAST)]
    switches = {"model": "owner/ears", "processor": "owner/spelling", "language": "german"}

    scores = [scores["speech_rate"] for scores in score_all(bind(speech_rate, switches), trials)]

    assert [score.value for score in scores] == [0, 0, 0.5]
    assert [score.evidence.get("counted") for score in scores] == [13, None, 14]


def test_another_label_is_unscored_and_told_before_the_run() -> None:
    asked = heard(tone(1), metadata={"speed": "quick"})

    assert score_of(speech_rate, asked, **TEXT).reason == "the label 'speed' must be high or low, not 'quick'"
    assert bind(speech_rate).sample_fault(asked.sample) == "the label 'speed' must be high or low, not 'quick'"


def test_an_answer_without_a_sound_is_wrong_and_no_answer_unscored() -> None:
    assert score_of(speech_rate, heard(text="none", metadata=FAST), **TEXT).value == 0
    assert score_of(speech_rate, trial(None, metadata=FAST), **TEXT).status == "unscored"
