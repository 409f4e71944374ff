from pathlib import Path

import numpy as np

from mmeval.media import Interleaved, media_part
from mmeval.metrics.image.networks.resnet50 import (
    RESNET50,
    SIDE,
    resnet50,
    resnet50_features,
)
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.clips.features import (
    Features,
    Network,
    distance_score,
    features_of,
    reference_clip,
    scored_clip,
)
from mmeval.tasks.mme_unify.video import feature_distance
from tests.support.models import tiny
from tests.support.pictures import clip_of, greys, noise, shown

NETWORK = Network(resnet50, resnet50_features, SIDE)
CLIP = clip_of(greys(1, 2, 3))


def test_features_of_many_pictures_are_seen_in_batches_and_once_in_a_process() -> None:
    model, made = tiny("resnet50", RESNET50), []
    pictures = [noise(SIDE, SIDE, at) for at in range(18)]

    def make() -> list[np.ndarray]:
        made.append(1)
        return pictures

    found = features_of(NETWORK, model, ("some", 18), make)
    again = features_of(NETWORK, model, ("some", 18), make)
    assert (len(made), again is found, found.pictures) == (1, True, 18)
    table = np.stack(
        resnet50_features(resnet50(Path(model["folder"]), "cpu"), pictures)
    )
    np.testing.assert_allclose(found.mean, table.mean(0), atol=1e-5)
    one = table[:1] * 2
    apart = [
        feature_distance(one.tolist(), table[at : at + 1].tolist()) for at in range(18)
    ]
    np.testing.assert_allclose(
        found.distance(one[0]) + found.spread, np.mean(apart), rtol=1e-4
    )


def test_a_distance_is_worth_its_score() -> None:
    score = distance_score(
        Features(np.array([3.0, 4.0]), 0, 2).distance(np.zeros(2)), 2
    )
    assert (score.value, score.evidence) == (
        1 - 24 / 999,
        {"distance": 25, "frames": 2},
    )


def test_an_answer_has_exactly_one_clip() -> None:
    for answer in (shown(), shown(noise(8, 8)), Interleaved((media_part(CLIP),) * 2)):
        trial = Trial(Sample("1", ()), output=answer)
        assert (
            scored_clip(trial, "dropped", lambda _: Score(1.0)).status == "inapplicable"
        )
        assert scored_clip(trial, "zero", lambda _: Score(1.0)).value == 0
    assert (
        scored_clip(Trial(Sample("1", ())), "dropped", lambda _: Score(1.0)).status
        == "unscored"
    )
    alone = Trial(Sample("1", ()), output=Interleaved((media_part(CLIP),)))
    assert (
        scored_clip(alone, "dropped", lambda clip: Score(float(clip is CLIP))).value
        == 1
    )


def test_the_reference_is_the_first_clip_of_the_first_one() -> None:
    assert reference_clip(Sample("1", (), (Interleaved((media_part(CLIP),)),))) is CLIP
    for bare in (Sample("1", ()), Sample("1", (), (shown(noise(8, 8)),))):
        assert isinstance(reference_clip(bare), Score)
