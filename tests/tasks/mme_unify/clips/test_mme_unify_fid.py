from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from mmeval.media import Interleaved, Media, media_part
from mmeval.media.decode import frames_at
from mmeval.metric import loaded
from mmeval.metrics.image.networks.convolutions import squeezed
from mmeval.metrics.image.networks.inception_v3 import (
    INCEPTION_V3,
    SIDE,
    inception_v3,
    inception_v3_features,
)
from mmeval.records import Sample, Score, Trial, user
from mmeval.tasks.mme_unify.clips.frames import key_frames, pixels_of
from mmeval.tasks.mme_unify.clips.mme_unify_fid import mme_unify_fid
from mmeval.tasks.mme_unify.video import feature_distance, video_score
from tests.support.models import tiny
from tests.support.pictures import DAMAGED, clip_of, greys, medium, noise
from tests.support.trials import score_of

Scored = Callable[..., Score]
CLIP, OTHER = clip_of([noise(40, 64, at) for at in range(5)]), clip_of(greys(*range(9)))
PICTURE = noise(50, 70, 9)


@pytest.fixture(scope="module")
def model() -> dict[str, str]:
    return tiny("inception_v3", INCEPTION_V3)


@pytest.fixture
def scored(model: dict[str, str]) -> Scored:
    """Gives the score of a trial by a tiny model."""
    return partial(score_of, mme_unify_fid, model=model)


def asked(
    *answer: Media, given: Media | None = None, reference: Media | None = OTHER
) -> Trial:
    references = (
        () if reference is None else (Interleaved((media_part(reference, "video"),)),)
    )
    parts = tuple(media_part(one, "video") for one in answer)
    given_parts = ("go on", *(() if given is None else (media_part(given, "image"),)))
    return Trial(
        Sample("1", (user(*given_parts),), references), output=Interleaved(parts)
    )


def distance_of(model: dict[str, str], picture: Any) -> float:
    """The mean over key frames of the squared distance from a picture."""
    network = loaded(model, inception_v3)
    pictures = [
        squeezed(one, SIDE) for one in (picture, *map(pixels_of, key_frames(CLIP)))
    ]
    anchor, *frames = inception_v3_features(network, pictures)
    return float(np.mean([feature_distance([anchor], [one]) for one in frames]))


def test_it_is_the_mean_squared_distance_of_frames_from_the_inputs_picture(
    model: dict[str, str],
    scored: Scored,
) -> None:
    score = scored(asked(CLIP, given=medium(PICTURE)))
    distance = distance_of(model, PICTURE)
    assert score.evidence == {
        "distance": pytest.approx(distance, rel=1e-3),
        "frames": 5,
    }
    assert score.value == pytest.approx(video_score([distance])[0], abs=1e-6)


def test_without_one_they_are_compared_with_the_references_first_frame_or_not_at_all(
    model: dict[str, str],
    scored: Scored,
) -> None:
    (first,) = frames_at(OTHER, [0])
    score = scored(asked(CLIP))
    assert score.evidence["distance"] == pytest.approx(
        distance_of(model, first.rgb), rel=1e-3
    )
    assert scored(asked(CLIP), "official").status == "inapplicable"
    both = asked(CLIP, given=medium(PICTURE))
    assert scored(both, "official") == scored(both)


def test_a_damaged_clip_is_dropped_or_zero(scored: Scored) -> None:
    trial = asked(DAMAGED, given=medium(PICTURE))
    assert scored(trial).status == "inapplicable"
    zero = scored(trial, missing="zero")
    assert (zero.value, list(zero.evidence)) == (0, ["reason"])


@pytest.mark.parametrize(
    "given",
    [{"given": DAMAGED}, {"reference": None}, {"reference": DAMAGED}],
    ids=["picture", "none", "clip"],
)
def test_a_fault_of_the_data_is_unscored(given: dict[str, Any], scored: Scored) -> None:
    assert scored(asked(CLIP, **given)).status == "unscored"
