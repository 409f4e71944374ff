from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.audio.quality.frequencies.spectrum import amplitudes, frame_count
from mmeval.metrics.audio.quality.frequencies.tuning import Peaks, peaks_of, tuning_of
from mmeval.metrics.audio.quality.recording import RATE


def peaks(*hertz: float) -> Peaks:
    return Peaks(np.array(hertz), np.ones(len(hertz)))


@pytest.mark.parametrize("beside", [-0.42, -0.2, 0.1, 0.33])
def test_tones_beside_the_scale_give_the_tuning(beside: float) -> None:
    tones = [440 * 2 ** ((step + beside + 0.005) / 36) for step in (-40, -3, 0, 9, 36)]

    assert tuning_of([peaks(*tones)]) == pytest.approx(beside, abs=1e-9)


def test_only_the_higher_half_of_the_tones_counts() -> None:
    found = Peaks(440 * 2 ** (np.array([0.205, 0.205, 0.205, 0.105]) / 36), np.array([1.0, 1.0, 1.0, 2.0]))
    louder = Peaks(found.hertz, np.array([1.0, 1.0, 3.0, 2.0]))

    assert tuning_of([found]) == pytest.approx(0.2)
    assert tuning_of([louder]) == pytest.approx(0.1)  # one each: the lower


def test_without_a_tone_the_tuning_is_that_of_the_scale() -> None:
    assert tuning_of([peaks_of(np.zeros((3, 1025), np.float32))]) == 0


def test_a_peak_lies_where_the_parabola_does() -> None:
    amplitude = np.zeros((1, 1025), np.float32)
    amplitude[0, 49:52] = (0.5, 1.0, 0.7)

    found = peaks_of(amplitude)

    assert found.hertz.tolist() == pytest.approx([(50 + 0.1 / 0.8) * 23.4375])
    assert found.height.tolist() == pytest.approx([1 + 0.1 * 0.125 / 2])


def test_what_is_faint_low_or_high_is_no_tone() -> None:
    amplitude = np.zeros((1, 1025), np.float32)
    amplitude[0, [5, 60, 80, 100, 180]] = (0.5, 1.0, 0.11, 0.1, 0.5)

    assert peaks_of(amplitude).hertz.tolist() == [60 * 23.4375, 80 * 23.4375]


def test_a_tone_of_a_recording_is_found() -> None:
    sine = 0.3 * np.sin(2 * np.pi * 1000 * np.arange(RATE) / RATE).astype(np.float32)

    found = peaks_of(amplitudes(sine, 0, frame_count(sine))[4:-4])

    assert found.hertz == pytest.approx(1000, abs=1.5)
