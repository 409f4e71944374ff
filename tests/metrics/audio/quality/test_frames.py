from __future__ import annotations

import math

import numpy as np
import pytest

from mmeval.metrics.audio.quality.frames import band, clipped, decibels, framed, rms


@pytest.mark.parametrize(("samples", "frames"), [(959, 0), (960, 0), (961, 1), (1440, 1), (1441, 2), (48000, 98)])
def test_the_last_frame_that_would_fit_is_left_out(samples: int, frames: int) -> None:
    assert len(framed(np.zeros(samples, np.float32))) == frames


def test_frames_are_twenty_milliseconds_every_ten() -> None:
    found = framed(np.arange(3000, dtype=np.float32))

    assert (found.shape, found[:, 0].tolist()) == ((5, 960), [0, 480, 960, 1440, 1920])


def test_the_level_of_a_frame() -> None:
    frames = np.array([[3, 4, 3, 4], [0, 0, 0, 0]], np.float32)

    assert rms(frames) == pytest.approx([math.sqrt(12.5), 1e-12])
    assert decibels(np.array([1, 0.1, 1e-12], np.float32)) == pytest.approx([0, -20, -240])


def test_a_number_is_held_between_two_others() -> None:
    assert [clipped(value) for value in (-1, 0.5, 2)] == [0, 0.5, 1]
    assert clipped(60, -10, 50) == 50


def test_a_band_falls_exponentially_on_both_sides() -> None:
    found = [band(value, -22, -14, 2) for value in (-math.inf, -24, -22, -18, -14, -12)]

    assert found == pytest.approx([0, math.exp(-1), 1, 1, 1, math.exp(-1)])
