import numpy as np
import pytest

from mmeval.metrics.audio.music.tempo import tempo
from mmeval.metrics.audio.speech.pitch import pitch_of
from mmeval.metrics.audio.speech.pitch_band import pitch_band
from tests.support.sounds import RATE, Samples, heard, silence, voice
from tests.support.trials import score_of


def strokes(bpm: float, seconds: float = 20) -> Samples:
    """A noise that dies away at each beat."""
    since = np.arange(int(seconds * RATE)) / RATE % (60 / bpm)
    noise = np.random.default_rng(0).standard_normal(len(since))
    return np.asarray(0.2 * noise * np.exp(-80 * since), np.float32)


@pytest.mark.parametrize("bpm", [60, 90, 120, 160])
def test_librosa_finds_the_tempo_of_strokes_to_a_frame(bpm: int) -> None:
    score = score_of(
        tempo, heard(strokes(bpm), metadata={"tempo": bpm}), tracker="librosa"
    )
    beat = 60 / score.evidence["bpm"]
    assert (score.value, beat) == (1, pytest.approx(60 / bpm, abs=512 / RATE))
    assert score.evidence["beats"] == pytest.approx(bpm / 3, abs=1)


def test_silence_and_a_moment_have_no_beat_and_no_pitch() -> None:
    for samples in (silence(3), np.zeros(1, np.float32), strokes(120, 0.05)):
        assert (
            score_of(
                tempo, heard(samples, metadata={"tempo": 90}), tracker="librosa"
            ).evidence["bpm"]
            == 0
        )
    for samples in (silence(2), voice(150)[:1]):
        assert pitch_of(samples, analysis="pyin") is None


@pytest.mark.parametrize(("hertz", "seconds"), [(90, 1), (150, 31), (300, 1)])
def test_pyin_hears_the_pitch_that_praat_hears(hertz: float, seconds: float) -> None:
    samples = voice(hertz, seconds)
    score = score_of(
        pitch_band,
        heard(samples, metadata={"pitch": "low"}),
        gender="male",
        analysis="pyin",
    )
    assert score.evidence["mel"] == pytest.approx(pitch_of(samples), abs=1)
