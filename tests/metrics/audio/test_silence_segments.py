from __future__ import annotations

import numpy as np
import pytest

from mmeval.errors import UsageError
from mmeval.metric.bound import bind
from mmeval.metrics.audio.silence_segments import silence_segments
from tests.support.sounds import Samples, alternating, heard, silence, tone
from tests.support.trials import score_of, trial


@pytest.mark.parametrize(
    ("seconds", "value", "lengths"),
    [
        ((1.5, 2.0, 1.5), 1, [34304, 33962]),
        ((1.0, 1.5, 1.0, 1.5, 1.0), 0, [23552, 24064, 22732]),
        ((1.0, 0.5, 0.5, 1.6, 1.0), 1, [45568, 22582]),
        ((1.0, 0.5, 1.0), 0, [55125]),
    ],
    ids=["one pause", "two pauses", "a short gap besides", "none"],
)
def test_one_pause_makes_two_segments(seconds: tuple[float, ...], value: float, lengths: list[int]) -> None:
    score = score_of(silence_segments, heard(alternating(*seconds)))

    assert (score.value, score.evidence) == (value, {"segments": lengths})


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize(
    "samples", [silence(3), silence(0.3), tone(3), np.full(1, 0.5, np.float32)], ids=["silent", "short", "tone", "one"]
)
def test_what_has_no_pause_is_one_segment(samples: Samples, profile: str) -> None:
    score = score_of(silence_segments, heard(samples), profile)

    assert (score.value, score.evidence) == (0, {"segments": [len(samples)]})


def test_silence_at_both_ends_is_no_pause() -> None:
    score = score_of(silence_segments, heard(np.concatenate([silence(2), tone(1), silence(2)])))

    assert (score.value, len(score.evidence["segments"])) == (0, 1)


def test_an_answer_without_a_sound_is_wrong_and_no_answer_unscored() -> None:
    assert score_of(silence_segments, heard(text="none")).evidence == {
        "reason": "the answer has 0 sounds, not exactly one"
    }
    assert score_of(silence_segments, trial(None)).status == "unscored"


@pytest.mark.parametrize("switch", ["segments", "frame", "hop"])
def test_a_count_below_one_is_refused(switch: str) -> None:
    with pytest.raises(UsageError, match="must be 1 or more, not 0"):
        bind(silence_segments, {switch: 0})


@pytest.mark.parametrize("decibels", [0.0, -40.0, float("nan")])
def test_a_level_of_silence_that_is_not_below_the_loudest_frame_is_refused(decibels: float) -> None:
    with pytest.raises(UsageError, match="must be above 0"):
        bind(silence_segments, {"top_db": decibels})
