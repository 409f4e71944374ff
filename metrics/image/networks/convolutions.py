"""Common parts of convolutional networks: weights, convolutions, batches of pictures.

The networks are computed without torchvision, from the names and weights in the
released files. Tensors have the type ``Any``, since types are checked without torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metrics.image.pictures import resized
from mmeval.system import need

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels

Weights = Mapping[str, Any]
HUB_FILES = ("model.safetensors|pytorch_model.bin",)
"""The files that are opened in a timm model from the hub."""
AT_ONCE = 16
"""Number of pictures in one batch."""
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of red, green and blue in ImageNet."""


class Convolution(NamedTuple):
    """A convolution and its bias, merged with the normalisation after it."""

    weight: Any
    bias: Any

    def __call__(
        self, x: Any, stride: int = 1, padding: int | tuple[int, int] = 0
    ) -> Any:
        return need("torch.nn.functional", "hf").conv2d(
            x, self.weight, self.bias, stride, padding
        )


@dataclass(frozen=True, slots=True)
class Layers:
    """The convolutions of a network by name, and the device on which it runs."""

    convolutions: Mapping[str, Convolution]
    device: str

    def __getitem__(self, name: str) -> Convolution:
        return self.convolutions[name]


def read_weights(path: Path) -> dict[str, Any]:
    """Reads the tensors in a file of safetensors or torch, by name.

    Code that a file contains is never run.
    """
    if path.suffix == ".safetensors":
        return dict(need("safetensors.torch", "hf").load_file(path))
    return dict(need("torch", "hf").load(path, map_location="cpu", weights_only=True))


def hub_weights(folder: Path) -> dict[str, Any]:
    """Reads the tensors in a folder with ``HUB_FILES``."""
    path = folder / "model.safetensors"
    if not path.is_file():
        path = folder / "pytorch_model.bin"
    return read_weights(path)


def normalised(
    weights: Weights, convolution: str, normalisation: str, epsilon: float, device: str
) -> Convolution:
    """Merges a convolution without bias with the batch normalisation after it.

    Raises KeyError if one of them is missing.
    """
    mean = weights[f"{normalisation}.running_mean"].double()
    variance = weights[f"{normalisation}.running_var"].double()
    scale = weights[f"{normalisation}.weight"].double() / (variance + epsilon).sqrt()
    weight = weights[f"{convolution}.weight"].double() * scale[:, None, None, None]
    bias = weights[f"{normalisation}.bias"].double() - mean * scale
    return Convolution(weight.float().to(device), bias.float().to(device))


def squeezed(pixels: Pixels, side: int) -> Pixels:
    """Resizes a picture to a square, ignoring its aspect ratio (bilinear, smoothed)."""
    return resized(pixels, (side, side), "BILINEAR")


def batch_of(pictures: Sequence[Pixels], device: str) -> Any:
    """Returns a batch of pictures of one size, normalised by ImageNet's colours.

    The shape is (pictures, 3, height, width).
    """
    import numpy

    torch = need("torch", "hf")
    pixels = torch.from_numpy(numpy.stack(pictures)).to(device)
    pixels = pixels.permute(0, 3, 1, 2).float() / 255
    colours = torch.tensor((MEAN, SPREAD), device=device)
    mean, spread = colours[:, :, None, None]
    return (pixels - mean) / spread
