from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.audio.speech.pitch import Voiced, _weighted, pitch_of
from tests.support.sounds import RATE, Samples, silence, times, tone, voice

BUZZ = voice(150)


@pytest.mark.parametrize(("hertz", "mel"), [(110, 164.49957473226394), (180, 257.9030672401465)])
def test_the_pitch_is_that_of_the_released_evaluator(hertz: float, mel: float) -> None:
    assert pitch_of(voice(hertz)) == pytest.approx(mel, abs=0.5)


@pytest.mark.parametrize("hertz", [90, 220, 440, 550])
def test_the_pitch_of_a_voice_is_its_own(hertz: float) -> None:
    assert pitch_of(voice(hertz)) == pytest.approx(2595 * np.log10(1 + hertz / 700), abs=0.5)


@pytest.mark.parametrize(
    "samples",
    [
        silence(2),
        np.full(22050, 0.5, np.float32),
        np.random.default_rng(0).normal(0, 0.1, 22050).astype(np.float32),
        tone(2, 40),
        BUZZ[:1],
        BUZZ[:800],
        BUZZ[:1763],
    ],
    ids=["silent", "constant", "hiss", "too low", "one sample", "36 ms", "80 ms"],
)
def test_without_a_voiced_moment_there_is_no_pitch(samples: Samples) -> None:
    assert pitch_of(samples) is None


@pytest.mark.parametrize("scale", [1e-3, 1e-6, 1e-8], ids=str)
def test_a_voice_below_the_threshold_of_hearing_has_a_pitch(scale: float) -> None:
    assert pitch_of(BUZZ * np.float32(scale)) == pytest.approx(pitch_of(BUZZ), abs=0.01)


def test_a_third_of_a_second_is_enough() -> None:
    assert pitch_of(BUZZ[:6615]) == pytest.approx(pitch_of(BUZZ), abs=0.1)


def test_the_band_with_most_loudness_is_taken_and_weighted_in_itself() -> None:
    mel = np.asarray([100.0, 100.2, 200.0, 200.0, 200.0])

    assert _weighted(Voiced(mel, np.asarray([60.0, 20.0, 20.0, 20.0, 20.0])), 100) == pytest.approx(100.05)
    assert _weighted(Voiced(mel, np.asarray([20.0, 20.0, 20.0, 20.0, 20.0])), 100) == 200
    assert _weighted(Voiced(mel, np.zeros(5)), 100) == 200


@pytest.mark.parametrize(("second", "found"), [(100.31, 100), (100.29, 100.116)], ids=["the next band", "the same"])
def test_the_bands_reach_a_tenth_beyond_the_lowest_and_the_highest_pitch(second: float, found: float) -> None:
    mel, loudness = np.asarray([100.0, second, 101.0]), np.asarray([3.0, 2.0, 1.0])

    assert _weighted(Voiced(mel, loudness), edges=4) == pytest.approx(found)  # 99.9 to 100.3, to 100.7, to 101.1


def test_each_moment_has_the_loudness_of_its_own_time() -> None:
    """Praat gives loudness at other times, and fewer of them, than pitch."""
    t = times(2)
    phase = 2 * np.pi * np.cumsum(np.linspace(100, 200, len(t))) / RATE
    rising = np.linspace(0.001, 0.3, len(t)) * np.asarray(sum(np.sin(k * phase) / k for k in range(1, 8)))

    # Taken one by one, as far as they go, the loudness would give 278.77.
    assert pitch_of(rising.astype(np.float32)) == pytest.approx(281.68, abs=0.5)


def test_of_two_voices_the_one_that_is_loud_for_longer_is_heard() -> None:
    one, other = voice(120, 1), voice(240, 1)

    assert pitch_of(np.concatenate([one, other[:11025]])) == pytest.approx(pitch_of(one), abs=1)
    assert pitch_of(np.concatenate([one[:11025], other])) == pytest.approx(pitch_of(other), abs=1)
    assert pitch_of(np.concatenate([one[:18000], other * np.float32(0.001)])) == pytest.approx(pitch_of(one), abs=1)
