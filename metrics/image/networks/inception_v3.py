"""Inception-v3: the features of pictures that the classifier would receive.

Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, "Rethinking the Inception Architecture for
Computer Vision", 2016. The parts of the network are named as in torchvision.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metric import HubModel
from mmeval.metrics.image.networks.convolutions import (
    HUB_FILES,
    Convolution,
    Layers,
    batch_of,
    hub_weights,
    normalised,
)
from mmeval.metrics.models import opening
from mmeval.system import need

if TYPE_CHECKING:
    from mmeval.metrics.image.networks.vector_memory import Vector
    from mmeval.metrics.image.pictures import Pixels

INCEPTION_V3 = HubModel(HUB_FILES)
INCEPTION_V3_NAME = "timm/inception_v3.tv_in1k"
SIDE = 299
"""Side in pixels of the pictures in training."""


class _Branches(NamedTuple):
    """A block of the network: its chains of convolutions, and its pooling.

    The pooling is ``max``, ``mean`` (followed by a convolution), or empty.
    """

    chains: tuple[tuple[str, ...], ...]
    pool: str = "mean"


_STRIDE_2 = "/2"
"""Suffix of a convolution with stride 2 and without padding. Two convolutions whose
names are joined by ``+`` run in parallel."""
_A = _Branches(
    (
        ("branch1x1",),
        ("branch5x5_1", "branch5x5_2"),
        ("branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3"),
    )
)
_B = _Branches(
    (("branch3x3/2",), ("branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3/2")), "max"
)
_C = _Branches(
    (
        ("branch1x1",),
        ("branch7x7_1", "branch7x7_2", "branch7x7_3"),
        (
            "branch7x7dbl_1",
            "branch7x7dbl_2",
            "branch7x7dbl_3",
            "branch7x7dbl_4",
            "branch7x7dbl_5",
        ),
    )
)
_D = _Branches(
    (
        ("branch3x3_1", "branch3x3_2/2"),
        ("branch7x7x3_1", "branch7x7x3_2", "branch7x7x3_3", "branch7x7x3_4/2"),
    ),
    "max",
)
_E = _Branches(
    (
        ("branch1x1",),
        ("branch3x3_1", "branch3x3_2a+branch3x3_2b"),
        ("branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3a+branch3x3dbl_3b"),
    )
)
_STEM = (
    "Conv2d_1a_3x3",
    "Conv2d_2a_3x3",
    "Conv2d_2b_3x3",
    "Conv2d_3b_1x1",
    "Conv2d_4a_3x3",
)
_MIXED = {
    **dict.fromkeys(("Mixed_5b", "Mixed_5c", "Mixed_5d"), _A),
    "Mixed_6a": _B,
    **dict.fromkeys(("Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"), _C),
    "Mixed_7a": _D,
    **dict.fromkeys(("Mixed_7b", "Mixed_7c"), _E),
}


def inception_v3(folder: Path, device: str) -> Layers:
    """Loads the network from a folder with ``HUB_FILES``.

    Raises WeightsError if the weights belong to another network.
    """
    with opening(folder, "does not have the weights of Inception-v3"):
        weights = hub_weights(folder)
        names = list(_STEM)
        for block, branches in _MIXED.items():
            for chain in branches.chains:
                for step in chain:
                    names += _names(block, step)
            if branches.pool == "mean":
                names.append(f"{block}.branch_pool")
        convolutions: dict[str, Convolution] = {}
        for name in names:
            convolution, norm = f"{name}.conv", f"{name}.bn"
            convolutions[name] = normalised(weights, convolution, norm, 1e-3, device)
        return Layers(convolutions, device)


def _names(block: str, step: str) -> list[str]:
    """Returns the names of a step's convolutions, which run in parallel."""
    names = step.removesuffix(_STRIDE_2).split("+")
    return [f"{block}.{name}" for name in names]


def inception_v3_features(layers: Layers, pictures: Sequence[Pixels]) -> list[Vector]:
    """Returns 2048 features for each picture of ``SIDE`` x ``SIDE`` pixels."""
    torch = need("torch", "hf")
    pool = torch.nn.functional.max_pool2d
    with torch.inference_mode():
        x = batch_of(pictures, layers.device)
        x = _stepped(layers, _STEM[0], x, 2, padded=False)
        x = _stepped(layers, _STEM[1], x, padded=False)
        x = pool(_stepped(layers, _STEM[2], x), 3, 2)
        x = _stepped(layers, _STEM[3], x)
        x = pool(_stepped(layers, _STEM[4], x, padded=False), 3, 2)
        for block, branches in _MIXED.items():
            x = _mixed(layers, block, branches, x)
        return list(x.mean((2, 3)).cpu().numpy())


def _mixed(
    layers: Layers,
    block: str,
    branches: _Branches,
    x: Any,
) -> Any:
    torch = need("torch", "hf")
    functional = torch.nn.functional
    outputs: list[Any] = []
    for chain in branches.chains:
        output = x
        for step in chain:
            stride = 2 if step.endswith(_STRIDE_2) else 1
            sides: list[Any] = []
            for name in _names(block, step):
                sides.append(_stepped(layers, name, output, stride, padded=stride == 1))
            output = torch.cat(sides, 1)
        outputs.append(output)
    if branches.pool == "max":
        outputs.append(functional.max_pool2d(x, 3, 2))
    else:
        pooled = functional.avg_pool2d(x, 3, 1, 1)
        outputs.append(_stepped(layers, f"{block}.branch_pool", pooled))
    return torch.cat(outputs, 1)


def _stepped(
    layers: Layers, name: str, x: Any, stride: int = 1, *, padded: bool = True
) -> Any:
    """Applies a convolution and a ReLU. With ``padded`` the size is preserved."""
    height, width = layers[name].weight.shape[2:]
    padding = (height // 2, width // 2) if padded else 0
    return need("torch.nn.functional", "hf").relu_(layers[name](x, stride, padding))
