from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metrics.audio import sound_class as module
from mmeval.metrics.audio.clap import CLAP
from mmeval.metrics.audio.sound_class import sound_class
from mmeval.records.sample import Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.hearing import DAMAGED, class_folder, scored_together, sound_trial, tiny
from tests.support.sounds import RATE, Samples, alternating, silence, tone
from tests.support.switch_changes import unnoticed
from tests.support.trials import score_of, trial


class Heard:
    """A stand-in for CLAP: a part of a clip is as like any class as its loudest sample says, in hundredths."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def embeddings(self, clips: Sequence[Samples], model: Any) -> Any:
        self.lengths += map(len, clips)
        cosines = np.array([np.abs(clip).max(initial=0) for clip in clips], np.float64)
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1) if len(clips) else np.zeros((0, 2))

    def class_embeddings(self, references: Any, label: str, model: Any) -> Any:
        classes = {"dog": [1, 0], "rain": [0, 1]}
        return np.array([classes[label]] * 10 + [[-1, 0]] * 5, np.float64)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    heard = Heard()
    monkeypatch.setattr(module, "embeddings", heard.embeddings)
    monkeypatch.setattr(module, "class_embeddings", heard.class_embeddings)
    return heard


def loud(seconds: float, cosine: float) -> Samples:
    return np.full(int(seconds * RATE), cosine, np.float32)


def scored(answer: Samples, profile: str = "standard", **given: Any) -> Score:
    labels = {key: given.pop(key) for key in ("target", "start", "end", "range", "instrument") if key in given}
    return score_of(sound_class, sound_trial(answer, **labels), profile, **given)


@pytest.mark.parametrize(
    ("cosine", "switches", "value"),
    [
        (0.685, {}, 1),
        (0.675, {}, 0),
        (0.5, {"threshold": 0.5}, 0),
        (0.5, {"threshold": 0.5, "exclude": True}, 0),
        (0.615, {"threshold": 0.62, "exclude": True}, 1),
        (0.625, {"threshold": 0.62, "exclude": True}, 0),
    ],
    ids=["above", "below", "at it", "at it, excluded", "excluded below", "excluded above"],
)
def test_a_class_passes_above_the_threshold_and_an_excluded_one_below_it(
    heard: Heard, cosine: float, switches: dict[str, Any], value: float
) -> None:
    assert scored(loud(3, cosine), target="dog", **switches).value == value


def test_ten_references_count_whatever_the_others_say(heard: Heard) -> None:
    assert scored(loud(3, 0.75), target="dog").evidence["target"]["similarity"] == pytest.approx(0.75, abs=1e-3)
    assert scored(loud(3, 0.75), target="dog", nearest=15).value == 0


@pytest.mark.parametrize(("seconds", "lengths"), [(10, 4), (7.9, 3), (4, 2), (2, 1)])
def test_the_beginning_and_the_end_are_at_most_four_whole_seconds_and_half_of_the_sound(
    heard: Heard, seconds: float, lengths: int
) -> None:
    scored(loud(seconds, 0.7), window="begin_end", start="dog", end="rain")

    assert heard.lengths == [lengths * RATE] * 2


def test_one_of_two_classes_is_half_and_a_row_may_ask_for_one_alone(heard: Heard) -> None:
    clip = np.concatenate([loud(4, 0.7), loud(4, 0.1)])

    assert scored(clip, window="begin_end", start="dog", end="dog").value == 0.5
    assert scored(clip, window="begin_end", start="dog").value == 1
    assert scored(clip, window="begin_end", end="dog").value == 0


def test_a_sound_below_two_seconds_is_heard_whole_and_officially_its_beginning_is_silent(heard: Heard) -> None:
    asked = {"window": "begin_end", "start": "dog", "end": "dog"}

    assert scored(loud(1.9, 0.7), **asked).value == 1
    assert scored(loud(1.9, 0.7), "official", **asked).value == 0.5
    assert heard.lengths == [41895, 41895, 0, 41895]


def test_a_range_is_cut_at_rounded_fractions_of_the_samples(heard: Heard) -> None:
    scored(loud(1, 0.5)[:1001], window="range", target="dog", range=[0.5, 1.0])
    scored(loud(1, 0.5)[:1001], window="range", target="dog", range=[0.0, 0.5])

    scored(loud(1, 0.5)[:1003], window="range", target="dog", range=[0.25, 0.75])

    assert heard.lengths == [1001 - 500, 500, 752 - 251]


def test_both_segments_around_a_pause_are_heard_and_more_or_fewer_are_zero(heard: Heard) -> None:
    clip = alternating(1.5, 2, 1.5)
    asked = {"window": "silence_segments", "start": "dog", "end": "rain"}

    two = scored(clip, **asked)
    three = scored(alternating(1, 1.5, 1, 1.5, 1), **asked)

    assert two.value == 0.5
    assert heard.lengths == pytest.approx([1.5 * RATE, 1.5 * RATE], abs=1500)
    assert (three.value, three.evidence["reason"]) == (0, "pauses part the sound into 3 segments, not exactly two")


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("answer", [[], [tone(1), tone(2)], [DAMAGED]], ids=["none", "two", "damaged"])
def test_an_answer_without_exactly_one_sound_is_zero_also_where_a_class_is_excluded(
    heard: Heard, answer: list[Samples], exclude: bool
) -> None:
    score = score_of(sound_class, sound_trial(*answer, target="dog"), exclude=exclude)

    assert (score.value, "reason" in score.evidence) == (0, True)


@pytest.mark.parametrize(
    ("labels", "window"),
    [
        ({}, "whole"),
        ({"target": 3}, "whole"),
        ({"start": ""}, "begin_end"),
        ({"start": 3, "end": "dog"}, "begin_end"),
        ({"target": "dog"}, "range"),
        ({"target": "dog", "range": [0.5, 0.5]}, "range"),
        ({"target": "dog", "range": [0, 2]}, "range"),
        ({"target": "dog", "range": ["a", "b"]}, "range"),
    ],
    ids=str,
)
def test_labels_that_ask_for_nothing_are_unscored_and_told_before_the_run(
    heard: Heard, labels: dict[str, Any], window: str
) -> None:
    asked = sound_trial(tone(1), **labels)
    bound = bind(sound_class, {"window": window})

    assert score_one(bound, asked)["sound_class"].reason == bound.sample_fault(asked.sample) != ""


def test_without_an_answer_it_is_unscored(heard: Heard) -> None:
    assert score_of(sound_class, trial(None, metadata={"target": "dog"})).status == "unscored"


def test_every_switch_matters(heard: Heard) -> None:
    trials = [
        sound_trial(np.concatenate([loud(6, 0.66), loud(5, 0.3), loud(4, 0.7)]), target="dog", start="rain"),
        sound_trial(loud(1, 0.7), target="rain", start="dog", end="rain"),
    ]
    whole: dict[str, list[Any]] = {
        "threshold": [0.71],
        "exclude": [True],
        "nearest": [15],
        "target_key": ["start"],
        "window": ["begin_end"],
    }

    assert set(unnoticed(sound_class, whole, trials)) == {
        *("model", "references", "seconds", "short", "gap", "top_db", "start_key", "end_key", "range_key")
    }


@pytest.mark.parametrize(
    ("window", "switch", "value"),
    [
        ("begin_end", "seconds", 2),
        ("begin_end", "short", "empty_begin"),
        ("begin_end", "start_key", "target"),
        ("begin_end", "end_key", "target"),
        ("silence_segments", "gap", 2.5),
        ("silence_segments", "top_db", 80),
        ("range", "range_key", "part"),
    ],
)
def test_every_switch_of_a_window_matters(heard: Heard, window: str, switch: str, value: Any) -> None:
    clips = [np.concatenate([loud(3, 0.3), loud(7, 0.7)]), loud(1, 0.7)]
    clips.append(np.concatenate([loud(2, 0.7), silence(2), loud(2, 0.3)]))
    clips.append(np.concatenate([loud(2, 0.7), tone(2) * np.float32(1e-3), loud(2, 0.3)]))
    labels: dict[str, Any] = {"target": "rain", "start": "dog", "end": "dog", "range": [0, 0.3], "part": [0.5, 1]}

    def scores(**switches: Any) -> list[Score]:
        return [score_of(sound_class, sound_trial(c, **labels), window=window, **switches) for c in clips]

    assert scores() != scores(**{switch: value})


def test_the_documented_values_of_the_switches() -> None:
    assert sound_class.switches == {
        "model": "laion/clap-htsat-unfused",
        "references": "karolpiczak/ESC-50",
        "window": "whole",
        "threshold": 0.68,
        "exclude": False,
        "nearest": 10,
        "seconds": 4,
        "short": "whole",
        "gap": 1.0,
        "top_db": 40.0,
        "target_key": "target",
        "start_key": "start",
        "end_key": "end",
        "range_key": "range",
    }


def test_the_whole_path_with_a_model_and_reference_clips_and_a_batch_as_each_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    folder = class_folder(
        tmp_path / "set", {"dog": [tone(1, 300)] * 2, "light_rain": [tone(1, 4000)]}, table="esc50.csv"
    )
    switches: dict[str, Any] = {"model": tiny("clap", CLAP), "references": str(folder), "threshold": 0.999999}
    trials: list[Trial] = [sound_trial(tone(1, 300), target="dog"), sound_trial(tone(1, 300), target="light rain")]
    trials += [sound_trial(target="dog"), sound_trial(tone(1), target="cat")]

    together = scored_together(sound_class, trials, **switches)

    assert [score.value for score in together] == [1, 0, 0, None]
    assert "cat" in together[3].reason
    for score, one in zip(together[:2], trials[:2], strict=True):
        alone = score_of(sound_class, one, **switches).evidence["target"]["similarity"]
        assert score.evidence["target"]["similarity"] == pytest.approx(alone, abs=1e-5)


def test_without_the_reference_clips_it_is_unavailable_and_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    bound = bind(sound_class, {"model": tiny("clap", CLAP)})

    said = bound.without_models()

    assert said.startswith("karolpiczak/ESC-50 is not here")
    assert "github.com/karolpiczak/ESC-50" in said


def test_a_label_that_is_no_text_is_told_apart_from_one_that_is_missing() -> None:
    assert sound_class.check is not None
    said = sound_class.check(Sample("s", (user("a sound"),), metadata={"target": ["dog"]}), sound_class.switches)

    assert said == "its label 'target' is ['dog']; it must be a text that names a class"
