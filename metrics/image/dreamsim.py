"""DreamSim: how similar pictures look to people, by several vision transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from mmeval.metric import HubModel, loaded, metric
from mmeval.metrics.image.dreamsim_network import embeddings, loaded_ensemble
from mmeval.metrics.image.editing import Against, Region, box_fault, cropped, edit_of
from mmeval.metrics.image.pictures import (
    given,
    input_picture,
    picture,
    produced,
    reference_picture,
)
from mmeval.metrics.models import bound
from mmeval.metrics.produced import media_of, the_only_medium, wrong
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
    by_hand="see docs/metrics.md",
)
Which = Literal["only", "last"]
_AT_ONCE = 16


class _Pair(NamedTuple):
    answer: Image
    other: Image


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Why a sample cannot be scored, whatever the answer; empty when it can."""
    key = switches["bbox_key"]
    return (
        box_fault(sample.metadata.get(key), key) if switches["region"] == "bbox" else ""
    )


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
    """How similar the answer's picture and another look: 1 less DreamSim's distance.

    Range -1 to 1, higher is better: 1 for the same picture; pictures of the same kind
    lie well above 0, and values below it are rare. Each picture is squeezed to 224 x
    224 pixels (bicubic). An answer without the picture, or with one that is
    damaged, is 0, with the reason as evidence. Unscored without an answer, and where
    the other picture or the box is missing or unusable.

    Switches: ``model`` is a folder with the released files. ``pictures``: ``only``, the
    answer must have exactly one picture; ``last``, its last one is taken. ``against``:
    the first picture of the first ``reference``, or of the ``input``. ``region``: the
    ``whole`` pictures, or the part of both in the padded ``bbox`` (see
    ``edit_outside_ssim``, which has ``bbox_key`` and ``margin`` too), where the answer
    must have exactly one picture, whatever ``pictures`` says, and it is first brought
    to the size of the other. Evidence: the distance.
    """
    asked = _Asked(pictures, against, region, bbox_key, margin)
    pairs = [asked.pair(trial) for trial in trials]
    seen = iter(
        _seen(
            [one for pair in pairs if isinstance(pair, _Pair) for one in pair],
            bound(model),
        )
    )
    return [
        pair if isinstance(pair, Score) else _score(next(seen), next(seen))
        for pair in pairs
    ]


def _seen(pictures: Sequence[Image], model: Mapping[str, Any]) -> list[Any]:
    """The embedding of each picture, a tensor; without any the model is not opened."""
    return [
        row
        for at in range(0, len(pictures), _AT_ONCE)
        for row in embeddings(
            loaded(model, loaded_ensemble), pictures[at : at + _AT_ONCE]
        )
    ]


def _score(answer: Any, other: Any) -> Score:
    similarity = min(1.0, max(-1.0, float(answer @ other)))
    return Score(similarity, evidence={"distance": 1.0 - similarity})


class _Asked(NamedTuple):
    """The switches that say which pictures are compared."""

    which: Which
    against: Against
    region: Region
    bbox_key: str
    margin: int

    def pair(self, trial: Trial) -> _Pair | Score:
        """Both pictures, or the score of a trial that lacks one."""
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
        media = (
            input_picture(trial.sample)
            if self.against == "input"
            else reference_picture(trial.sample)
        )
        other = media if isinstance(media, Score) else given(media)
        return (
            other
            if isinstance(other, Score)
            else _Pair(picture(answer), picture(other))
        )


def _picture(trial: Trial, which: Which) -> Pixels | Score:
    if which == "only":
        found = the_only_medium(trial, "image", "pictures")
        return found if isinstance(found, Score) else produced(found)
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    pictures = media_of(trial.output, "image")
    return produced(pictures[-1]) if pictures else wrong("the answer has no picture")
