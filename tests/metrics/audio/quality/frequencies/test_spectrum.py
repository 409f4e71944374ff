from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from mmeval.metrics.audio.quality.frequencies.spectrum import (
    BINS,
    amplitudes,
    band_end,
    bandwidth,
    blocks,
    flatness_of,
    frame_count,
    high_share,
    hiss_slope,
    spectrum_of,
)
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples


def noise(count: int) -> Samples:
    return (0.1 * np.random.default_rng(1).standard_normal(count)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 511, 512, 513, 24000, 30001])
def test_amplitudes_are_those_of_scipy(count: int) -> None:
    samples = noise(count)
    padded = np.pad(samples, (0, max(0, 2048 - count)))  # scipy takes a shorter window for less

    _, _, wanted = signal.stft(padded, RATE, "hann", 2048, 1536)
    found = amplitudes(samples, 0, frame_count(samples))

    assert found == pytest.approx(np.abs(wanted).T[: len(found)], abs=1e-9)


def test_blocks_of_frames_are_the_whole() -> None:
    samples = noise(20000)

    parts = [amplitudes(samples, first, last) for first, last in blocks(frame_count(samples), 7)]

    assert np.array_equal(np.concatenate(parts), amplitudes(samples, 0, frame_count(samples)))


def test_a_sine_has_half_its_amplitude() -> None:
    sine = np.sin(2 * np.pi * 1500 * np.arange(RATE) / RATE).astype(np.float32)

    assert amplitudes(sine, 20, 21).max() == pytest.approx(0.5, abs=1e-5)


def test_flatness_is_the_geometric_over_the_arithmetic_mean() -> None:
    amplitude = np.array([[1, 1, 1, 1], [1, 1, 4, 4], [0, 0, 0, 1], [0, 0, 0, 0]], np.float32)

    assert flatness_of(amplitude) == pytest.approx([1, 2 / 2.5, 1e-9 * 4, 1], rel=1e-3)


def test_the_band_ends_where_nearly_all_energy_lies_below() -> None:
    power = np.zeros(BINS)
    power[:101] = 1.0

    assert band_end(power) == 95 * 23.4375  # 96 of 101 bins
    assert bandwidth(power) == pytest.approx(95 * 23.4375 / 21600)
    assert bandwidth(np.ones(BINS)) == 1
    assert band_end(np.zeros(BINS)) == 24000


@pytest.mark.parametrize("slope", [-2.0, -0.5, 0.0, 2.0])
def test_the_slope_is_that_of_the_powers_between_four_and_twelve_kilohertz(slope: float) -> None:
    hertz = np.linspace(0, RATE / 2, BINS)
    power = 1e4 * np.maximum(hertz, 1.0) ** slope  # far above what is added
    power[hertz < 4000] = power[hertz > 12000] = 123.0

    assert hiss_slope(power) == pytest.approx(slope, abs=1e-4)


def test_the_share_of_high_frequencies() -> None:
    hertz = np.linspace(0, RATE / 2, BINS)
    inside = (hertz >= 7000) & (hertz <= 16000)

    assert high_share(np.ones(BINS)) == pytest.approx(inside.mean())
    assert high_share(inside.astype(float)) == pytest.approx(1)
    assert high_share(np.zeros(BINS)) == 0


def test_noise_is_flat_and_a_tone_is_not() -> None:
    sine = 0.3 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE).astype(np.float32)

    assert np.median(spectrum_of(noise(RATE)).flatness) > 0.8
    assert np.median(spectrum_of(sine).flatness) < 0.01
