"""DreamSim: how similar pictures look to people, predicted by vision transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from mmeval.metric import HubModel, loaded, metric
from mmeval.metrics.image.dreamsim_network import embeddings, loaded_ensemble
from mmeval.metrics.image.editing import (
    Against,
    Region,
    box_fault,
    cropped,
    edit_of,
    other_picture,
)
from mmeval.metrics.image.pictures import picture, produced, the_only
from mmeval.metrics.models import bound
from mmeval.metrics.produced import media_of, wrong
from mmeval.records import Sample, Score, Trial
from mmeval.system import OneOrMore

if TYPE_CHECKING:
    from PIL.Image import Image

    from mmeval.metrics.image.pictures import Pixels

DREAMSIM = HubModel(
    (
        "checkpoints/dino_vitbase16_pretrain.pth|dino_vitb16_pretrain.pth",
        "clip_vitb16_pretrain.pth.tar",
        "open_clip_vitb16_pretrain.pth.tar",
        "ensemble_lora/adapter_config.json",
        "ensemble_lora/adapter_model.safetensors|ensemble_lora/adapter_model.bin",
    ),
    by_hand="mmeval ls metrics dreamsim says how to get it",
)
Which = Literal["only", "last"]
_AT_ONCE = 16


class _Pair(NamedTuple):
    answer: Image
    other: Image


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Returns why a sample's answers cannot be scored; empty if they can."""
    if switches["region"] != "bbox":
        return ""
    key = switches["bbox_key"]
    return box_fault(sample.metadata.get(key), key)


@metric(
    range=(-1, 1),
    version="2",
    source="DreamSim (NeurIPS 2023), as MMMG uses it for edits and code; official: "
    "image evaluators 6c7142e8",
    needs=("torch:hf", "safetensors:hf"),
    check=_fault,
    batch=16,
)
def dreamsim(
    trials: Sequence[Trial],
    *,
    model: Annotated[str | Mapping[str, Any], DREAMSIM] = "ssundaram21/dreamsim",
    pictures: Which = "only",
    against: Against = "reference",
    region: Region = "whole",
    bbox_key: str = "bbox",
    margin: OneOrMore = 10,
) -> list[Score]:
    """How similar two pictures look to people: 1 minus DreamSim's distance.

    Range -1 to 1, higher is better: 1 for the same picture. Pictures of the same kind
    score well above 0, and values below 0 are rare. Each picture is resized to 224 x
    224 pixels without keeping its aspect ratio (bicubic). An answer without the
    picture, or with a damaged picture, scores 0, with the ``reason`` as evidence.
    Unscored without an answer, or if the other picture or the box is missing or
    unusable.

    The released networks are computed without the package ``dreamsim``. The results are
    the same, except that the last digits may differ in a batch.

    Not measured: whether the picture is what was requested, except that it looks
    like the other picture.

    Labels, for example: ``{"bbox": [40, 6, 60, 26]}``.

    Switches:

    - ``model``: a folder with the files of ``dreamsim_ensemble_checkpoint.zip`` (about
      1.1 GB), from the releases of github.com/ssundaram21/dreamsim. Its subfolder
      ``checkpoints/`` must also contain ``dino_vitbase16_pretrain.pth`` from
      github.com/facebookresearch/dino.
    - ``pictures``: the answer must have ``only`` one picture, or its ``last`` picture
      is used.
    - ``against``: the first picture of the first ``reference``, or of the ``input``.
    - ``region``: compare the ``whole`` pictures, or the padded ``bbox`` in both. For a
      box, the answer must have exactly one picture. This picture is first resized to
      the size of the other picture.
    - ``bbox_key``, ``margin``: as in ``edit_outside_ssim``.

    Evidence: the ``distance``.
    """
    switches = _PairSwitches(pictures, against, region, bbox_key, margin)
    pairs = [switches.pair(trial) for trial in trials]
    images: list[Image] = []
    for pair in pairs:
        if isinstance(pair, _Pair):
            images += pair
    vectors: list[Any] = []
    for start in range(0, len(images), _AT_ONCE):
        ensemble = loaded(bound(model), loaded_ensemble)
        vectors += embeddings(ensemble, images[start : start + _AT_ONCE])
    embedding = iter(vectors)
    scores: list[Score] = []
    for pair in pairs:
        if isinstance(pair, Score):
            scores.append(pair)
            continue
        answer, other = next(embedding), next(embedding)
        similarity = min(1.0, max(-1.0, float(answer @ other)))
        scores.append(Score(similarity, evidence={"distance": 1.0 - similarity}))
    return scores


class _PairSwitches(NamedTuple):
    """The switches that select the pictures to compare."""

    which: Which
    against: Against
    region: Region
    bbox_key: str
    margin: int

    def pair(self, trial: Trial) -> _Pair | Score:
        """Returns both pictures, or the trial's score if one is missing."""
        if self.region == "bbox":
            edit = edit_of(
                trial, against=self.against, bbox_key=self.bbox_key, margin=self.margin
            )
            if isinstance(edit, Score):
                return edit
            return _Pair(
                cropped(edit.edited, edit.box), cropped(edit.original, edit.box)
            )
        answer = _picture(trial, self.which)
        if isinstance(answer, Score):
            return answer
        other = other_picture(trial.sample, self.against)
        if isinstance(other, Score):
            return other
        return _Pair(picture(answer), picture(other))


def _picture(trial: Trial, which: Which) -> Pixels | Score:
    if which == "only":
        return the_only(trial)
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    pictures = media_of(trial.output, "image")
    if not pictures:
        return wrong("the answer has no picture")
    return produced(pictures[-1])
