"""MME-Unify: the distance of a clip's frames from a picture, by Inception-v3 (FID)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Media
from mmeval.media.decode import frames_at
from mmeval.metric import metric
from mmeval.metrics.image.networks.convolutions import squeezed
from mmeval.metrics.image.networks.inception_v3 import (
    INCEPTION_V3,
    INCEPTION_V3_NAME,
    SIDE,
    inception_v3,
    inception_v3_features,
)
from mmeval.metrics.image.pictures import input_picture, rgb
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

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels

_NETWORK = Network(inception_v3, inception_v3_features, SIDE)
Tvg = Literal["first_ref_frame", "none"]


@metric(
    range=RANGE,
    version="2",
    source="MME-Unify, section 3.2 and the released scripts",
    needs=NEEDS,
    profiles={"official": {"tvg_fid": "none"}},
)
def mme_unify_fid(
    trial: Trial,
    *,
    model: Annotated[str | Mapping[str, Any], INCEPTION_V3] = INCEPTION_V3_NAME,
    tvg_fid: Tvg = "first_ref_frame",
    missing: Missing = "dropped",
) -> Score:
    """A score for the distance of a clip's frames from the picture in the input.

    The score is 1 at the distance 1, 0 at 1000, linear and not clamped. Higher is
    better. The distance is the mean squared distance between the Inception-v3 features
    of up to 16 key frames and of the picture. It differs from the usual FID. Frames and
    picture are resized to 299 x 299 pixels. An answer without exactly one clip, or with
    a damaged clip, is left out of the mean. With ``missing: zero`` it scores 0, with
    the reason as evidence. Unscored if the picture cannot be decoded.

    ``tvg_fid`` applies to an input without a picture. The frames are compared with the
    first frame of the reference's clip (``first_ref_frame``), or the score is
    inapplicable (``none``), as in the released scripts. Evidence: the ``distance`` and
    the number of ``frames``.

    Not measured: motion, and what was requested in words.
    """

    def score(clip: Media) -> Score:
        anchor = input_picture(trial.sample)
        pixels: Callable[[Media], Pixels] = rgb
        if isinstance(anchor, Score):
            if tvg_fid == "none":
                return Score.inapplicable("the input has no picture to compare with")
            anchor, pixels = reference_clip(trial.sample), first_frame
            if isinstance(anchor, Score):
                return anchor
        answer = key_features(_NETWORK, model, clip)
        picture = anchor
        try:
            reference = features_of(
                _NETWORK,
                model,
                (picture.sha256,),
                lambda: [squeezed(pixels(picture), SIDE)],
            )
        except ContentError as error:
            return Score.unscored(str(error))
        distance = answer.distance(reference.mean) + answer.spread
        return distance_score(distance, answer.pictures)

    return scored_clip(trial, missing, score)


def first_frame(clip: Media) -> Pixels:
    """Returns the first frame of a clip. Raises CorruptMediaError if there is none."""
    for frame in frames_at(clip, [0]):
        return frame.rgb
    raise CorruptMediaError(f"{clip.label}: no frame can be decoded")
