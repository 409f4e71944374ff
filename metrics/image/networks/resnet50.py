"""ResNet-50: the features of pictures that the classifier would receive.

He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2016. As in the
network that torchvision trained, the stride is in a block's middle convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

RESNET50 = HubModel(HUB_FILES)
RESNET50_NAME = "timm/resnet50.tv_in1k"
SIDE = 224
"""Side in pixels of the pictures in training."""
_BLOCKS = (3, 4, 6, 3)


def resnet50(folder: Path, device: str) -> Layers:
    """Loads the network from a folder with ``HUB_FILES``.

    Raises WeightsError if the weights belong to another network.
    """
    with opening(folder, "does not have the weights of ResNet-50"):
        weights = hub_weights(folder)
        names = {"conv1": "bn1"}
        for stage, count in enumerate(_BLOCKS, 1):
            for number in range(count):
                block = f"layer{stage}.{number}"
                for index in (1, 2, 3):
                    names[f"{block}.conv{index}"] = f"{block}.bn{index}"
            names[f"layer{stage}.0.downsample.0"] = f"layer{stage}.0.downsample.1"
        convolutions: dict[str, Convolution] = {}
        for name, norm in names.items():
            convolutions[name] = normalised(weights, name, norm, 1e-5, device)
        return Layers(convolutions, device)


def resnet50_features(layers: Layers, pictures: Sequence[Pixels]) -> list[Vector]:
    """Returns 2048 features for each picture of ``SIDE`` x ``SIDE`` pixels."""
    torch = need("torch", "hf")
    functional = torch.nn.functional
    with torch.inference_mode():
        pixels = batch_of(pictures, layers.device)
        x = functional.relu_(layers["conv1"](pixels, 2, 3))
        x = functional.max_pool2d(x, 3, 2, 1)
        for stage, count in enumerate(_BLOCKS, 1):
            for number in range(count):
                stride = 2 if stage > 1 and number == 0 else 1
                x = _block(layers, f"layer{stage}.{number}", x, stride)
        return list(x.mean((2, 3)).cpu().numpy())


def _block(
    layers: Layers,
    name: str,
    x: Any,
    stride: int,
) -> Any:
    relu = need("torch.nn.functional", "hf").relu_
    inner = relu(layers[f"{name}.conv1"](x))
    inner = relu(layers[f"{name}.conv2"](inner, stride, 1))
    inner = layers[f"{name}.conv3"](inner)
    if f"{name}.downsample.0" in layers.convolutions:
        x = layers[f"{name}.downsample.0"](x, stride)
    return relu(inner.add_(x))
