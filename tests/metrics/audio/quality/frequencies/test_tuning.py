import numpy as np
import pytest

from mmeval.metrics.audio.quality.frequencies.spectrum import amplitudes, frame_count
from mmeval.metrics.audio.quality.frequencies.tuning import Peaks, peaks_of, tuning_of
from tests.support.sounds import sine

WIDTH = 23.4375


def test_tones_beside_the_scale_give_the_tuning_and_only_the_louder_half_counts() -> (
    None
):
    for beside in (-0.42, -0.2, 0.1, 0.33):
        tones = np.array(
            [440 * 2 ** ((step + beside + 0.005) / 36) for step in (-40, -3, 0, 9, 36)]
        )
        assert tuning_of([Peaks(tones, np.ones(5))]) == pytest.approx(beside, abs=1e-9)
    hertz = 440 * 2 ** (np.array([0.205, 0.205, 0.205, 0.105]) / 36)
    assert tuning_of([Peaks(hertz, np.array([1.0, 1.0, 1.0, 2.0]))]) == pytest.approx(
        0.2
    )
    # one each: the lower
    assert tuning_of([Peaks(hertz, np.array([1.0, 1.0, 3.0, 2.0]))]) == pytest.approx(
        0.1
    )
    assert tuning_of([peaks_of(np.zeros((3, 1025), np.float32))]) == 0


def test_a_peak_lies_where_the_parabola_does_and_what_is_faint_low_or_high_is_none() -> (
    None
):
    amplitude = np.zeros((1, 1025), np.float32)
    amplitude[0, 49:52] = (0.5, 1.0, 0.7)
    found = peaks_of(amplitude)
    assert found.hertz.tolist() == pytest.approx([(50 + 0.1 / 0.8) * WIDTH])
    assert found.height.tolist() == pytest.approx([1 + 0.1 * 0.125 / 2])
    tone = sine(1000)
    assert peaks_of(
        amplitudes(tone, 0, frame_count(tone))[4:-4]
    ).hertz == pytest.approx(1000, abs=1.5)
    amplitude = np.zeros((1, 1025), np.float32)
    amplitude[0, [5, 60, 80, 100, 180]] = (0.5, 1.0, 0.11, 0.1, 0.5)
    assert peaks_of(amplitude).hertz.tolist() == [60 * WIDTH, 80 * WIDTH]
