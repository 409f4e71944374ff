from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.audio.quality.frequencies.chroma import chroma, chroma_variance, filters_of, halved
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples


def sine(hertz: float, seconds: float = 1.0) -> Samples:
    return (0.3 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE)) / RATE)).astype(np.float32)


@pytest.mark.parametrize(
    ("hertz", "name"), [(65.406, 0), (130.813, 0), (1046.5, 0), (440, 9), (880, 9), (3951.07, 11), (554.37, 1)]
)
def test_a_tone_is_of_its_class_in_every_octave(hertz: float, name: int) -> None:
    found = chroma(sine(hertz), 0.0)

    assert found.shape == (94, 12)
    assert set(found[20:-20].argmax(axis=1).tolist()) == {name}
    assert found.max() == 1


def test_a_steady_tone_does_not_vary_and_a_melody_does() -> None:
    melody = np.concatenate([sine(hertz, 0.25) for hertz in (262, 330, 392, 523, 440, 349)])

    assert chroma_variance(melody, 0.0) > 3 * chroma_variance(sine(440, 1.5), 0.0)


def test_the_tuning_moves_the_filters() -> None:
    beside = sine(440 * 2 ** (0.5 / 12))  # between two semitones

    assert chroma(beside, 0.0)[40, 9] == pytest.approx(chroma(beside, 0.0)[40, 10], rel=0.2)
    assert chroma(beside, -0.5)[40, 9:11].min() < 0.9


def test_silence_has_no_chroma() -> None:
    assert not chroma(np.zeros(RATE, np.float32), 0.0).any()


def test_half_the_rate_keeps_the_energy() -> None:
    samples = sine(440)

    found = halved(samples)

    assert len(found) == len(samples) // 2
    assert np.square(found).sum() == pytest.approx(np.square(samples).sum(), rel=1e-3)
    assert len(halved(samples[:1001])) == 501


def test_filters_have_one_gain_and_only_the_bins_that_they_pass() -> None:
    filters = filters_of(0.0)

    assert filters.passed.shape[1] == 36
    assert filters.start * 23.4375 < 2093 and (filters.start + len(filters.passed)) * 23.4375 > 4067
    assert len(filters.passed) < 150
