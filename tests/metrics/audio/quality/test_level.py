from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.audio.quality.level import (
    LevelTerms,
    clip_share,
    crest,
    dynamic_range,
    envelope_steps,
    level_score,
    level_terms,
    transient_score,
)
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples


def sine(level: float = 1.0, hertz: float = 441.0, seconds: float = 1.0) -> Samples:
    return (level * np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE)) / RATE)).astype(np.float32)


@pytest.mark.parametrize(("run", "groups"), [(3, 0), (4, 1), (7, 1), (8, 2), (12, 3)])
def test_four_samples_on_end_at_full_scale_are_clipped(run: int, groups: int) -> None:
    samples = np.zeros(400, np.float32)
    samples[10 : 10 + run] = -0.995

    assert clip_share(samples) == groups / 100


def test_every_run_at_full_scale_is_counted() -> None:
    samples = np.zeros(400, np.float32)
    samples[:4] = samples[50:61] = samples[-8:] = 0.995

    assert clip_share(samples) == (1 + 2 + 2) / 100


def test_a_little_below_full_scale_is_not_clipped() -> None:
    assert clip_share(np.full(400, 0.9949, np.float32)) == 0
    assert clip_share(np.full(400, 0.9951, np.float32)) == 1


def test_runs_of_both_signs_are_one() -> None:
    assert clip_share(np.tile(np.array([1, -1], np.float32), 200)) == 1


def test_what_is_wrong_with_the_level() -> None:
    samples = np.concatenate([np.full(RATE // 2, 0.5, np.float32), np.full(RATE // 2, 0.0005, np.float32)])

    found = level_terms(samples)

    assert (found.clipped, found.offset) == (0, pytest.approx(0.25025, abs=1e-4))
    assert found.silent == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("terms", "score"),
    [
        ((0, 0, 0), 1),
        ((0.01, 0, 0), 2.5 / 3),
        ((0, 0.0005, 0), 2.5 / 3),
        ((0, 0, 0.2), 2.5 / 3),
        ((0.02, 0.001, 0.4), 0),
        ((1, 1, 1), 0),
    ],
)
def test_each_fault_costs_up_to_a_third(terms: tuple[float, float, float], score: float) -> None:
    assert level_score(LevelTerms(*terms)) == pytest.approx(score)


def test_the_dynamic_range_lies_between_loud_and_quiet_frames() -> None:
    assert dynamic_range(np.concatenate([sine(0.5), sine(0.05)])) == pytest.approx(20, abs=0.1)
    assert dynamic_range(sine()) == pytest.approx(0, abs=0.3)
    assert dynamic_range(np.zeros(2400, np.float32)) == 0


def test_the_envelope_is_a_running_mean_of_ten_milliseconds() -> None:
    samples = np.random.default_rng(0).standard_normal(2000).astype(np.float32)
    wanted = np.convolve(np.abs(samples), np.full(480, 1 / 480), "same")

    assert envelope_steps(samples) == pytest.approx(np.abs(np.diff(wanted)), abs=1e-7)


def test_the_steps_do_not_depend_on_where_parts_end() -> None:
    samples = np.random.default_rng(0).standard_normal(2**16 + 700).astype(np.float32)

    assert envelope_steps(samples)[-300:] == pytest.approx(envelope_steps(samples[-2000:])[-300:], abs=1e-7)


def test_transients_are_three_quarters_for_almost_every_sound() -> None:
    noise = np.random.default_rng(0).standard_normal(RATE).astype(np.float32)

    assert transient_score(noise) == pytest.approx(0.75, abs=1e-3)
    assert transient_score(sine(seconds=2)) == pytest.approx(0.75, abs=1e-3)
    assert transient_score(np.zeros(RATE, np.float32)) == 1


def test_a_sound_without_a_frame_is_not_silent() -> None:
    assert level_terms(np.zeros(960, np.float32)).silent == 0
    assert level_terms(np.zeros(961, np.float32)).silent == 1


@pytest.mark.parametrize("at", [0, 57, 99])
def test_the_crest_of_one_sample_in_a_hundred_is_twenty_decibels(at: int) -> None:
    impulse = np.zeros(100, np.float32)
    impulse[at] = 0.5

    assert crest(impulse) == pytest.approx(20)


@pytest.mark.parametrize("gain", [1, 0.01])
def test_the_crest_of_a_sine_is_three_decibels_at_any_level(gain: float) -> None:
    assert crest(sine(gain)) == pytest.approx(3.0103, abs=1e-3)


def test_silence_has_no_crest() -> None:
    assert crest(np.zeros(1000, np.float32)) == 0
