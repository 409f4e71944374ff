import math

import numpy as np
import pytest

from mmeval.metrics.audio.quality.frames import band, clipped, decibels, framed, rms


def test_frames_are_20_ms_every_10_and_have_a_level() -> None:
    # The last frame that would fit is left out.
    for samples, frames in {
        959: 0,
        960: 0,
        961: 1,
        1440: 1,
        1441: 2,
        48000: 98,
    }.items():
        cut = framed(np.arange(samples, dtype=np.float32))
        assert cut.shape == (frames, 960)
        assert cut[:2, 0].tolist() == [0, 480][: min(frames, 2)]
    assert rms(np.array([[3, 4, 3, 4], [0, 0, 0, 0]], np.float32)) == pytest.approx(
        [math.sqrt(12.5), 1e-12]
    )
    assert decibels(np.array([1, 0.1, 1e-12], np.float32)) == pytest.approx(
        [0, -20, -240]
    )
    assert [*map(clipped, (-1, 0.5, 2)), clipped(60, -10, 50)] == [0, 0.5, 1, 50]
    assert band(-math.inf, -22, -14, 2) == 0
