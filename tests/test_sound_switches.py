"""Every switch of the audio metrics that programs compute: its documented value, and that it matters.

A threshold that changes, or that a metric no longer looks at, fails a test here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from mmeval.metric import Metric
from mmeval.metrics.audio import pitch_band as pitch_module
from mmeval.metrics.audio import speech_rate as rate_module
from mmeval.metrics.audio import tempo as tempo_module
from mmeval.metrics.audio.intensity import intensity
from mmeval.metrics.audio.pitch_band import pitch_band
from mmeval.metrics.audio.silence_segments import silence_segments
from mmeval.metrics.audio.speech_rate import speech_rate
from mmeval.metrics.audio.tempo import tempo
from mmeval.metrics.audio.voices import Gender, Heard
from mmeval.records import Score, Trial
from tests.support.sounds import alternating, heard, pulses, silence, tone, voice
from tests.support.trials import score_of

MODELS = ("model", "processor")

DOCUMENTED: Mapping[str, tuple[Metric, Mapping[str, Any]]] = {
    "silence_segments": (silence_segments, {"segments": 2, "gap": 1.0, "top_db": 40.0, "frame": 2048, "hop": 512}),
    "intensity": (
        intensity,
        {
            "key": "intensity",
            "steepness": 0.18,
            "error": 0.04,
            "seconds": 4,
            "distance": 4,
            "margin": 5,
            "top_db": 60.0,
            "frame": 2048,
            "hop": 512,
            "short_end": "nothing",
        },
    ),
    "tempo": (tempo, {"key": "tempo", "tolerance": 5.0, "top_db": 60.0}),
    "pitch_band": (
        pitch_band,
        {
            "key": "pitch",
            "gender": "",
            "seconds": 5.0,
            "male_class": 1,
            "male_low": 140.0,
            "male_high": 182.0,
            "female_low": 236.0,
            "female_high": 278.0,
            "floor": 80.0,
            "ceiling": 600.0,
            "intensity_floor": 80.0,
            "step": 256,
            "edges": 100,
        },
    ),
    "speech_rate": (
        speech_rate,
        {
            "key": "speed",
            "source": "transcript",
            "language": "english",
            "words_low": 156.0,
            "words_high": 180.0,
            "characters_low": 232.0,
            "characters_high": 272.0,
            "top_db": 60.0,
        },
    ),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_switches_have_the_values_that_the_documentation_gives(name: str) -> None:
    metric, documented = DOCUMENTED[name]

    assert {switch: value for switch, value in metric.switches.items() if switch not in MODELS} == documented


class Change(NamedTuple):
    """A trial whose score is another one when a switch has another value."""

    metric: Metric
    switch: str
    value: Any
    trial: Callable[[], Trial]
    given: Mapping[str, Any] = {}


def paused() -> Trial:
    return heard(alternating(1, 1.5, 1))


def wavering() -> Trial:
    """A pause with a murmur in it, of 50 decibels below the rest, and a click at the end."""
    parts = [tone(1), silence(1.5), tone(0.3) * 10**-2.5, silence(1.5), tone(1)]
    return heard(np.concatenate(parts).astype(np.float32))


def rising(seconds: float = 10, edge: str = "start", **labels: Any) -> Trial:
    sound = pulses(seconds, (0.02, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 1))
    padded = np.concatenate([tone(0.4) * np.float32(10**-2.25), sound, silence(1)]).astype(np.float32)
    return heard(padded, metadata={"intensity": [edge, "fade in"], **labels})


def beating() -> Trial:
    padded = np.concatenate([tone(3) * 10**-2.5, tone(10)]).astype(np.float32)
    return heard(padded, metadata={"tempo": 94, "pace": 200})


def low_voice() -> Trial:
    glide = np.concatenate([voice(hertz, 0.3) * np.float32(loud) for hertz, loud in ((112, 1), (114, 0.9), (560, 0.5))])
    return heard(glide, metadata={"pitch": "low", "tone": "high"})


def high_voice() -> Trial:
    return heard(voice(180), metadata={"pitch": "high"})


def fast() -> Trial:
    padded = np.concatenate([tone(0.5) * 10**-2.5, tone(5)]).astype(np.float32)
    return heard(padded, text=" ".join(["lake"] * 15), metadata={"speed": "high", "pace": "low"})


def fast_chinese() -> Trial:
    return heard(tone(5), text="湖" * 21, metadata={"speed": "high"})


TEXT, CHINESE = {"source": "text"}, {"source": "text", "language": "chinese"}
MALE = {"gender": "male"}
CHANGES = [
    Change(silence_segments, "segments", 3, paused),
    Change(silence_segments, "gap", 1.6, paused),
    Change(silence_segments, "top_db", 55, wavering),
    Change(silence_segments, "frame", 4096, paused),
    Change(silence_segments, "hop", 256, paused),
    Change(intensity, "key", "wanted", lambda: rising(wanted=["end", "fade out"])),
    Change(intensity, "steepness", 0.3, rising),
    Change(intensity, "error", 0.004, rising),
    Change(intensity, "seconds", 3, rising),
    Change(intensity, "distance", 12, rising),
    Change(intensity, "margin", 1, rising),
    Change(intensity, "top_db", 40, rising),
    Change(intensity, "frame", 1024, rising),
    Change(intensity, "hop", 256, rising),
    Change(intensity, "short_end", "whole", lambda: rising(1.5, "end"), {"top_db": 30}),
    Change(tempo, "key", "pace", beating),
    Change(tempo, "tolerance", 1, beating),
    Change(tempo, "top_db", 30, beating),
    Change(pitch_band, "key", "tone", low_voice),
    Change(pitch_band, "gender", "female", low_voice),
    Change(pitch_band, "seconds", 2, low_voice),
    Change(pitch_band, "male_class", 0, low_voice),
    Change(pitch_band, "male_low", 150, low_voice, MALE),
    Change(pitch_band, "male_high", 190, low_voice, MALE),
    Change(pitch_band, "female_low", 240, high_voice, {"gender": "female"}),
    Change(pitch_band, "female_high", 300, high_voice, {"gender": "female"}),
    Change(pitch_band, "floor", 200, low_voice, MALE),
    Change(pitch_band, "ceiling", 500, low_voice, MALE),
    Change(pitch_band, "intensity_floor", 400, low_voice, MALE),
    Change(pitch_band, "step", 512, low_voice, MALE),
    Change(pitch_band, "edges", 1000, low_voice, MALE),
    Change(speech_rate, "key", "pace", fast, TEXT),
    Change(speech_rate, "source", "text", fast),
    Change(speech_rate, "language", "chinese", fast, TEXT),
    Change(speech_rate, "words_low", 140, fast, TEXT),
    Change(speech_rate, "words_high", 190, fast, TEXT),
    Change(speech_rate, "characters_low", 240, fast_chinese, CHINESE),
    Change(speech_rate, "characters_high", 300, fast_chinese, CHINESE),
    Change(speech_rate, "top_db", 30, fast, TEXT),
]


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins: they hear two beats a second, a man's voice within five seconds, and one word."""
    genders: dict[tuple[float, int], Gender] = {(5.0, 1): "male", (2, 1): "female", (5.0, 0): "female"}
    monkeypatch.setattr(tempo_module, "beats", lambda clip, model: [0.0] * 20)
    monkeypatch.setattr(rate_module, "transcripts_of", lambda sounds, *rest: ["lake"] * len(sounds))
    monkeypatch.setattr(
        pitch_module,
        "genders_of",
        lambda sounds, model, *, seconds, male_class: [Heard(genders[seconds, male_class], 1.0) for _ in sounds],
    )


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.metric.name}-{change.switch}")
def test_another_value_of_a_switch_is_another_score(change: Change) -> None:
    before = score_of(change.metric, change.trial(), **change.given)
    after = score_of(change.metric, change.trial(), **{**change.given, change.switch: change.value})

    assert (before.status, after.status) == ("scored", "scored")
    assert said(before) != said(after)


def said(score: Score) -> tuple[float | None, Mapping[str, Any]]:
    return score.value, score.evidence


@pytest.mark.parametrize("name", DOCUMENTED)
def test_no_switch_is_forgotten(name: str) -> None:
    metric, documented = DOCUMENTED[name]

    assert {change.switch for change in CHANGES if change.metric is metric} == set(documented)
