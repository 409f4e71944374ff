from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.audio.quality.periodicity import highest_peaks, periodicity
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples


def buzz(period: int, seconds: float = 1.0) -> Samples:
    """Impulses, one a period."""
    samples = np.zeros(int(seconds * RATE), np.float32)
    samples[::period] = 1.0
    return samples


def by_definition(frame: Samples) -> float:
    centred = frame - frame.mean()
    products = [float(centred[lag:] @ centred[:-lag]) for lag in range(120, 961)]
    return max(products) / (float(centred @ centred) + 1e-12)


def test_it_is_the_highest_autocorrelation_of_a_frame() -> None:
    frames = np.random.default_rng(0).standard_normal((3, 1440)).astype(np.float32)

    assert highest_peaks(frames) == pytest.approx([by_definition(frame) for frame in frames], abs=1e-5)


@pytest.mark.parametrize(("period", "found"), [(120, 11 / 12), (240, 5 / 6), (480, 2 / 3), (720, 0.5)])
def test_the_longer_the_period_the_less_of_the_frame_overlaps(period: int, found: float) -> None:
    assert periodicity(buzz(period)) == pytest.approx(found, abs=0.01)


def test_periods_of_more_than_400_hertz_and_less_than_50_are_not_looked_for() -> None:
    assert periodicity(buzz(119)) == pytest.approx(10 / 12, abs=0.1)  # at twice the period
    assert periodicity(buzz(961)) < 0.01


def test_noise_has_no_period_and_silence_none() -> None:
    noise = np.random.default_rng(0).standard_normal(RATE).astype(np.float32)

    assert periodicity(noise) < 0.15
    assert periodicity(np.zeros(RATE, np.float32)) == 0
    assert periodicity(np.zeros(1440, np.float32)) == 0  # no frame
