from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mmeval.media import Media
from mmeval.metric import bind, score_all
from mmeval.metrics.audio.speech import speech_rate as module
from mmeval.metrics.audio.speech.speech_rate import speech_rate
from tests.support.sounds import heard, silence, tone
from tests.support.trials import score_of

FAST, SLOW = {"speed": "high"}, {"speed": "low"}
TEXT = {"source": "text"}


def words(count: int) -> str:
    return " ".join(["lake"] * count)


def test_normalised_words_or_chinese_characters_are_counted_and_without_a_wish_any_rate_is_right() -> (
    None
):
    score = score_of(speech_rate, heard(tone(9.0), text=words(20)), **TEXT)
    assert score.value == 1.0
    assert score.evidence == {"rate": 133.33333333333334, "counted": 20, "seconds": 9.0}
    for text, count in {"It's late, [sighs] they said.": 5, "": 1}.items():
        assert (
            score_of(speech_rate, heard(tone(1), text=text), **TEXT).evidence["counted"]
            == count
        )
    score = score_of(
        speech_rate,
        heard(tone(5), text="湖" * 21, metadata=FAST),
        language="chinese",
        **TEXT,
    )
    assert score.value == pytest.approx(0.5)
    assert score.evidence["rate"] == 252


def test_fast_and_slow_are_the_two_ends_of_the_band_and_silence_at_both_ends_takes_no_time() -> (
    None
):
    for count, fast in {
        13: 0,
        14: 0.5,
        15: 1,
        16: 1,
    }.items():  # 156, 168, 180, 192 words a minute
        answers = [
            heard(tone(5), text=words(count), metadata=label) for label in (FAST, SLOW)
        ]
        assert [score_of(speech_rate, one, **TEXT).value for one in answers] == [
            fast,
            1 - fast,
        ]
    parts = [silence(3), tone(2), silence(2), tone(2), silence(3)]
    sounds = [np.concatenate(parts), silence(2), silence(0.3), np.zeros(1, np.float32)]
    found = [
        score_of(speech_rate, heard(one, metadata=SLOW), **TEXT).evidence["seconds"]
        for one in sounds
    ]
    assert found[0] == pytest.approx(6, abs=0.1)
    assert found[1:] == [len(one) / 22050 for one in sounds[1:]]


def test_by_default_the_words_are_those_of_a_transcript(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def transcripts_of(
        sounds: Sequence[Media], model: Any, processor: Any, language: str
    ) -> list[str]:
        assert model["name"] == "owner/ears"
        assert processor["name"] == "owner/spelling"
        assert language == "german"
        return [words(13 + at) for at in range(len(sounds))]

    monkeypatch.setattr(module, "transcripts_of", transcripts_of)
    trials = [
        heard(tone(5), metadata=FAST),
        heard(text="no sound"),
        heard(tone(5, 500), metadata=FAST),
    ]
    switches = {
        "model": "owner/ears",
        "processor": "owner/spelling",
        "language": "german",
    }
    scores = [
        scores["speech_rate"]
        for scores in score_all(bind(speech_rate, switches), trials)
    ]
    assert [(score.value, score.evidence.get("counted")) for score in scores] == [
        (0, 13),
        (0, None),
        (0.5, 14),
    ]
