import math

import numpy as np
import pytest

from mmeval.metrics.audio.quality.frames import band, clipped, decibels, framed, rms


@pytest.mark.parametrize(("samples", "frames"), [(959, 0), (960, 0), (961, 1), (1440, 1), (1441, 2), (48000, 98)])
def test_frames_are_20_ms_every_10_and_the_last_that_would_fit_is_left_out(samples: int, frames: int) -> None:
    found = framed(np.arange(samples, dtype=np.float32))
    assert (found.shape, found[:2, 0].tolist()) == ((frames, 960), [0, 480][: min(frames, 2)])


def test_level_and_limits() -> None:
    assert rms(np.array([[3, 4, 3, 4], [0, 0, 0, 0]], np.float32)) == pytest.approx([math.sqrt(12.5), 1e-12])
    assert decibels(np.array([1, 0.1, 1e-12], np.float32)) == pytest.approx([0, -20, -240])
    assert [*map(clipped, (-1, 0.5, 2)), clipped(60, -10, 50)] == [0, 0.5, 1, 50]
    found = [band(value, -22, -14, 2) for value in (-math.inf, -24, -22, -18, -14, -12)]
    assert found == pytest.approx([0, math.exp(-1), 1, 1, 1, math.exp(-1)])
