import numpy as np
import pytest

from mmeval.metrics.audio.speech.pitch import VoicedFrames, _weighted, pitch_of
from tests.support.sounds import RATE, silence, times, tone, voice

BUZZ = voice(150)


def test_the_pitch_of_a_voice_is_its_own_and_without_one_there_is_none() -> None:
    # The first is a value of the released evaluator.
    mels = {
        110: 164.49957473226394,
        **{hertz: 2595 * np.log10(1 + hertz / 700) for hertz in (90, 550)},
    }
    assert {hertz: pitch_of(voice(hertz)) for hertz in mels} == pytest.approx(
        mels, abs=0.5
    )
    for unvoiced in (
        silence(2),
        np.full(22050, 0.5, np.float32),
        tone(2, 40),
        BUZZ[:1],
        BUZZ[:1763],
    ):
        # silent, constant, too low, one sample, 80 ms
        assert pitch_of(unvoiced) is None
    # below the threshold of hearing, a third of a second
    for samples in (BUZZ * np.float32(1e-8), BUZZ[:6615]):
        assert pitch_of(samples) == pytest.approx(pitch_of(BUZZ), abs=0.1)


def test_the_loudest_band_is_weighted() -> None:
    pitches = [100.0, 100.2, 200.0, 200.0, 200.0]
    assert _weighted(
        VoicedFrames(np.asarray(pitches), np.array([60.0] + [20.0] * 4)), 100
    ) == pytest.approx(100.05)
    assert _weighted(
        VoicedFrames(np.asarray(pitches), np.zeros(5)), 100
    ) == pytest.approx(200)
    # The bands reach a tenth beyond the lowest and the highest pitch: 99.9 to 100.3, to
    # 100.7, to 101.1.
    for middle, found in {100.31: 100, 100.29: 100.116}.items():
        voiced = VoicedFrames(
            np.array([100.0, middle, 101.0]), np.array([3.0, 2.0, 1.0])
        )
        assert _weighted(voiced, 4) == pytest.approx(found)


def test_each_moment_has_the_loudness_of_its_own_time_and_the_voice_loud_for_longer_counts() -> (
    None
):
    """Praat gives loudness at other times, and fewer of them, than pitch."""
    t = times(2)
    phase = 2 * np.pi * np.cumsum(np.linspace(100, 200, len(t))) / RATE
    rising = np.linspace(0.001, 0.3, len(t)) * np.asarray(
        sum(np.sin(k * phase) / k for k in range(1, 8))
    )
    # Taken one by one, as far as they go, the loudness would give 278.77.
    assert pitch_of(rising.astype(np.float32)) == pytest.approx(281.68, abs=0.5)
    one, other = voice(120, 1), voice(240, 1)
    assert pitch_of(np.concatenate([one, other[:11025]])) == pytest.approx(
        pitch_of(one), abs=1
    )
    assert pitch_of(np.concatenate([one[:11025], other])) == pytest.approx(
        pitch_of(other), abs=1
    )
