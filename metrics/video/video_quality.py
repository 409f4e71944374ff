"""The quality of videos according to DOVER, with weights that the user provides."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from mmeval.media import Media
from mmeval.metric import HubModel, WeightsError, loaded, metric
from mmeval.metrics.models import bound, opening
from mmeval.metrics.quality.items import ItemScore, Unreadable, quality_of_media
from mmeval.metrics.video.views import Views, views_of
from mmeval.records import Score, Trial
from mmeval.system import need

NETWORK = "dover.pt"
DOVER = HubModel(
    (NETWORK,),
    by_hand="mmeval ls metrics video_quality says how to get it",
)
DOVER_NAME = "VQAssessment/DOVER"


class DoverBranch(NamedTuple):
    """A branch's weight, and the mean and spread of its scores.

    The mean and the spread are those on the videos used for the fit.
    """

    weight: float
    mean: float
    spread: float

    def share(self, score: float) -> float:
        return self.weight * (score - self.mean) / self.spread


# The numbers of DOVER's released fusion.
TECHNICAL = DoverBranch(0.6104, 0.1107, 0.07355)
AESTHETIC = DoverBranch(0.3896, -0.08285, 0.03774)


def fused(technical: float, aesthetic: float) -> float:
    """Computes the overall quality from 0 to 1 from the scores of both branches."""
    x = TECHNICAL.share(technical) + AESTHETIC.share(aesthetic)
    return (1 + math.tanh(x / 2)) / 2  # the logistic function of x, without overflow


@metric(
    range=(0, 1),
    version="2",
    source="UniM, section 4.1 and appendix (videos): DOVER; official: released quality "
    "scorer",
    needs=("av:video", "torch:hf"),
    profiles={"official": {"unreadable": "unscored"}},
    batch=4,
    reference_free=True,
    caution="It measures how good videos look, not whether they show what was "
    "requested.",
    looks_at="video",
)
def video_quality(
    trials: Sequence[Trial],
    *,
    model: Annotated[str | Mapping[str, Any], DOVER] = DOVER_NAME,
    unreadable: Unreadable = "zero",
    seed: int = 0,
) -> list[Score]:
    """The mean quality of the answer's videos according to DOVER's two branches.

    Range 0 to 1, higher is better. The technical branch sees 7 x 7 fragments of 32 x 32
    pixels in three clips of 32 frames. The aesthetic branch sees 32 whole frames of 224
    x 224 pixels. A video that is too short is repeated from its start, and a video with
    a side below 224 pixels is enlarged. A video that is missing or damaged scores 0. If
    a video exceeds the limits of decoding, the answer is unscored. The metric is
    inapplicable without a video.

    The metric ignores the sound and all other frames. It does not check if the video
    shows what was requested.

    Switches:

    - ``model``: a folder with ``dover.pt``, a TorchScript module of both branches,
      traced with the code of github.com/VQAssessment/DOVER. Its inputs are the
      technical view (3, 3, 32, 224, 224) and the aesthetic view (1, 3, 32, 224, 224),
      both normalised, with the axes (clips, colours, frames, rows, columns). The module
      returns the scores of both branches, and their means are used. Without this file
      the metric is unavailable.
    - ``unreadable``: a missing or damaged file scores 0 (``zero``) or gets no quality
      (``unscored``).
    - ``seed``: selects the frames, together with the video's content.

    Evidence: the mean of each branch.
    """

    def item_score(media: Media) -> ItemScore:
        technical, aesthetic = branch_means(bound(model), views_of(media, seed=seed))
        evidence = {"technical": technical, "aesthetic": aesthetic}
        return ItemScore(fused(technical, aesthetic), evidence)

    scores: list[Score] = []
    for trial in trials:
        scores.append(
            quality_of_media(trial, "video", item_score, unreadable=unreadable)
        )
    return scores


class _DoverNetwork(NamedTuple):
    """A torch module (torch is untyped here), with its folder and device."""

    module: Any
    folder: Path
    device: str


def branch_means(model: Mapping[str, Any], views: Views) -> tuple[float, float]:
    """Returns the mean score of each branch.

    Raises WeightsError unless there are two branches.
    """
    torch = need("torch", "hf")
    network = loaded(model, _dover_network)
    with opening(network.folder), torch.inference_mode():
        inputs = [torch.from_numpy(view).to(network.device) for view in views]
        outputs = network.module(*inputs)
    is_pair = isinstance(outputs, tuple | list) and len(outputs) == 2
    if not is_pair or not all(map(torch.is_tensor, outputs)):
        raise WeightsError(
            network.folder,
            f"cannot be used: {NETWORK} does not return the scores of two branches",
        )
    technical, aesthetic = (float(scores.float().mean()) for scores in outputs)
    if not math.isfinite(technical + aesthetic):
        raise WeightsError(
            network.folder,
            f"cannot be used: {NETWORK} returns a value that is not a number",
        )
    return technical, aesthetic


def _dover_network(folder: Path, device: str) -> _DoverNetwork:
    torch = need("torch", "hf")
    # The format has a successor, but the successor needs the network's code in addition
    # to its weights.
    with (
        opening(folder),
        warnings.catch_warnings(action="ignore", category=DeprecationWarning),
    ):
        module = torch.jit.load(str(folder / NETWORK), map_location=device)
        return _DoverNetwork(module.eval(), folder, device)
