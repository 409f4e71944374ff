from typing import Any

import numpy as np
import pytest

from mmeval.metrics.audio.intensity import intensity, line_of_peaks
from mmeval.records import Score
from tests.support.sounds import Samples, heard, pulses, silence, tone
from tests.support.trials import score_of

RISING = (0.02, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 1)


def scored(
    samples: Samples, *label: str, profile: str = "standard", **switches: Any
) -> Score:
    asked = heard(samples, metadata={"intensity": list(label or ("start", "fade in"))})
    return score_of(intensity, asked, profile, **switches)


def test_the_trend_is_that_of_an_edge() -> None:
    asked: list[tuple[tuple[float, ...], str, str, str]]
    asked = [
        (RISING, "start", "fade in", "fade in"),
        (RISING, "end", "fade in", "<none>"),
    ]
    asked += [
        (RISING[::-1], "end", "fade out", "fade out"),
        (RISING[::-1], "end", "fade in", "fade out"),
    ]
    for envelope, edge, wanted, trend in asked:
        score = scored(pulses(10, envelope), edge, wanted)
        assert score.value == float(trend == wanted)
        assert score.evidence["trend"] == trend
    for switch, evidence in {
        "steepness": "slope",
        "error": "stderr",
    }.items():  # at its very limit nothing fades
        limit = scored(pulses(10, RISING)).evidence[evidence]
        assert (
            scored(pulses(10, RISING), **{switch: limit}).evidence["trend"] == "<none>"
        )


def test_silence_at_both_ends_is_cut_off_and_a_sound_below_two_seconds_has_no_end() -> (
    None
):
    assert (
        scored(np.concatenate([silence(5), pulses(10, RISING), silence(5)])).value == 1
    )
    # In the released evaluator its end is all of it.
    short = pulses(1.9, RISING[:5])
    assert scored(short, "end", "fade in").evidence["slope"] is None
    assert scored(short, "end", "fade in", profile="official").evidence["slope"] > 0.18


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("edge", ["start", "end"])
def test_what_has_no_peaks_fades_neither_way(edge: str, profile: str) -> None:
    for samples in (
        silence(10),
        np.full(220500, 0.25, np.float32),
        tone(0.05),
        np.zeros(1, np.float32),
    ):
        score = scored(samples, edge, "fade out", profile=profile)
        assert score.value == 0
        assert score.evidence["trend"] == "<none>"
        assert ("reason" in score.evidence) is (score.evidence["slope"] is None)
    reasons = (
        (tone(1.5), 512, "two seconds"),
        (silence(10), 512, "equally loud"),
        (tone(10), 44100, "fewer than two"),
    )
    for samples, hop, reason in reasons:
        assert reason in scored(samples, hop=hop).evidence["reason"]


@pytest.mark.parametrize(
    ("first", "last", "points"),
    [
        (5, 34, [0, 5, 20, 34, 39]),
        (4, 34, [4, 20, 34, 39]),
        (5, 35, [0, 5, 20, 35]),
        (4, 35, [4, 20, 35]),
    ],
)
def test_ends_are_points_where_the_nearest_peak_is_five_frames_away(
    first: int, last: int, points: list[int]
) -> None:
    levels = np.full(40, 0.1, np.float32)
    levels[first], levels[20], levels[last] = 0.3, 0.4, 0.5
    # By the formulas of a textbook.
    x = np.asarray(points) * 512 / 22050
    y = (levels[points] - levels.min()) / np.ptp(levels)
    slope = np.cov(x, y)[0, 1] / x.var(ddof=1)
    rest = y - y.mean() - slope * (x - x.mean())
    stderr = np.sqrt((rest**2).sum() / (len(x) - 2) / ((x - x.mean()) ** 2).sum())
    assert line_of_peaks(levels) == pytest.approx((slope, stderr), abs=1e-6)
