from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mmeval.metric.bound import bind
from mmeval.metrics.audio.music import tempo as module
from mmeval.metrics.audio.music.tempo import tempo
from tests.support.sounds import Samples, heard, silence, tone
from tests.support.trials import score_of, trial


@pytest.fixture(autouse=True)
def two_beats_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the network: it hears a beat every half second."""

    def beats(clip: Samples, model: Any) -> list[float]:
        assert model["name"] == "CPJKU/beat_this"
        return [at / 2 for at in range(len(clip) * 2 // 22050)]

    monkeypatch.setattr(module, "beats", beats)


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize(
    ("wanted", "value"),
    [(120, 1), (124.9, 1), (125, 0), (115.1, 1), (115, 0), (60, 0), (240, 0)],
    ids=["the same", "within", "just 5 slower", "within below", "just 5 faster", "half", "twice"],
)
def test_less_than_five_beats_a_minute_off_is_right(wanted: float, value: float, profile: str) -> None:
    score = score_of(tempo, heard(tone(10), metadata={"tempo": wanted}), profile)

    assert (score.value, score.evidence) == (value, {"bpm": 120.0, "beats": 20, "seconds": 10.0})


def test_silence_at_both_ends_has_no_beats_and_takes_no_time() -> None:
    padded = np.concatenate([silence(7), tone(10), silence(7)])

    evidence = score_of(tempo, heard(padded, metadata={"tempo": 120})).evidence

    assert evidence["seconds"] == pytest.approx(10, abs=0.2)
    assert evidence["bpm"] == pytest.approx(120, abs=3)


@pytest.mark.parametrize("samples", [silence(3), tone(0.3), np.zeros(1, np.float32)], ids=["silent", "0.3 s", "one"])
def test_a_sound_of_any_length_has_a_tempo(samples: Samples) -> None:
    score = score_of(tempo, heard(samples, metadata={"tempo": 90}))

    assert score.evidence["bpm"] == score.evidence["beats"] * 60 / (len(samples) / 22050)


@pytest.mark.parametrize("label", [None, "fast", 0, -3, True, float("nan"), [120]])
def test_without_a_label_it_is_unscored_and_told_before_the_run(label: Any) -> None:
    asked = heard(tone(1), metadata={"tempo": label})

    assert score_of(tempo, asked).reason == "the label 'tempo' is no number of beats a minute"
    assert bind(tempo).sample_fault(asked.sample) == "the label 'tempo' is no number of beats a minute"


def test_an_answer_without_a_sound_is_wrong_and_no_answer_unscored() -> None:
    assert score_of(tempo, heard(text="none", metadata={"tempo": 90})).value == 0
    assert score_of(tempo, trial(None, metadata={"tempo": 90})).status == "unscored"
