from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.audio.quality.frequencies.separation import separated_snr, soft_mask
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples


def sine(seconds: float = 1.0) -> Samples:
    return (0.3 * np.sin(2 * np.pi * 440 * np.arange(int(seconds * RATE)) / RATE)).astype(np.float32)


def noise(seconds: float = 1.0) -> Samples:
    return (0.1 * np.random.default_rng(0).standard_normal(int(seconds * RATE))).astype(np.float32)


def one(value: float) -> Samples:
    return np.array([[value]], np.float32)


@pytest.mark.parametrize(
    ("wanted", "other", "margin", "share"),
    [(1, 1, 1, 0.5), (2, 1, 1, 0.8), (1, 1, 3, 0.1), (0, 1, 3, 0), (1, 0, 3, 1), (0, 0, 1, 0.5), (0, 0, 3, 0)],
)
def test_a_mask_is_the_share_of_the_squares(wanted: float, other: float, margin: float, share: float) -> None:
    assert soft_mask(one(wanted), one(other), margin)[0, 0] == pytest.approx(share)


def test_without_a_margin_all_music_is_free_of_noise() -> None:
    # The released defect: what is left is noise of rounding, for noise, too.
    assert separated_snr(sine(), 1.0) > 80
    assert separated_snr(noise(), 1.0) > 80


def test_with_a_margin_noise_is_neither_harmonic_nor_percussive() -> None:
    assert separated_snr(noise(), 3.0) < 0
    assert separated_snr(sine(), 3.0) > 10


def test_the_wider_the_margin_the_more_is_left() -> None:
    mixed = sine() + noise()

    found = [separated_snr(mixed, margin) for margin in (1.5, 2, 3, 5)]

    assert found == sorted(found, reverse=True)


def test_it_does_not_depend_on_where_blocks_end() -> None:
    # 260 frames: the second block is shorter than half a window.
    long = (sine(3) + noise(3))[: 259 * 512]

    assert separated_snr(long, 3.0) == pytest.approx(separated_snr(long[: 255 * 512], 3.0), abs=0.2)


def test_silence_has_no_ratio() -> None:
    assert separated_snr(np.zeros(RATE, np.float32), 3.0) == -np.inf
