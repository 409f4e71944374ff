from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmeval.metrics.audio.clap import (
    CLAP,
    _encoder,
    clap_similarity,
    embeddings,
    nearest_mean,
)
from tests.support.models import tiny, tiny_model
from tests.support.sounds import DAMAGED, Samples, silence, sound_trial, tone
from tests.support.trials import score_of


@cache
def clap() -> dict[str, str]:
    return tiny("clap", CLAP)


def embedded(*clips: Samples) -> np.ndarray[Any, Any]:
    return embeddings(clips, clap())


def test_an_embedding_has_length_one_and_its_clip_decides_it() -> None:
    low, high, again = embedded(tone(2, 300), tone(2, 3000), tone(2, 300))
    assert np.linalg.norm([low, high], axis=1) == pytest.approx([1, 1])
    assert low @ again == pytest.approx(1) and low @ high < 0.9999
    assert len(embedded()) == 0
    short = tone(2)
    found = embedded(short, np.concatenate([short, silence(8)]), np.tile(short, 5))
    assert found[0] == pytest.approx(found[1], abs=1e-3)
    assert found[0] != pytest.approx(found[2], abs=1e-3)
    sweep = np.concatenate([tone(1, 200 * at) for at in range(1, 31)])
    first, second = (embedded(sweep) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert not np.allclose(first, embedded(sweep[22050:]), atol=1e-4)


@pytest.mark.parametrize("clip", [tone(0), silence(3), tone(25)], ids=len)
def test_a_clip_of_any_length_has_an_embedding_and_always_the_same(
    clip: Samples,
) -> None:
    alone = embedded(clip)[0]
    assert np.isfinite(alone).all()
    assert embedded(tone(1), clip, tone(12, 900))[1] == pytest.approx(alone, abs=1e-5)


def test_a_model_with_feature_fusion_is_refused(tmp_path: Path) -> None:
    source = tiny_model("clap")
    for name in ("model.safetensors", "preprocessor_config.json"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    config = (
        (source / "config.json")
        .read_text()
        .replace('"enable_fusion": false', '"enable_fusion": true')
    )
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(Exception, match="feature fusion"):
        _encoder(tmp_path, "cpu")


def test_the_largest_cosines_are_averaged_and_without_any_it_is_unscored() -> None:
    references = np.array([[-0.8, 0.6], [0.6, 0.8], [1.0, 0.0], [0.0, 1.0]], np.float32)
    means = {1: 1.0, 2: 0.8, 10: 0.2}
    east = np.array([1.0, 0.0], np.float32)
    assert {
        nearest: nearest_mean(east, references, nearest) for nearest in means
    } == pytest.approx(means)
    asked = sound_trial(tone(1), references=[tone(1, 200), tone(1, 900), tone(1, 3000)])
    score = score_of(clap_similarity, asked, model=clap(), nearest=2)
    nearest_two = sorted(score.evidence["cosines"])[-2:]
    assert score.value == pytest.approx(np.mean(nearest_two), abs=1e-6)
    for lost in (sound_trial(tone(1)), sound_trial(tone(1), references=[DAMAGED])):
        assert score_of(clap_similarity, lost, model=clap()).status == "unscored"
