import numpy as np
import pytest
from scipy.ndimage import median_filter

from mmeval.metrics.audio.quality.frequencies.separation import (
    HALF,
    running_median,
    separated_snr,
    soft_mask,
)
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import sine, white


def test_a_mask_is_a_share_of_squares_that_leaves_noise_neither_harmonic_nor_percussive() -> (
    None
):
    shares = {
        (1, 1, 1): 0.5,
        (2, 1, 1): 0.8,
        (1, 1, 3): 0.1,
        (0, 1, 3): 0,
        (1, 0, 3): 1,
        (0, 0, 1): 0.5,
        (0, 0, 3): 0,
    }
    for (wanted, other, margin), share in shares.items():
        one, two = (np.array([[value]], np.float32) for value in (wanted, other))
        assert soft_mask(one, two, margin)[0, 0] == pytest.approx(share)
    # The released defect is the margin 1: what is left is noise of rounding, for noise,
    # too.
    assert separated_snr(sine(), 1.0) > 80 < separated_snr(white(RATE), 1.0)
    assert separated_snr(white(RATE), 3.0) < 0 and separated_snr(sine(), 3.0) > 10
    assert separated_snr(np.zeros(RATE, np.float32), 3.0) == -np.inf
    # 260 frames: the second block is shorter than half a window.
    long = (sine(seconds=3) + white(3 * RATE))[: 259 * 512]
    assert separated_snr(long, 3.0) == pytest.approx(
        separated_snr(long[: 255 * 512], 3.0), abs=0.2
    )


def test_a_running_median_is_that_of_scipy_and_mirrors_the_outermost_row() -> None:
    image = np.random.default_rng(0).integers(0, 50, (333, 40)).astype(np.float32)
    wanted = median_filter(image, size=(31, 1), mode="reflect")
    assert np.array_equal(running_median(image, HALF, HALF), wanted)
    assert np.array_equal(running_median(image, 0, HALF), wanted[HALF:])
