"""Sounds and shapes that are not made on purpose: every one has numbers in range, or a
reason."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.media import Interleaved, media_part, wav
from mmeval.metrics.audio.audio_quality import audio_quality
from mmeval.metrics.three_d.quality_3d import quality_3d
from tests.support.shapes import off, ply, shown
from tests.support.sounds import Samples
from tests.support.trials import score_of, trial

KINDS = ["noise", "impulses", "constant", "steps", "square", "sparse"]


def made(kind: str, count: int, seed: int) -> Samples:
    rng, at = np.random.default_rng(seed), np.arange(count)
    kinds = {
        "noise": rng.uniform(-1, 1, count),
        "impulses": np.where(at % 97 == 0, 1.0, 0.0),
        "constant": np.ones(count),
        "steps": np.repeat(rng.uniform(-1, 1, count // 100 + 1), 100)[:count],
        "square": np.sign(np.sin(at * 0.05)),
        "sparse": np.where(rng.random(count) < 0.001, 1.0, 0.0),
    }
    return np.asarray(kinds[kind], np.float32)


@settings(max_examples=50)
@given(
    kind=st.sampled_from(KINDS),
    count=st.integers(1, 30000),
    gain=st.sampled_from([0.0, 1e-4, 1e-2, 0.9, 1.0]),
    rate=st.sampled_from([4000, 8000, 22050, 44100, 48000, 96000]),
    seed=st.integers(0, 999),
)
def test_every_sound_has_a_quality_or_a_reason(
    kind: str, count: int, gain: float, rate: int, seed: int
) -> None:
    sound = wav((gain * made(kind, count, seed)).astype(np.float32), rate)
    score = score_of(audio_quality, trial(Interleaved((media_part(sound, "audio"),))))
    json.dumps(score.to_json(), allow_nan=False)
    if score.status == "scored":
        assert score.value is not None and 0 <= score.value <= 1
    else:
        assert (score.status, "loudness" in score.reason) == ("unscored", True)


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("seed", range(15))
def test_any_file_has_a_quality_in_range_or_none(seed: int, profile: str) -> None:
    rng = np.random.default_rng(seed)
    points = np.round(rng.normal(size=(12, 3)) * seed) * 10.0 ** rng.integers(-30, 30)
    points[rng.random(12) < 0.02 * seed] = rng.choice([np.nan, np.inf, 0.0])
    faces = rng.integers(0, 12 + seed // 8, (rng.integers(1, 20), 3))
    files = off((points, faces)), ply(points, faces), ply(points)
    found: list[Any] = [
        score_of(quality_3d, shown(file), profile).evidence["items"][0]["quality"]
        for file in files
    ]
    assert all(each is None or 0 <= each <= 1 for each in found)
    assert profile == "official" or None not in found
