from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mmeval.errors import UsageError
from mmeval.metrics.audio import sound_class as module
from mmeval.metrics.audio.sound_class import sound_class
from mmeval.records import Score
from tests.support.sounds import RATE, Samples, alternating, sound_trial
from tests.support.trials import score_of

LABELS = ("target", "start", "end", "range", "part")


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A stand-in for CLAP: the loudest sample of a part of a clip is its likeness to a
    dog, in hundredths."""
    heard: list[int] = []

    def embeddings(clips: Sequence[Samples], model: Any) -> Any:
        heard.extend(map(len, clips))
        cosines = np.array([np.abs(clip).max(initial=0) for clip in clips], np.float64)
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)

    def class_embeddings(references: Any, label: str, model: Any) -> Any:
        return np.array(
            [{"dog": [1, 0], "rain": [0, 1]}[label]] * 10 + [[-1, 0]] * 5, np.float64
        )

    monkeypatch.setattr(module, "embeddings", embeddings)
    monkeypatch.setattr(module, "class_embeddings", class_embeddings)
    return heard


def loud(seconds: float, cosine: float) -> Samples:
    return np.full(int(seconds * RATE), cosine, np.float32)


def scored(answer: Samples, profile: str = "standard", **given: Any) -> Score:
    labels = {key: given.pop(key) for key in LABELS if key in given}
    return score_of(sound_class, sound_trial(answer, **labels), profile, **given)


@pytest.mark.parametrize(
    ("cosine", "switches", "value"),
    [
        (0.685, {}, 1),
        (0.675, {}, 0),
        (0.5, {"threshold": 0.5}, 0),  # at it
        (0.615, {"threshold": 0.62, "exclude": True}, 1),
        (0.625, {"threshold": 0.62, "exclude": True}, 0),
        # of the references ten count, whatever the others are
        (0.75, {"nearest": 15}, 0),
    ],
)
def test_above_the_threshold_it_passes(
    lengths: list[int], cosine: float, switches: dict[str, Any], value: float
) -> None:
    assert scored(loud(3, cosine), target="dog", **switches).value == value
    found = scored(loud(3, cosine), target="dog").evidence["target"]
    assert found == {
        "class": "dog",
        "similarity": pytest.approx(cosine, abs=1e-3),
        "passes": cosine > 0.68,
    }


def test_one_of_two_classes_is_half_and_an_unknown_one_unscored(
    lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = np.concatenate([loud(4, 0.7), loud(4, 0.1)])
    labels = ({"start": "dog", "end": "dog"}, {"start": "dog"}, {"end": "dog"})
    assert [scored(clip, window="begin_end", **one).value for one in labels] == [
        0.5,
        1,
        0,
    ]

    def unknown(references: Any, label: str, model: Any) -> Any:
        raise UsageError(f"no class {label}")

    monkeypatch.setattr(module, "class_embeddings", unknown)
    score = scored(loud(3, 0.7), target="cat")
    assert score.status == "unscored"
    assert "cat" in score.reason


def test_a_range_is_rounded_and_a_sound_below_two_seconds_whole_or_officially_begins_silent(
    lengths: list[int],
) -> None:
    asked = {"window": "begin_end", "start": "dog", "end": "dog"}
    values = [
        scored(loud(1.9, 0.7), profile, **asked).value
        for profile in ("standard", "official")
    ]
    assert values == [1, 0.5]
    assert lengths == [41895, 41895, 0, 41895]
    for count, part in ((1001, [0.5, 1.0]), (1001, [0.0, 0.5]), (1003, [0.25, 0.75])):
        scored(loud(1, 0.5)[:count], window="range", target="dog", range=part)
    assert lengths[4:] == [1001 - 500, 500, 752 - 251]


def test_both_segments_around_a_pause_count_and_more_or_fewer_are_zero(
    lengths: list[int],
) -> None:
    asked = {"window": "silence_segments", "start": "dog", "end": "rain"}
    assert scored(alternating(1.5, 2, 1.5), **asked).value == 0.5
    assert lengths == pytest.approx([1.5 * RATE, 1.5 * RATE], abs=1500)
    three = scored(alternating(1, 1.5, 1, 1.5, 1), **asked)
    assert three.value == 0
    assert "3 segments" in three.evidence["reason"]
