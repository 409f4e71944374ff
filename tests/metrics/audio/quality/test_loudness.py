from __future__ import annotations

import math

import numpy as np
import pytest

from mmeval.metrics.audio.quality.loudness import loudness
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples


def sine(level: float, hertz: float = 997.0, seconds: float = 3.0) -> Samples:
    return (level * np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE)) / RATE)).astype(np.float32)


@pytest.mark.parametrize("level", [1.0, 0.1, 0.01])
def test_a_tone_of_full_scale_has_minus_three(level: float) -> None:
    # The published value is -3.01; with these filters it is within a tenth.
    assert loudness(sine(level)) == pytest.approx(-3.01 + 20 * math.log10(level), abs=0.1)


@pytest.mark.parametrize(
    ("hertz", "found"), [(40, -9.290288), (100, -4.873787), (997, -3.051681), (3000, 0.063789), (10000, 0.297484)]
)
def test_the_ear_hears_high_tones_better(hertz: float, found: float) -> None:
    # The values of pyloudnorm 0.2.0.
    assert loudness(sine(1.0, hertz)) == pytest.approx(found, abs=1e-5)


def test_a_long_silence_does_not_count() -> None:
    alone = loudness(sine(0.1))

    assert loudness(np.concatenate([sine(0.1), np.zeros(5 * RATE, np.float32)])) == pytest.approx(alone, abs=0.4)
    # Nor does what is more than ten units below the mean.
    assert loudness(np.concatenate([sine(0.1), sine(0.005)])) == pytest.approx(alone, abs=0.5)


def test_it_does_not_depend_on_how_much_is_filtered_at_a_time() -> None:
    noise = (0.1 * np.random.default_rng(0).standard_normal(25 * RATE)).astype(np.float32)

    # The blocks of a longer recording hold those of a shorter one; its filters go on over the seams at ten seconds.
    assert loudness(noise) == pytest.approx(loudness(noise[: 9 * RATE]), abs=0.05)


@pytest.mark.parametrize("samples", [np.zeros(RATE, np.float32), np.full(RATE, 1e-5, np.float32)])
def test_silence_has_no_loudness(samples: Samples) -> None:
    assert loudness(samples) == -math.inf


def test_the_shortest_recording_is_one_block() -> None:
    assert loudness(sine(1.0, seconds=0.4)) == pytest.approx(-3.05, abs=0.05)
