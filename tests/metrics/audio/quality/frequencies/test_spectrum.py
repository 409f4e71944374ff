import numpy as np
import pytest
from scipy import signal

from mmeval.metrics.audio.quality.frequencies import spectrum as of
from mmeval.metrics.audio.quality.frequencies.spectrum import (
    BINS,
    amplitudes,
    blocks,
    frame_count,
    spectrum_of,
)
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import sine, white


@pytest.mark.parametrize("count", [1, 512, 513, 30001])
def test_amplitudes_are_those_of_scipy(count: int) -> None:
    samples = white(count)
    # scipy takes a shorter window for less
    padded = np.pad(samples, (0, max(0, 2048 - count)))
    _, _, wanted = signal.stft(padded, RATE, "hann", 2048, 1536)
    found = amplitudes(samples, 0, frame_count(samples))
    assert found == pytest.approx(np.abs(wanted).T[: len(found)], abs=1e-9)
    parts = [
        amplitudes(samples, first, last)
        for first, last in blocks(frame_count(samples), 7)
    ]
    assert np.array_equal(np.concatenate(parts), found)


def test_flatness_and_the_end_of_the_band() -> None:
    amplitude = np.array(
        [[1, 1, 1, 1], [1, 1, 4, 4], [0, 0, 0, 1], [0, 0, 0, 0]], np.float32
    )
    # The geometric over the arithmetic mean.
    assert of.flatness_of(amplitude) == pytest.approx(
        [1, 2 / 2.5, 1e-9 * 4, 1], rel=1e-3
    )
    assert np.median(spectrum_of(white(RATE)).flatness) > 0.8
    assert np.median(spectrum_of(sine()).flatness) < 0.01
    assert amplitudes(sine(1500, level=1.0), 20, 21).max() == pytest.approx(
        0.5, abs=1e-5
    )
    power = np.zeros(BINS)
    assert of.band_end(power) == 24000
    power[:101] = 1.0
    assert of.band_end(power) == 95 * 23.4375  # 96 of 101 bins
    assert [of.bandwidth(power), of.bandwidth(np.ones(BINS))] == pytest.approx(
        [95 * 23.4375 / 21600, 1]
    )
