"""Computes the features of a clip's frames, and scores the distance of features."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.errors import ContentError
from mmeval.media import Media
from mmeval.metric import loaded
from mmeval.metrics.image.networks.convolutions import AT_ONCE, Layers, squeezed
from mmeval.metrics.image.networks.vector_memory import embedded_once
from mmeval.metrics.models import bound
from mmeval.metrics.produced import (
    Missing,
    counted,
    media_of,
    the_only_medium,
    undecodable,
)
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.clips.frames import key_frames, pixels_of
from mmeval.tasks.mme_unify.video import BEST, WORST, video_score

if TYPE_CHECKING:
    from mmeval.metrics.image.networks.vector_memory import Vector
    from mmeval.metrics.image.pictures import Pixels

RANGE = (float("-inf"), WORST / (WORST - BEST))
"""The range of the score of a distance, which is at least 0."""
NEEDS = ("av:video", "torch:hf", "safetensors:hf")
Model = str | Mapping[str, Any]


class Network(NamedTuple):
    """A convolutional network.

    ``load`` loads it. ``features`` computes features of pictures, and ``side`` is the
    width and height of these pictures in pixels.
    """

    load: Callable[[Path, str], Layers]
    features: Callable[[Layers, Sequence[Pixels]], list[Vector]]
    side: int


class Features(NamedTuple):
    """The mean features of pictures, and the mean squared distance from this mean."""

    mean: Vector
    spread: float
    pictures: int

    def distance(self, other: Vector) -> float:
        """Returns the squared distance between the mean features and other features."""
        import numpy as np

        return float(np.square(self.mean - other).sum())


def features_of(
    network: Network,
    model: Model,
    key: tuple[Hashable, ...],
    pictures: Callable[[], Sequence[Pixels]],
) -> Features:
    """Computes the features of pictures, once per process.

    The pictures have a width and height of ``side`` pixels. ``key`` identifies them.
    ``pictures`` is only called if the features are not known yet.
    """

    def features(_: object) -> list[Features]:
        import numpy as np

        layers = loaded(settings, network.load)
        images = pictures()
        rows: list[Vector] = []
        for start in range(0, len(images), AT_ONCE):
            rows += network.features(layers, images[start : start + AT_ONCE])
        table = np.stack(rows).astype(np.float64)
        mean = table.mean(0)
        distances = np.square(table - mean).sum(1)
        return [Features(mean, float(distances.mean()), len(rows))]

    settings = bound(model)
    full_key = (settings["fingerprint"], network.load, *key)
    return embedded_once([full_key], features)[0]


def key_features(
    network: Network,
    model: Model,
    clip: Media,
) -> Features:
    """Computes the features of a clip's key frames."""
    return features_of(
        network,
        model,
        (clip.sha256, "key"),
        lambda: [squeezed(pixels_of(jpeg), network.side) for jpeg in key_frames(clip)],
    )


def reference_clip(sample: Sample) -> Media | Score:
    """Returns the first clip of the first reference, or an unscored score."""
    for reference in sample.references[:1]:
        for clip in media_of(reference, "video"):
            return clip
    return Score.unscored("the sample has no reference with a clip")


def scored_clip(
    trial: Trial, missing: Missing, score: Callable[[Media], Score]
) -> Score:
    """Scores an answer's only clip.

    The switch ``missing`` decides how an answer without exactly one clip is scored.
    """
    clip = the_only_medium(trial, "video", "clips")
    if isinstance(clip, Score):
        return counted(clip, missing)
    try:
        return score(clip)
    except ContentError as error:
        return counted(undecodable(clip, error), missing)


def distance_score(distance: float, frames: int) -> Score:
    evidence = {"distance": distance, "frames": frames}
    return Score(video_score([distance])[0], evidence=evidence)
