from typing import Any

import numpy as np
import pytest

from mmeval.metric import bind
from mmeval.metrics.audio.music import tempo as module
from mmeval.metrics.audio.music.tempo import tempo
from tests.support.sounds import Samples, heard, silence, tone
from tests.support.trials import missing_weights, score_of


@pytest.fixture(autouse=True)
def two_beats_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the network: it finds a beat every half second."""

    def beats(clip: Samples, model: Any) -> list[float]:
        assert model["name"] == "CPJKU/beat_this"
        return [at / 2 for at in range(len(clip) * 2 // 22050)]

    monkeypatch.setattr(module, "beats", beats)


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize(
    ("wanted", "value"), [(124.9, 1), (125, 0), (115.1, 1), (115, 0)]
)
def test_less_than_five_beats_a_minute_off_is_right(
    wanted: float, value: float, profile: str
) -> None:
    score = score_of(tempo, heard(tone(10), metadata={"tempo": wanted}), profile)
    assert score.value == value
    assert score.evidence == {"bpm": 120.0, "beats": 20, "seconds": 10.0}


def test_silence_at_both_ends_has_no_beats_and_a_sound_of_any_length_a_tempo() -> None:
    padded = np.concatenate([silence(7), tone(10), silence(7)])
    evidence = score_of(tempo, heard(padded, metadata={"tempo": 120})).evidence
    assert evidence["seconds"] == pytest.approx(10, abs=0.2)
    assert evidence["bpm"] == pytest.approx(120, abs=3)
    for samples in (silence(3), np.zeros(1, np.float32)):
        evidence = score_of(tempo, heard(samples, metadata={"tempo": 90})).evidence
        assert evidence["bpm"] == evidence["beats"] * 60 / (len(samples) / 22050)


@pytest.mark.parametrize(
    ("times", "bpm"), [([], 0), ([0.3], 6), ([0.3, 0.8, 1.2, 1.8], 120)], ids=str
)
def test_by_librosa_the_mean_distance_of_beats_is_the_tempo(
    times: list[float], bpm: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "librosa_beats", lambda _: times)
    score = score_of(tempo, heard(tone(10), metadata={"tempo": 120}), tracker="librosa")
    assert score.evidence["bpm"] == pytest.approx(bpm)
    assert score.value == (bpm == 120)
    by_librosa, usual = bind(tempo, {"tracker": "librosa"}), bind(tempo)
    assert by_librosa.comparable is False
    assert usual.comparable is True
    assert by_librosa.at_once == 0
    assert missing_weights(by_librosa) == ""
    assert "CPJKU/beat_this" in missing_weights(usual)
