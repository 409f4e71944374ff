"""MME-Unify: the distance of a clip from the reference, by ResNet-50 (FVD)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from mmeval.errors import ContentError
from mmeval.media import Media
from mmeval.metric import metric
from mmeval.metrics.image.networks.convolutions import squeezed
from mmeval.metrics.image.networks.resnet50 import (
    RESNET50,
    RESNET50_NAME,
    SIDE,
    resnet50,
    resnet50_features,
)
from mmeval.metrics.produced import Missing
from mmeval.records import Score, Trial
from mmeval.tasks.mme_unify.clips.features import (
    NEEDS,
    RANGE,
    Network,
    distance_score,
    features_of,
    key_features,
    reference_clip,
    scored_clip,
)
from mmeval.tasks.mme_unify.clips.frames import even_frames

_NETWORK = Network(resnet50, resnet50_features, SIDE)


@metric(
    range=RANGE,
    version="2",
    source="MME-Unify, section 3.2 and the released scripts",
    needs=NEEDS,
)
def mme_unify_fvd(
    trial: Trial,
    *,
    model: Annotated[str | Mapping[str, Any], RESNET50] = RESNET50_NAME,
    missing: Missing = "dropped",
) -> Score:
    """A score for the distance of the answer's clip from the reference's clip.

    The score is 1 at the distance 1, 0 at 1000, linear and not clamped. Higher is
    better. The distance is the squared distance between the mean ResNet-50 features of
    frames. It differs from the usual FVD. Up to 16 key frames of the answer are
    compared with the same number of evenly spaced frames of the reference, each resized
    to 224 x 224 pixels. An answer without exactly one clip, or with a damaged clip, is
    left out of the mean. With ``missing: zero`` it scores 0, with the reason as
    evidence. Unscored if the reference's clip is missing or cannot be decoded.
    Evidence: the ``distance`` and the number of ``frames``.

    Not measured: motion. A mean over frames ignores their order.
    """

    def score(clip: Media) -> Score:
        reference = reference_clip(trial.sample)
        if isinstance(reference, Score):
            return reference
        answer = key_features(_NETWORK, model, clip)
        try:
            target = features_of(
                _NETWORK,
                model,
                (reference.sha256, "even", answer.pictures),
                lambda: even_frames(
                    reference, answer.pictures, lambda pixels: squeezed(pixels, SIDE)
                ),
            )
        except ContentError as error:
            return Score.unscored(f"the reference: {error}")
        return distance_score(answer.distance(target.mean), answer.pictures)

    return scored_clip(trial, missing, score)
