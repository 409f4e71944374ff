import numpy as np
import pytest

from mmeval.metrics.audio.quality.periodicity import periodicity
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import white


def test_the_longer_the_period_the_less_of_the_frame_overlaps_and_noise_and_silence_have_none() -> (
    None
):
    # 119 is found at twice the period, 961 not at all: periods of 50 to 400 Hz are
    # looked for.
    for period, found in {
        119: 1 - 238 / 1440,
        120: 11 / 12,
        480: 2 / 3,
        961: 0,
    }.items():
        impulses = np.zeros(RATE, np.float32)
        impulses[::period] = 1.0
        assert periodicity(impulses) == pytest.approx(found, abs=0.03)
    assert periodicity(white(RATE)) < 0.15
    # 1440: no frame
    assert [periodicity(np.zeros(count, np.float32)) for count in (RATE, 1440)] == [
        0,
        0,
    ]
