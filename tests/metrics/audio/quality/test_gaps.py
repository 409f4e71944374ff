from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.audio.quality.gaps import Gaps, gap_factor, gaps_of, silent_frames
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples


def square(level: float, seconds: float) -> Samples:
    return np.tile(np.array([level, -level], np.float32), int(seconds * RATE / 2))


def levels_of(*levels: float) -> Samples:
    return np.stack([np.tile(np.array([level, -level], np.float32), 480) for level in levels])


def test_a_silence_in_the_middle_is_a_gap() -> None:
    found = gaps_of(np.concatenate([square(0.5, 1), np.zeros(RATE // 2, np.float32), square(0.5, 1)]))

    assert found.longest == pytest.approx(0.49, abs=0.011)
    assert found.silent == pytest.approx(0.49 / 2.1, abs=0.01)
    assert found.factor == pytest.approx(gap_factor(found.longest, found.silent, seconds=2.1))


def test_silence_at_the_ends_is_none() -> None:
    quiet = np.zeros(RATE // 5, np.float32)

    assert gaps_of(np.concatenate([quiet, square(0.5, 1), quiet])) == (0, 0, 1)


@pytest.mark.parametrize("count", [0, 9600, 19200, 20160])
def test_a_recording_without_a_middle_has_no_gaps(count: int) -> None:
    assert gaps_of(np.zeros(count, np.float32)) == Gaps(0, 0, 1)


@pytest.mark.parametrize(
    ("loud", "quiet", "silent"),
    [
        (0.5, 0.032, False),  # 24 dB below, yet above -30 dB
        (0.5, 0.031, True),
        (0.1, 0.0101, False),  # less than 20 dB below
        (0.1, 0.0099, True),
        (0.003, 0.0019, False),  # above -55 dB
        (0.003, 0.0017, True),
    ],
)
def test_silence_is_told_by_the_loudest_frames(loud: float, quiet: float, silent: bool) -> None:
    frames = levels_of(*[loud] * 5, *[quiet] * 5)

    assert silent_frames(frames).tolist() == [False] * 5 + [silent] * 5


def test_the_loudest_are_three_tenths_of_the_frames() -> None:
    frames = levels_of(0.5, 0.4, 0.15, *[0.012] * 7)

    # Their median is 0.4: -8 dB. Of four tenths it would lie lower, of two higher, and both above the limit of -30.
    assert silent_frames(frames).tolist() == [False] * 3 + [True] * 7
    assert not silent_frames(levels_of(0.2, 0.1, 0.1, *[0.012] * 7)).any()


def test_of_three_frames_the_loudest_one_is_the_standard() -> None:
    assert silent_frames(levels_of(0.5, 0.03, 0.03)).tolist() == [False, True, True]


def test_a_sample_at_the_threshold_is_audible() -> None:
    click = np.full((1, 960), 1e-4, np.float32)
    click[0, :20] = 1.0

    assert silent_frames(click).tolist() == [False]
    assert silent_frames(np.where(click == 1, click, np.float32(0.99e-4))).tolist() == [True]


def test_a_frame_of_clicks_is_silent() -> None:
    clicks, more = np.zeros((1, 960), np.float32), np.zeros((1, 960), np.float32)
    clicks[0, :28], more[0, :29] = 1.0, 1.0

    assert silent_frames(np.concatenate([clicks, more])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("longest", "silent", "factor"),
    [
        (0.0, 0.0, 1),
        (0.1, 0.15, 1),
        (0.9, 0.1, 0.5),  # 0.8 of 1.6 seconds
        (2.0, 0.1, 0.02),
        (0.0, 0.25, 0.8),
        (0.0, 0.35, 0.6),
        (0.0, 0.45, 0.4 / 1.4),
        (0.0, 0.9, 0.1 / 3.2),
        (1.58, 1.0, 0.1 * (1 - 1.48 / 1.6) / 3.6),
    ],
)
def test_what_gaps_cost(longest: float, silent: float, factor: float) -> None:
    assert gap_factor(longest, silent, seconds=2.0) == pytest.approx(factor)
