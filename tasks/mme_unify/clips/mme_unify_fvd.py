"""MME-Unify: how near a clip is to the reference, by its frames to ResNet-50 (FVD)."""

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
    """What the distance of the answer's clip from the reference is worth: 1 at 1, 0 at
    1000, not cut at either end.

    Higher is better. The distance is the squared one of the mean features of frames to
    ResNet-50; the usual FVD is another. Up to 16 key frames of the answer are compared
    with as many even ones of the reference, each squeezed to 224 x 224 pixels. An
    answer that has not exactly one clip, or one that is damaged, stands in no
    mean, or with ``missing: zero`` is 0, with the reason as evidence. Unscored without
    the reference's clip, and where that cannot be decoded. Evidence: the ``distance``
    and the number of ``frames``.
    """

    def score(clip: Media) -> Score:
        reference = reference_clip(trial.sample)
        if isinstance(reference, Score):
            return reference
        found = key_features(_NETWORK, model, clip)
        try:
            wanted = features_of(
                _NETWORK,
                model,
                (reference.sha256, "even", found.pictures),
                lambda: even_frames(
                    reference, found.pictures, lambda pixels: squeezed(pixels, SIDE)
                ),
            )
        except ContentError as error:
            return Score.unscored(f"the reference: {error}")
        return distance_score(found.distance(wanted.mean), found.pictures)

    return scored_clip(trial, missing, score)
