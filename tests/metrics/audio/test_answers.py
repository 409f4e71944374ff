"""What all metrics of sound do alike: with other answers, unfit labels and switches out
of range."""

from collections.abc import Sequence
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.metric import bind, load_metric
from tests.support.sounds import DAMAGED, sound_trial, tone
from tests.support.trials import score_of, trial

Cases = list[tuple[str, dict[str, Any], dict[str, Any]]]
ASKED: Cases = [
    ("silence_segments", {}, {}),
    ("intensity", {"intensity": ["start", "fade in"]}, {}),
    ("tempo", {"tempo": 90}, {}),
    ("clap_similarity", {}, {}),
    ("sound_class", {"target": "dog"}, {}),
    ("sound_class", {"target": "dog"}, {"exclude": True}),
    ("speaker_gender", {"gender": "male"}, {}),
    ("speaker_similarity", {}, {}),
    ("pitch_band", {"pitch": "high"}, {"gender": "male"}),
    ("speech_rate", {"speed": "high"}, {"source": "text"}),
    ("transcript", {"text": "one"}, {}),
    ("transcript_constraints", {"constraint": ["start", "a"]}, {}),
]
UNFIT: Cases = [
    *(
        ("intensity", {"intensity": value}, {})
        for value in (None, [], "fade in", ["start"], ["middle", "fade in"])
    ),
    *(
        ("intensity", {"intensity": value}, {})
        for value in (["start", "louder"], [[], 1])
    ),
    *(
        ("tempo", {"tempo": value}, {})
        for value in (None, "fast", 0, -3, True, float("nan"), [120])
    ),
    ("pitch_band", {"pitch": "deep"}, {"gender": "male"}),
    ("speech_rate", {"speed": "quick"}, {"source": "text"}),
    ("sound_class", {}, {}),
    ("sound_class", {"target": 3}, {}),
    ("sound_class", {"start": ""}, {"window": "begin_end"}),
    ("sound_class", {"start": 3, "end": "dog"}, {"window": "begin_end"}),
    *(
        ("sound_class", {"target": "dog", **part}, {"window": "range"})
        for part in ({}, {"range": [0.5, 0.5]})
    ),
    *(
        ("sound_class", {"target": "dog", "range": part}, {"window": "range"})
        for part in ([0, 2], ["a", "b"])
    ),
    ("speaker_similarity", {}, {}),
    *(
        ("speaker_similarity", {"order": order}, {"against": "turns"})
        for order in ("Ann", [], [0.5])
    ),
    ("transcript_constraints", {}, {}),
    ("transcript_constraints", {"constraint": ["rhymes", "a"]}, {}),
    ("transcript_constraints", {"constraint": {}, "order": [0]}, {}),
    ("transcript_constraints", {"constraint": {"1": ["start", "a"]}, "order": [0]}, {}),
    ("transcript_constraints", {"constraint": {"0": ["start", "a"]}}, {}),
    (
        "transcript_constraints",
        {"constraint": {"0": ["length_word", "many"]}, "order": [0]},
        {},
    ),
]
REFUSED: list[tuple[str, str, Sequence[Any]]] = [
    *(
        ("intensity", switch, [0])
        for switch in ("seconds", "distance", "margin", "frame", "hop")
    ),
    *(("silence_segments", switch, [0]) for switch in ("segments", "frame", "hop")),
    ("silence_segments", "top_db", [0.0, -40.0, float("nan")]),
    ("pitch_band", "gender", ["mail"]),
    ("pitch_band", "step", [0]),
    ("pitch_band", "edges", [1]),
    ("audio_quality", "hpss_margin", [0.9, 1001.0, float("nan")]),
    ("audio_quality", "final_power", [0.0, float("inf")]),
    ("audio_quality", "combination", ["mean"]),
]


@pytest.mark.parametrize(("metric", "labels", "switches"), ASKED)
def test_another_number_of_sounds_is_zero(
    metric: str, labels: dict[str, Any], switches: dict[str, Any]
) -> None:
    beside: dict[str, Any] = {"given": [tone(0.1)], "references": [tone(0.1)], **labels}
    for answer in ([], [tone(0.1), tone(0.2)], [DAMAGED]):
        score = score_of(
            load_metric(metric), sound_trial(*answer, **beside), **switches
        )
        assert score.value == 0
        assert "reason" in score.evidence
    assert (
        score_of(load_metric(metric), trial(None, metadata=labels), **switches).status
        == "unscored"
    )


@pytest.mark.parametrize(("metric", "labels", "switches"), UNFIT)
def test_labels_that_ask_for_nothing(
    metric: str, labels: dict[str, Any], switches: dict[str, Any]
) -> None:
    asked = sound_trial(tone(1), **labels)
    assert (
        score_of(load_metric(metric), asked, **switches).reason
        == bind(load_metric(metric), switches).sample_fault(asked.sample)
        != ""
    )


@pytest.mark.parametrize(("metric", "switch", "values"), REFUSED)
def test_a_value_outside_of_its_range_is_refused(
    metric: str, switch: str, values: Sequence[Any]
) -> None:
    for value in values:
        with pytest.raises(UsageError, match=switch):
            bind(load_metric(metric), {switch: value})
