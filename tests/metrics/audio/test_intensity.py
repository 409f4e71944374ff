from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mmeval.errors import UsageError
from mmeval.metric.bound import bind
from mmeval.metrics.audio.intensity import intensity, line_of_peaks
from tests.support.sounds import Samples, heard, pulses, silence, tone
from tests.support.trials import score_of, trial

RISING = (0.02, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 1)
LABEL = {"intensity": ["start", "fade in"]}

RELEASED = [
    ("fade in", 10, RISING, ["start", "fade in"], 1, 0.20687653715964588, 0.03655872675721325),
    ("flat", 10, (1, 1), ["start", "fade in"], 0, -0.07698175454098895, 0.04428307170392729),
    ("hump", 12, (0.1, 1, 0.1, 1, 0.1, 1, 0.1), ["end", "fade out"], 0, -0.016035083397547507, 0.06153139592287491),
]
"""Sounds, what is asked of them, and the score, slope and standard error of the released evaluator."""


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("case", RELEASED, ids=lambda case: case[0])
def test_the_slope_of_the_peaks_is_that_of_the_released_evaluator(case: Any, profile: str) -> None:
    _, seconds, envelope, label, value, slope, stderr = case

    score = score_of(intensity, heard(pulses(seconds, envelope), metadata={"intensity": label}), profile)

    assert score.value == value
    assert (score.evidence["slope"], score.evidence["stderr"]) == pytest.approx((slope, stderr), abs=1e-3)


@pytest.mark.parametrize(
    ("envelope", "label", "trend"),
    [
        (RISING, ["start", "fade in"], "fade in"),
        (RISING, ["end", "fade in"], "<none>"),
        (RISING[::-1], ["end", "fade out"], "fade out"),
        (RISING[::-1], ["end", "fade in"], "fade out"),
    ],
    ids=["fades in", "not at the end", "fades out", "the wrong way"],
)
def test_the_trend_is_found_at_the_edge_that_is_asked_for(
    envelope: tuple[float, ...], label: list[str], trend: str
) -> None:
    score = score_of(intensity, heard(pulses(10, envelope), metadata={"intensity": label}))

    assert (score.value, score.evidence["trend"]) == (float(trend == label[1]), trend)


@pytest.mark.parametrize(("switch", "evidence"), [("steepness", "slope"), ("error", "stderr")])
def test_at_its_very_limit_nothing_fades(switch: str, evidence: str) -> None:
    rising = heard(pulses(10, RISING), metadata=LABEL)
    limit = score_of(intensity, rising).evidence[evidence]

    assert score_of(intensity, rising, **{switch: limit}).evidence["trend"] == "<none>"


def test_silence_at_both_ends_is_cut_off() -> None:
    padded = np.concatenate([silence(5), pulses(10, RISING), silence(5)])

    assert score_of(intensity, heard(padded, metadata=LABEL)).value == 1


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("edge", ["start", "end"])
@pytest.mark.parametrize(
    "samples",
    [silence(10), silence(0.3), np.full(220500, 0.25, np.float32), tone(0.05), np.zeros(1, np.float32)],
    ids=["silent", "short and silent", "constant", "one frame", "one sample"],
)
def test_what_has_no_peaks_fades_neither_way(samples: Samples, edge: str, profile: str) -> None:
    score = score_of(intensity, heard(samples, metadata={"intensity": [edge, "fade out"]}), profile)

    assert (score.value, score.evidence["trend"]) == (0, "<none>")
    assert ("reason" in score.evidence) is (score.evidence["slope"] is None)


@pytest.mark.parametrize(
    ("samples", "hop", "reason"),
    [
        (tone(1.5), 512, "less than two seconds"),
        (silence(10), 512, "equally loud"),
        (tone(10), 44100, "fewer than two"),
    ],
    ids=["short", "silent", "too few peaks"],
)
def test_a_sound_without_a_line_says_why(samples: Samples, hop: int, reason: str) -> None:
    assert reason in score_of(intensity, heard(samples, metadata=LABEL), hop=hop).evidence["reason"]


def test_the_end_of_a_sound_below_two_seconds_is_nothing_or_in_the_released_evaluator_all_of_it() -> None:
    asked = heard(pulses(1.9, RISING[:5]), metadata={"intensity": ["end", "fade in"]})

    assert score_of(intensity, asked).evidence["slope"] is None
    assert score_of(intensity, asked, "official").evidence["slope"] > 0.18


@pytest.mark.parametrize(
    ("first", "last", "points"),
    [
        (5, 34, [0, 5, 34, 39]),
        (4, 34, [4, 34, 39]),
        (5, 35, [0, 5, 35]),
        (4, 35, [4, 35]),
    ],
    ids=["both ends", "the last", "the first", "neither"],
)
def test_the_first_and_the_last_frame_are_points_where_the_nearest_peak_is_five_frames_away(
    first: int, last: int, points: list[int]
) -> None:
    levels = np.full(40, 0.1, np.float32)
    levels[first], levels[20], levels[last] = 0.3, 0.4, 0.5

    assert line_of_peaks(levels) == pytest.approx(line_through(sorted([*points, 20]), levels), abs=1e-6)


def line_through(points: list[int], levels: Samples) -> tuple[float, float]:
    """Slope and its standard error, by the formulas of a textbook."""
    x, y = np.asarray(points) * 512 / 22050, (levels[points] - levels.min()) / np.ptp(levels)
    slope = np.cov(x, y)[0, 1] / x.var(ddof=1)
    rest = y - y.mean() - slope * (x - x.mean())
    return slope, np.sqrt((rest**2).sum() / (len(x) - 2) / ((x - x.mean()) ** 2).sum())


@pytest.mark.parametrize("label", [None, [], "fade in", ["start"], ["middle", "fade in"], ["start", "louder"], [[], 1]])
def test_without_a_label_it_is_unscored_and_told_before_the_run(label: Any) -> None:
    asked = heard(tone(3), metadata={"intensity": label})

    assert score_of(intensity, asked).reason == "the label 'intensity' is no pair such as ['start', 'fade in']"
    assert bind(intensity).sample_fault(asked.sample) == score_of(intensity, asked).reason


def test_an_answer_without_a_sound_is_wrong_and_no_answer_unscored() -> None:
    assert score_of(intensity, heard(text="none", metadata=LABEL)).value == 0
    assert score_of(intensity, trial(None, metadata=LABEL)).status == "unscored"


@pytest.mark.parametrize("switch", ["seconds", "distance", "margin", "frame", "hop"])
def test_a_count_below_one_is_refused(switch: str) -> None:
    with pytest.raises(UsageError, match=f"the switch '{switch}' of the metric 'intensity' must be 1 or more, not 0"):
        bind(intensity, {switch: 0})
