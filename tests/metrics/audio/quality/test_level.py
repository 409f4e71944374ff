import numpy as np
import pytest

from mmeval.metrics.audio.quality import level
from mmeval.metrics.audio.quality.level import (
    LevelTerms,
    clip_share,
    crest,
    envelope_steps,
)
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples, sine, white


def full_scale(*runs: tuple[int, int], level: float = 0.995) -> Samples:
    """400 samples, of which these runs, by their first sample and the one after the
    last, have a level."""
    samples = np.zeros(400, np.float32)
    for first, end in runs:
        samples[first:end] = level
    return samples


@pytest.mark.parametrize(
    ("samples", "share"),
    [
        *(
            (full_scale((10, 10 + run), level=-0.995), n / 100)
            for run, n in ((3, 0), (4, 1), (7, 1), (8, 2), (12, 3))
        ),
        (full_scale((0, 4), (50, 61), (392, 400)), 5 / 100),
        (full_scale((0, 400), level=0.9949), 0),
        (full_scale((0, 400), level=0.9951), 1),
    ],
)
def test_four_samples_on_end_at_full_scale_are_clipped(
    samples: Samples, share: float
) -> None:
    assert clip_share(samples) == share


def test_faults_of_the_level_cost_up_to_a_third_each() -> None:
    samples = np.concatenate(
        [np.full(RATE // 2, value, np.float32) for value in (0.5, 0.0005)]
    )
    assert level.level_terms(samples) == pytest.approx((0, 0.25025, 0.5), abs=0.02)
    assert level.level_terms(samples).offset == pytest.approx(0.25025, abs=1e-4)
    assert level.dynamic_range(np.zeros(2400, np.float32)) == 0  # without a frame
    # A sound without a frame is not silent.
    assert [
        level.level_terms(np.zeros(count, np.float32)).silent for count in (960, 961)
    ] == [0, 1]
    scores = {
        (0, 0, 0): 1,
        (0.01, 0, 0): 2.5 / 3,
        (0, 0.0005, 0): 2.5 / 3,
        (0, 0, 0.2): 2.5 / 3,
        (0.02, 0.001, 0.4): 0,
    }
    assert {
        terms: level.level_score(LevelTerms(*terms)) for terms in scores
    } == pytest.approx(scores)


def test_the_envelope_is_a_running_mean_of_ten_milliseconds_and_the_crest_of_a_sine_three_decibels() -> (
    None
):
    samples, long = white(2000, 1.0), white(2**16 + 700, 1.0)
    wanted = np.convolve(np.abs(samples), np.full(480, 1 / 480), "same")
    assert envelope_steps(samples) == pytest.approx(np.abs(np.diff(wanted)), abs=1e-7)
    assert envelope_steps(long)[-300:] == pytest.approx(
        envelope_steps(long[-2000:])[-300:], abs=1e-7
    )
    impulse = np.zeros(100, np.float32)
    for sign in (1, -1):
        impulse[57] = sign * 0.5
        assert crest(impulse) == pytest.approx(20)
    assert [crest(sine(441, level=gain)) for gain in (1, 0.01, 0)] == pytest.approx(
        [3.0103, 3.0103, 0], abs=1e-3
    )


@pytest.mark.parametrize(
    ("hertz", "score"), [(1000, 0.952), (441.7, 0.75)], ids=["equal steps", "any steps"]
)
def test_what_rounding_adds_to_the_steps_of_a_steady_tone_is_no_jump(
    hertz: float, score: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = sine(hertz)
    exact, steps = level.transient_score(samples), envelope_steps(samples)
    rounding = np.random.default_rng(0).uniform(0, 1e-10, len(steps)).astype(np.float32)
    monkeypatch.setattr(level, "envelope_steps", lambda _: steps + rounding)
    assert level.transient_score(samples) == pytest.approx(exact, abs=1e-3)
    assert exact == pytest.approx(score, abs=0.01)
