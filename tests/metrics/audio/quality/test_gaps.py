import numpy as np
import pytest

from mmeval.metrics.audio.quality.gaps import Gaps, gap_factor, gaps_of, silent_frames
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples, steps


def clicks(count: int, rest: float = 0.0) -> Samples:
    """A frame with ``count`` samples at full scale."""
    return np.concatenate(
        [np.ones(count, np.float32), np.full(960 - count, rest, np.float32)]
    )


def test_a_silence_in_the_middle_is_a_gap_and_a_frame_is_silent_when_almost_all_of_it_is() -> (
    None
):
    found = gaps_of(steps((0.5, RATE), (0, RATE // 2), (0.5, RATE)))
    assert (found.longest, found.silent) == pytest.approx((0.49, 0.49 / 2.1), abs=0.011)
    assert found.factor == pytest.approx(
        gap_factor(found.longest, found.silent, seconds=2.1)
    )
    assert gaps_of(steps((0, RATE // 5), (0.5, RATE), (0, RATE // 5))) == (0, 0, 1)
    for count in (0, 20160):  # without a middle
        assert gaps_of(np.zeros(count, np.float32)) == Gaps(0, 0, 1)
    assert silent_frames(np.stack([clicks(28), clicks(29)])).tolist() == [True, False]
    assert silent_frames(clicks(20, 1e-4)[None]).tolist() == [False]
    assert silent_frames(clicks(20, 0.99e-4)[None]).tolist() == [True]


def test_a_silent_frame_is_far_below_the_loudest_ones() -> None:
    loud = [0.5] * 5
    silent = [
        # 24 dB below: above -30 dB and not
        (loud + [0.032] * 5, 0),
        (loud + [0.031] * 5, 5),
        # less than 20 dB below, above -55 dB
        ([0.1] * 5 + [0.0101] * 5, 0),
        ([0.003] * 5 + [0.0019] * 5, 0),
        # The median of the loudest three tenths: of two or four tenths it would be
        # another side of the limit.
        ([0.5, 0.4, 0.15] + [0.012] * 7, 7),
        ([0.2, 0.1, 0.1] + [0.012] * 7, 0),
        ([0.5, 0.03, 0.03], 2),  # of three frames the loudest one
    ]
    for levels, count in silent:
        frames = np.stack([steps((level, 960)) for level in levels])
        assert (
            silent_frames(frames).tolist()
            == [False] * (len(levels) - count) + [True] * count
        )


def test_what_gaps_cost() -> None:
    # 0.8 of 1.6 seconds is half
    factors = {(0.1, 0.15): 1, (0.9, 0.1): 0.5, (2.0, 0.1): 0.02}
    factors |= {(0.0, 0.25): 0.8, (0.0, 0.45): 0.4 / 1.4, (0.0, 0.9): 0.1 / 3.2}
    factors |= {(1.58, 1.0): 0.1 * (1 - 1.48 / 1.6) / 3.6}
    assert {gap: gap_factor(*gap, seconds=2.0) for gap in factors} == pytest.approx(
        factors
    )
