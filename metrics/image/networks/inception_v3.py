"""Inception-v3: the features of pictures before its classifier.

Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, "Rethinking the Inception Architecture for
Computer Vision", 2016, by the names that torchvision gives to its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metric import HubModel
from mmeval.metrics.image.networks.convolutions import (
    HUB_FILES,
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
"""Pixels of each side of the pictures that it was trained on."""


class _Branches(NamedTuple):
    """A block: its chains of convolutions, what pooling does (``mean`` and a
    convolution, ``max``, or none)."""

    chains: tuple[tuple[str, ...], ...]
    pool: str = "mean"


_STRIDE_2 = "/2"
"""Behind the name of a convolution with stride 2, which has no padding; two names with
``+`` stand side by side."""
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
    **{f"Mixed_5{letter}": _A for letter in "bcd"},
    "Mixed_6a": _B,
    **{f"Mixed_6{letter}": _C for letter in "bcde"},
    "Mixed_7a": _D,
    **{f"Mixed_7{letter}": _E for letter in "bc"},
}


def inception_v3(folder: Path, device: str) -> Layers:
    """The network of a folder with ``HUB_FILES``. Raises WeightsError for other
    files."""
    with opening(folder, "holds no weights of Inception-v3"):
        weights = hub_weights(folder)
        names = list(_STEM)
        for block, branches in _MIXED.items():
            steps = [step for chain in branches.chains for step in chain]
            steps += ["branch_pool"] if branches.pool == "mean" else []
            names += [
                f"{block}.{name}"
                for step in steps
                for name in step.removesuffix(_STRIDE_2).split("+")
            ]
        found = {
            name: normalised(weights, f"{name}.conv", f"{name}.bn", 1e-3, device)
            for name in names
        }
        return Layers(found, device)


def inception_v3_features(layers: Layers, pictures: Sequence[Pixels]) -> list[Vector]:
    """The 2048 features of each picture; all are of ``SIDE`` pixels."""
    torch = need("torch", "hf")
    pool = torch.nn.functional.max_pool2d
    with torch.inference_mode():
        x = _stepped(
            layers, _STEM[0], batch_of(pictures, layers.device), 2, padded=False
        )
        x = _stepped(layers, _STEM[1], x, padded=False)
        x = pool(_stepped(layers, _STEM[2], x), 3, 2)
        x = _stepped(layers, _STEM[3], x)
        x = pool(_stepped(layers, _STEM[4], x, padded=False), 3, 2)
        for block, branches in _MIXED.items():
            x = _mixed(layers, block, branches, x)
        return list(x.mean((2, 3)).cpu().numpy())


def _mixed(layers: Layers, block: str, branches: _Branches, x: Any) -> Any:
    torch = need("torch", "hf")
    functional = torch.nn.functional
    found = []
    for chain in branches.chains:
        seen = x
        for step in chain:
            stride = 2 if step.endswith(_STRIDE_2) else 1
            sides = [
                f"{block}.{name}" for name in step.removesuffix(_STRIDE_2).split("+")
            ]
            seen = torch.cat(
                [
                    _stepped(layers, name, seen, stride, padded=stride == 1)
                    for name in sides
                ],
                1,
            )
        found.append(seen)
    if branches.pool == "max":
        return torch.cat([*found, functional.max_pool2d(x, 3, 2)], 1)
    return torch.cat(
        [
            *found,
            _stepped(layers, f"{block}.branch_pool", functional.avg_pool2d(x, 3, 1, 1)),
        ],
        1,
    )


def _stepped(
    layers: Layers, name: str, x: Any, stride: int = 1, *, padded: bool = True
) -> Any:
    """A convolution and its threshold; padded so that the size stays."""
    height, width = layers[name].weight.shape[2:]
    return need("torch.nn.functional", "hf").relu_(
        layers[name](x, stride, (height // 2, width // 2) if padded else 0)
    )
