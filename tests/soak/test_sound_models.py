"""The whole path of the audio metrics that ask a model as well, on tiny random models of the real classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from mmeval.metric import Metric
from mmeval.metric.apply import score_all
from mmeval.metric.bound import BoundMetric, bind
from mmeval.metrics.audio.music.tempo import tempo
from mmeval.metrics.audio.speech.pitch_band import pitch_band
from mmeval.metrics.audio.speech.speech_rate import speech_rate
from mmeval.records import Score, Trial
from tests.support.sounds import heard, pulses, tone, voice
from tests.support.tiny_models import tiny_model

LABELS = {"tempo": 120, "pitch": "high", "speed": "low"}
MODELS: Mapping[str, tuple[Metric, Mapping[str, str]]] = {
    "tempo": (tempo, {"model": "beat_this"}),
    "pitch_band": (pitch_band, {"model": "wav2vec2_gender"}),
    "speech_rate": (speech_rate, {"model": "whisper", "processor": "whisper"}),
}


@pytest.fixture(params=MODELS)
def bound(request: pytest.FixtureRequest) -> BoundMetric:
    metric, models = MODELS[request.param]
    return bind(metric, {switch: str(tiny_model(name)) for switch, name in models.items()})


def trials() -> list[Trial]:
    sounds = (pulses(6, (1, 1)), tone(0.3), voice(120, 3), voice(220, 1))
    return [*(heard(sound, metadata=LABELS) for sound in sounds), heard(text="no sound", metadata=LABELS)]


def scores(bound: BoundMetric, given: list[Trial]) -> list[Score]:
    return [found[bound.name] for found in score_all(bound, given)]


def test_every_sound_is_scored_and_alone_as_among_others(bound: BoundMetric) -> None:
    together = scores(bound, trials())

    assert [score.status for score in together] == ["scored"] * 5
    assert all(score.value is not None and 0 <= score.value <= 1 for score in together)
    assert together == [scores(bound, [trial])[0] for trial in trials()]
    numbers: list[Any] = [n for score in together for n in score.evidence.values() if isinstance(n, float)]
    assert numbers and all(map(math.isfinite, numbers))


@pytest.mark.parametrize("name", MODELS)
def test_without_its_model_the_metric_is_unavailable_which_is_said_before_the_run(name: str) -> None:
    metric, models = MODELS[name]
    bound = bind(metric, dict.fromkeys(models, "somebody/nothing"))

    assert "somebody/nothing" in bound.without_models()


@pytest.mark.parametrize(
    ("metric", "switches"), [(pitch_band, {"gender": "female"}), (speech_rate, {"source": "text"})], ids=lambda v: ""
)
def test_a_switch_that_makes_the_model_unnecessary_makes_it_available(metric: Metric, switches: dict[str, str]) -> None:
    assert bind(metric, switches).without_models() == ""
