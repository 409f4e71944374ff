import numpy as np
import pytest

from mmeval.metrics.audio.quality.recording import RATE
from mmeval.metrics.audio.quality.signal_to_noise import (
    NoiseTerms,
    effective,
    noise_terms,
    snr_score,
)
from tests.support.sounds import steps

TWO = [(0.5, 50), (0.05, 52)]
THREE = [(0.5, 80), (0.004, 20), (0.0001, 20)]


def terms(levels: list[tuple[float, int]], *flatness: tuple[float, int]) -> NoiseTerms:
    """The terms of square waves and of the flatness of their frames.

    Each amplitude and each flatness has a number of frames of ten milliseconds.
    """
    values = [np.full(count, value, np.float32) for value, count in flatness]
    return noise_terms(
        steps(*((level, count * 480) for level, count in levels)),
        np.concatenate(values),
    )


def test_the_quietest_or_ten_flat_frames_are_the_noise_and_silence_has_none() -> None:
    flat = {(0.7, 10): True, (0.7, 9): False, (0.6, 20): False}
    assert {
        one: terms(THREE, (0.1, 80), one, (0.1, 100)).by_level < 45 for one in flat
    } == flat
    levels = np.array([0.5] * 79 + [np.sqrt((0.5**2 + 0.005**2) / 2)] + [0.005] * 38)
    found = terms([(0.5, 80), (0.005, 40)], (0.1, 200)).by_level
    assert found == pytest.approx(20 * np.log10(levels.mean() / 0.005), abs=1e-3)
    assert noise_terms(
        np.zeros(RATE, np.float32), np.ones(100, np.float32)
    ) == pytest.approx((0, None, 0), abs=1e-5)
    assert noise_terms(np.zeros(900, np.float32), np.ones(9, np.float32)) == (
        0,
        None,
        0,
    )


@pytest.mark.parametrize(
    ("levels", "flatness", "by_flatness", "noisy"),
    [
        # flat frames are noise, structured ones signal
        (TWO, [(0.4, 50), (0.7, 50)], 20, 0.5),
        (TWO, [(0.45, 50), (0.7, 50)], None, 0.5),  # at a threshold on neither side
        (TWO, [(0.4, 50), (0.65, 50)], None, 0.5),
        (TWO, [(0.4, 50), (0.55, 50)], None, 0),
        (TWO, [(0.4, 91), (0.7, 9)], None, 0.09),  # too few
        (TWO, [(0.4, 90), (0.7, 10)], 20, 0.1),
        # twenty valid frames are enough for the share of noisy ones
        ([(0.5, 60)], [(0.9, 20)], None, 1),
        ([(0.5, 60)], [(0.9, 19)], None, 0),
    ],
)
def test_signal_and_noise_by_flatness(
    levels: list[tuple[float, int]],
    flatness: list[tuple[float, int]],
    by_flatness: float | None,
    noisy: float,
) -> None:
    found = terms(levels, *flatness)
    assert found.noisy == pytest.approx(noisy, abs=0.01)
    assert found.by_flatness == (
        None if by_flatness is None else pytest.approx(by_flatness, abs=1e-3)
    )


def test_the_highest_estimate_counts_within_limits_and_music_needs_less() -> None:
    found = [
        effective(3, None, None),
        effective(3, 7, None),
        effective(3, 7, 120),
        effective(-30, None),
    ]
    assert found == [3, 7, 50, -10]
    assert snr_score(28, music=False) == 0.5
    assert snr_score(22, music=True) == 0.5
    assert snr_score(50, music=True) == pytest.approx(1 / (1 + np.exp(-0.33 * 28)))
