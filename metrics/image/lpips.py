"""LPIPS: how similar pictures look to people, predicted by AlexNet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mmeval.media import Media
from mmeval.metric import loaded, metric
from mmeval.metrics.image.networks.lpips_network import (
    LPIPS,
    LPIPS_NAME,
    SMALLEST,
    lpips_distances,
    lpips_network,
)
from mmeval.metrics.image.pictures import data_pixels, pairs_of, produced
from mmeval.metrics.image.psnr import other_size
from mmeval.metrics.image.smaller import Size, at_smaller_size, smaller_size
from mmeval.metrics.models import bound
from mmeval.metrics.produced import Missing, counted, wrong
from mmeval.records import Score, Trial

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels

_AT_ONCE, _PIXELS = 16, 2**20
"""Maximum number of pairs in a batch, and of pixels in the first pictures of these
pairs. In larger batches each pair takes longer."""


@metric(
    range=(-math.inf, 1),
    version="2",
    source="Zhang et al., LPIPS (CVPR 2018), version 0.1; MME-Unify, fine-grained "
    "image reconstruction",
    needs=("torch:hf",),
    batch=16,
)
def lpips(
    trials: Sequence[Trial],
    *,
    model: Annotated[str | Mapping[str, Any], LPIPS] = LPIPS_NAME,
    size: Size = "own",
    lpips_range: Literal["standard", "official"] = "standard",
    missing: Missing = "zero",
) -> list[Score]:
    """How similar the answer's and reference's pictures look to people, in order.

    The value is 1 minus LPIPS's distance, averaged over pairs. Range up to 1, higher is
    better: 1 for the same picture, below 0 for very different pictures. An answer
    scores 0, with the ``reason`` as evidence, if it has another number of pictures, or
    a picture that is damaged or has a side below 31 pixels. Only the first reference is
    used. Unscored if it has no picture, or if one cannot be decoded or is too small.

    The released networks are computed without the package ``lpips``. The results are
    the same, except that the last digits may differ in a batch.

    Not measured: meaning. A shifted or rotated picture of the same thing differs.

    Switches:

    - ``model``: a folder (about 0.2 GB) with ``alexnet-owt-7be5be79.pth`` of
      torchvision's model zoo, and ``alex.pth`` of
      github.com/richzhang/PerceptualSimilarity (lpips/weights/v0.1).
    - ``size``: two pictures of different sizes are wrong (``own``), or both are resized
      to the smaller height and width (``smaller``), as in ``image_similarity``.
    - ``lpips_range``: the network receives numbers from -1 to 1, as it expects
      (``standard``), or from 0 to 1, as in MME-Unify's script (``official``).
    - ``missing``: an answer without the right pictures scores 0 (``zero``) or is
      inapplicable (``dropped``).

    Evidence: the distance of each pair.
    """
    pairs_of_trials = [_pairs(trial, size) for trial in trials]
    all_pairs: list[_Pair] = []
    for pairs in pairs_of_trials:
        if not isinstance(pairs, Score):
            all_pairs += pairs
    distances_of_pairs = iter(
        _distances(all_pairs, model, signed=lpips_range == "standard")
    )
    scores: list[Score] = []
    for pairs in pairs_of_trials:
        if isinstance(pairs, Score):
            scores.append(pairs)
        else:
            distances = [next(distances_of_pairs) for _ in pairs]
            value = 1 - sum(distances) / len(distances)
            scores.append(Score(value, evidence={"distances": distances}))
    return [counted(score, missing) for score in scores]


_Pair = tuple["Pixels", "Pixels"]


def _pairs(trial: Trial, size: Size) -> list[_Pair] | Score:
    """Returns the pixels of each pair of pictures, or the score if there are none."""
    media = pairs_of(trial)
    if isinstance(media, Score):
        return media
    pairs: list[_Pair] = []
    for answer, reference in media:
        pair = _pair(answer, reference, size)
        if isinstance(pair, Score):
            return pair
        pairs.append(pair)
    return pairs


def _pair(
    answer_media: Media,
    reference_media: Media,
    size: Size,
) -> _Pair | Score:
    reference = data_pixels(reference_media)
    if isinstance(reference, Score):
        return reference
    if min(reference.shape[:2]) < SMALLEST:
        return Score.unscored(
            f"a picture of the reference has a side below {SMALLEST} pixels"
        )
    answer = produced(answer_media)
    if isinstance(answer, Score):
        return answer
    if min(answer.shape[:2]) < SMALLEST:
        return wrong(f"a picture of the answer has a side below {SMALLEST} pixels")
    if size == "own" and answer.shape != reference.shape:
        return wrong(other_size(answer, reference))
    return answer, reference


def _distances(
    pairs: Sequence[_Pair], model: str | Mapping[str, Any], *, signed: bool
) -> list[float]:
    """Returns the distance of each pair.

    Pairs of the same size go through the network together.
    """
    distances_of_pairs = [0.0] * len(pairs)
    by_size: dict[tuple[int, int], list[int]] = {}
    for index, pair in enumerate(pairs):
        by_size.setdefault(smaller_size(*pair), []).append(index)
    for (height, width), places in sorted(by_size.items()):
        step = max(1, min(_AT_ONCE, _PIXELS // (height * width)))
        for start in range(0, len(places), step):
            batch = places[start : start + step]
            network = loaded(bound(model), lpips_network)
            sides = [at_smaller_size(*pairs[index]) for index in batch]
            distances = lpips_distances(network, sides, signed=signed)
            for index, distance in zip(batch, distances, strict=True):
                distances_of_pairs[index] = distance
    return distances_of_pairs
