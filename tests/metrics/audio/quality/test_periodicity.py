import numpy as np
import pytest

from mmeval.metrics.audio.quality.periodicity import highest_peaks, periodicity
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples, white


def by_definition(frame: Samples) -> float:
    centred = frame - frame.mean()
    products = [float(centred[lag:] @ centred[:-lag]) for lag in range(120, 961)]
    return max(products) / (float(centred @ centred) + 1e-12)


def test_it_is_the_highest_autocorrelation_of_a_frame() -> None:
    frames = white(3 * 1440, 1.0).reshape(3, 1440)
    assert highest_peaks(frames) == pytest.approx([by_definition(frame) for frame in frames], abs=1e-5)


@pytest.mark.parametrize(
    ("period", "found"),
    # 119 is found at twice the period, 961 not at all: periods of 50 to 400 Hz are looked for.
    [(119, 1 - 238 / 1440), (120, 11 / 12), (240, 5 / 6), (480, 2 / 3), (720, 0.5), (961, 0)],
)
def test_the_longer_the_period_the_less_of_the_frame_overlaps(period: int, found: float) -> None:
    impulses = np.zeros(RATE, np.float32)
    impulses[::period] = 1.0
    assert periodicity(impulses) == pytest.approx(found, abs=0.03)


def test_noise_has_no_period_and_silence_none() -> None:
    assert periodicity(white(RATE)) < 0.15
    assert [periodicity(np.zeros(count, np.float32)) for count in (RATE, 1440)] == [0, 0]  # 1440: no frame
