import math

import numpy as np
import pyloudnorm
import pytest

from mmeval.metrics.audio.quality.loudness import loudness
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import sine, white


def test_silence_and_what_is_ten_units_below_the_mean_do_not_count_and_parts_have_no_seam() -> (
    None
):
    tone = sine(997, 3.0, 0.1)
    alone = loudness(tone)
    assert loudness(
        np.concatenate([tone, np.zeros(5 * RATE, np.float32)])
    ) == pytest.approx(alone, abs=0.4)
    assert loudness(np.concatenate([tone, sine(997, 3.0, 0.005)])) == pytest.approx(
        alone, abs=0.5
    )
    noise = white(25 * RATE)
    assert loudness(noise) == pytest.approx(
        pyloudnorm.Meter(RATE).integrated_loudness(noise), abs=1e-12
    )
    assert [loudness(np.full(RATE, level, np.float32)) for level in (0, 1e-5)] == [
        -math.inf,
        -math.inf,
    ]
    assert loudness(sine(997, 0.4, 1.0)) == pytest.approx(-3.05, abs=0.05)
