from __future__ import annotations

import numpy as np
import pytest

from mmeval.content.encode import wav
from mmeval.errors import MediaLimitError
from mmeval.metrics.audio.quality.recording import LONGEST, RATE, audible, length_at_rate, recording
from tests.support.sounds import Samples, tone


def noise(count: int, size: float = 0.3) -> Samples:
    return np.random.default_rng(0).uniform(-size, size, count).astype(np.float32)


def test_a_recording_has_no_mean() -> None:
    found = recording(wav(noise(RATE) + np.float32(0.2), RATE))

    assert (found.dtype, abs(float(found.mean())) < 1e-6) == (np.float32, True)


def test_channels_are_averaged() -> None:
    left, right = noise(RATE), noise(RATE)[::-1]
    both = wav(np.asarray(np.stack([left, right], axis=1), np.float32), RATE)

    assert recording(both) == pytest.approx(recording(wav(np.asarray((left + right) / 2, np.float32), RATE)), abs=5e-5)


def test_a_fifth_of_a_second_of_silence_stays_at_both_ends() -> None:
    samples = np.zeros(4 * RATE, np.float32)
    samples[RATE : 2 * RATE] = 0.5

    assert len(audible(samples)) == round(1.4 * RATE) - 1


@pytest.mark.parametrize("level", [1e-4, -1e-4])
def test_what_is_at_the_threshold_is_cut(level: float) -> None:
    samples = np.full(2 * RATE, level, np.float32)
    samples[RATE] = 0.5

    assert len(audible(samples)) == 2 * 9600


def test_silence_is_not_cut() -> None:
    assert len(audible(np.full(1000, 1e-4, np.float32))) == 1000
    assert len(audible(np.full(1000, -1e-4, np.float32))) == 1000


def test_a_single_click_is_audible() -> None:
    samples = np.zeros(RATE, np.float32)
    samples[30000] = -2e-4

    assert len(audible(samples)) == 2 * 9600


def test_the_length_is_that_of_librosa_one_too_many_included() -> None:
    # 158760 samples at 44100 Hz are 172800 at 48000 Hz; the quotient of floats is a little more.
    assert [length_at_rate(158760, 44100), length_at_rate(55125, 22050)] == [172801, 120001]
    assert [length_at_rate(48000, 16000), length_at_rate(1000, 48000)] == [144000, 1000]


def test_every_rate_becomes_the_same_one() -> None:
    assert len(recording(wav(tone(1.0), 22050))) == pytest.approx(RATE, abs=2)


def test_more_than_a_quarter_of_an_hour_is_above_the_limits() -> None:
    with pytest.raises(MediaLimitError, match="max_audio_seconds = 900"):
        recording(wav(np.zeros(int(LONGEST * 1000) + 1, np.float32), 1000))
