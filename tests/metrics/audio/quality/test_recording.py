import numpy as np
import pytest

from mmeval.errors import MediaLimitError
from mmeval.media import wav
from mmeval.metrics.audio.quality.recording import (
    LONGEST,
    RATE,
    audible,
    length_at_rate,
    recording,
)
from tests.support.sounds import Samples, tone, white


def test_a_recording_averages_channels_at_one_rate_for_a_quarter_of_an_hour_at_most() -> (
    None
):
    left, right = white(RATE) + np.float32(0.2), white(RATE)[::-1]
    found = recording(wav(left, RATE))
    assert found.dtype == np.float32
    assert float(found.mean()) == pytest.approx(0, abs=1e-6)
    both = recording(wav(np.asarray(np.stack([left, right], axis=1), np.float32), RATE))
    assert both == pytest.approx(
        recording(wav(np.asarray((left + right) / 2, np.float32), RATE)), abs=5e-5
    )
    # 158760 samples at 44100 Hz are 172800 at 48000 Hz; the quotient of floats is a
    # little more.
    lengths = [
        length_at_rate(*one)
        for one in ((158760, 44100), (55125, 22050), (48000, 16000), (1000, 48000))
    ]
    assert lengths == [172801, 120001, 144000, 1000]
    assert len(recording(wav(tone(1.0), 22050))) == pytest.approx(RATE, abs=2)
    with pytest.raises(MediaLimitError, match="max_audio_seconds = 900"):
        recording(wav(np.zeros(int(LONGEST * 1000) + 1, np.float32), 1000))


def loud(
    first: int, end: int, size: int, *, around: float = 0.0, level: float = 0.5
) -> Samples:
    samples = np.full(size, around, np.float32)
    samples[first:end] = level
    return samples


@pytest.mark.parametrize(
    ("samples", "kept"),
    [
        # a fifth of a second stays at both ends
        (loud(RATE, 2 * RATE, 4 * RATE), round(1.4 * RATE) - 1),
        # what is at the threshold is cut
        (loud(RATE, RATE + 1, 2 * RATE, around=1e-4), 2 * 9600),
        (loud(RATE, RATE + 1, 2 * RATE, around=-1e-4), 2 * 9600),
        (loud(30000, 30001, RATE, level=-2e-4), 2 * 9600),  # a single click is audible
        (loud(0, 0, 1000, around=1e-4), 1000),  # silence is not cut
    ],
)
def test_silent_ends_are_cut(samples: Samples, kept: int) -> None:
    assert len(audible(samples)) == kept
