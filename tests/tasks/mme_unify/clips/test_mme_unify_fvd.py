from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from mmeval.media import Interleaved, Media, media_part
from mmeval.metric import bind, loaded
from mmeval.metrics.image.networks.convolutions import squeezed
from mmeval.metrics.image.networks.resnet50 import (
    RESNET50,
    SIDE,
    resnet50,
    resnet50_features,
)
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.clips.frames import key_frames, pixels_of
from mmeval.tasks.mme_unify.clips.mme_unify_fvd import mme_unify_fvd
from mmeval.tasks.mme_unify.video import even_indices, feature_distance, video_score
from tests.support.models import tiny
from tests.support.pictures import DAMAGED, clip_of, greys, noise
from tests.support.trials import missing_weights, score_of

Scored = Callable[..., Score]
CLIP = clip_of([noise(40, 64, at) for at in range(20)])
OTHER = clip_of([noise(64, 64, 50 + at) for at in range(30)])


@pytest.fixture(scope="module")
def model() -> dict[str, str]:
    return tiny("resnet50", RESNET50)


@pytest.fixture
def scored(model: dict[str, str]) -> Scored:
    """Gives the score of a trial by a tiny model."""
    return partial(score_of, mme_unify_fvd, model=model)


def asked(*answer: Media, reference: Media | None = OTHER) -> Trial:
    references = (
        () if reference is None else (Interleaved((media_part(reference, "video"),)),)
    )
    parts = tuple(media_part(one, "video") for one in answer)
    return Trial(Sample("1", (), references), output=Interleaved(parts))


def test_it_is_the_squared_distance_of_the_mean_features_of_key_and_even_frames(
    model: dict[str, str],
    scored: Scored,
) -> None:
    from mmeval.media.decode import frames_at

    network = loaded(model, resnet50)
    key = [pixels_of(one) for one in key_frames(CLIP)]
    even = [frame.rgb for frame in frames_at(OTHER, even_indices(30, 16))]
    means = [
        np.mean(
            resnet50_features(network, [squeezed(one, SIDE) for one in side]), axis=0
        )
        for side in (key, even)
    ]
    distance = feature_distance(means[:1], means[1:])
    score = scored(asked(CLIP))
    assert score.evidence == {
        "distance": pytest.approx(distance, rel=1e-4),
        "frames": 16,
    }
    assert score.value == pytest.approx(video_score([distance])[0])
    assert scored(asked(CLIP, reference=CLIP)).value == pytest.approx(1.001, abs=0.01)


@pytest.mark.parametrize("count", [1, 20])
def test_a_short_clip_is_compared_by_as_many_frames(count: int, scored: Scored) -> None:
    score = scored(asked(clip_of(greys(*range(count)))))
    assert score.evidence["frames"] == min(count, 16)


@pytest.mark.parametrize(
    "answer",
    [(), (CLIP, CLIP), (DAMAGED,), (clip_of([], form="avi", codec="mpeg4"),)],
    ids=["none", "2", "bad", "0"],
)
def test_an_answer_without_a_clip_is_dropped_or_zero(
    answer: tuple[Media, ...], scored: Scored
) -> None:
    trial = asked(*answer)
    assert scored(trial).status == "inapplicable"
    zero = scored(trial, missing="zero")
    assert (zero.value, list(zero.evidence)) == (0, ["reason"])


@pytest.mark.parametrize("reference", [None, DAMAGED])
def test_a_fault_of_the_reference_is_unscored(reference: Any, scored: Scored) -> None:
    assert scored(asked(CLIP, reference=reference)).status == "unscored"


def test_without_weights_it_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", "/nowhere")
    assert "timm/resnet50.tv_in1k" in missing_weights(bind(mme_unify_fvd))
