from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.audio.quality.recording import RATE
from mmeval.metrics.audio.quality.signal_to_noise import effective, noise_terms, snr_score
from tests.support.sounds import Samples

FRAME = 480


def steps(*levels: tuple[float, int]) -> Samples:
    """Square waves of these amplitudes, each for so many frames of ten milliseconds."""
    parts = [np.tile(np.array([level, -level], np.float32), count * FRAME // 2) for level, count in levels]
    return np.concatenate(parts)


def flat(*values: tuple[float, int]) -> Samples:
    return np.concatenate([np.full(count, value, np.float32) for value, count in values])


def test_the_quietest_frames_are_the_noise() -> None:
    found = noise_terms(steps((0.5, 80), (0.005, 40)), flat((0.1, 200)))

    levels = np.array([0.5] * 79 + [np.sqrt((0.5**2 + 0.005**2) / 2)] + [0.005] * 38)
    assert found.by_level == pytest.approx(20 * np.log10(levels.mean() / 0.005), abs=1e-3)


def test_quiet_and_flat_frames_are_the_noise_where_there_are_ten() -> None:
    samples = steps((0.5, 80), (0.004, 10), (0.0001, 20))

    few = noise_terms(samples, flat((0.1, 79), (0.7, 9), (0.1, 100))).by_level
    enough = noise_terms(samples, flat((0.1, 79), (0.7, 12), (0.1, 100))).by_level

    assert few == 50  # of the quietest, at the limit
    assert enough == pytest.approx(20 * np.log10(0.5 * 79.6 / 108 / 0.004), abs=0.6)


@pytest.mark.parametrize(("flatness", "count", "found"), [(0.7, 10, True), (0.7, 9, False), (0.6, 20, False)])
def test_ten_frames_above_the_flatness_are_enough(flatness: float, count: int, found: bool) -> None:
    samples = steps((0.5, 80), (0.004, 20), (0.0001, 20))

    by_level = noise_terms(samples, flat((0.1, 80), (flatness, count), (0.1, 100))).by_level

    assert (by_level < 45) == found


def test_twenty_frames_are_enough_to_tell_how_many_are_noisy() -> None:
    loud = steps((0.5, 60))

    assert noise_terms(loud, flat((0.9, 20))).noisy == 1
    assert noise_terms(loud, flat((0.9, 19))).noisy == 0


def test_a_flatness_at_a_threshold_is_on_neither_side() -> None:
    samples = steps((0.5, 50), (0.05, 52))

    assert noise_terms(samples, flat((0.45, 50), (0.7, 50))).by_flatness is None
    assert noise_terms(samples, flat((0.4, 50), (0.65, 50))).by_flatness is None
    assert noise_terms(samples, flat((0.4, 50), (0.55, 50))).noisy == 0


def test_both_are_cut_to_the_shorter_by_number() -> None:
    samples = steps((0.5, 60), (0.05, 40))

    assert noise_terms(samples, flat((0.1, 60))) == noise_terms(samples[: 62 * FRAME], flat((0.1, 60)))


def test_flat_frames_are_noise_and_structured_ones_signal() -> None:
    samples = steps((0.5, 50), (0.05, 52))

    found = noise_terms(samples, flat((0.4, 50), (0.7, 50)))

    assert found.by_flatness == pytest.approx(20, abs=1e-3)
    assert found.noisy == pytest.approx(0.5, abs=0.01)


def test_flatness_tells_nothing_of_too_few_frames() -> None:
    samples = steps((0.5, 50), (0.05, 52))

    assert noise_terms(samples, flat((0.4, 91), (0.7, 9))).by_flatness is None
    assert noise_terms(samples, flat((0.4, 90), (0.7, 10))).by_flatness is not None


def test_fewer_than_twenty_loud_frames_are_not_noisy() -> None:
    assert noise_terms(steps((0.5, 18), (0.0001, 80)), flat((0.9, 200)))[1:] == (None, 0.0)
    assert noise_terms(steps((0.5, 24), (0.0001, 80)), flat((0.9, 200))).noisy == 1


def test_frames_of_middle_flatness_are_neither() -> None:
    found = noise_terms(steps((0.5, 102)), flat((0.5, 100)))

    assert found[1:] == (None, 0.0)
    assert noise_terms(steps((0.5, 102)), flat((0.56, 100))).noisy == 1


def test_the_highest_estimate_counts_within_limits() -> None:
    assert [effective(3, None, None), effective(3, 7, None), effective(3, 7, 120), effective(-30, None)] == [
        3,
        7,
        50,
        -10,
    ]


def test_music_needs_less() -> None:
    assert (snr_score(28, music=False), snr_score(22, music=True)) == (0.5, 0.5)
    assert snr_score(50, music=True) == pytest.approx(1 / (1 + np.exp(-0.33 * 28)))


def test_silence_has_no_noise() -> None:
    assert noise_terms(np.zeros(RATE, np.float32), np.ones(100, np.float32)) == pytest.approx((0, None, 0), abs=1e-5)
