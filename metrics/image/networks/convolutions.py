"""Common parts of convolutional networks: weights, convolutions, batches of pictures.

The networks are computed from the released files by the names in them, without
torchvision. Tensors are ``Any``, since types are checked without torch.
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
"""The files that are opened of timm's models on the hub."""
AT_ONCE = 16
"""Pictures that go through a network in one batch."""
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Red, green and blue in ImageNet."""


class Convolution(NamedTuple):
    """A convolution with its bias, which include the normalisation after it."""

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
    """The convolutions of a network by name, and where it runs."""

    convolutions: Mapping[str, Convolution]
    device: str

    def __getitem__(self, name: str) -> Convolution:
        return self.convolutions[name]


def read_weights(path: Path) -> dict[str, Any]:
    """Returns the tensors of a file of safetensors or torch, by name.

    No code in it is run.
    """
    if path.suffix == ".safetensors":
        return dict(need("safetensors.torch", "hf").load_file(path))
    return dict(need("torch", "hf").load(path, map_location="cpu", weights_only=True))


def hub_weights(folder: Path) -> dict[str, Any]:
    """Returns the tensors of a folder with ``HUB_FILES``."""
    path = folder / "model.safetensors"
    if not path.is_file():
        path = folder / "pytorch_model.bin"
    return read_weights(path)


def normalised(
    weights: Weights, convolution: str, normalisation: str, epsilon: float, device: str
) -> Convolution:
    """Returns a convolution without bias, and the batch normalisation after it, as one.

    Raises KeyError if one of them is missing.
    """
    mean = weights[f"{normalisation}.running_mean"].double()
    variance = weights[f"{normalisation}.running_var"].double()
    scale = weights[f"{normalisation}.weight"].double() / (variance + epsilon).sqrt()
    weight = weights[f"{convolution}.weight"].double() * scale[:, None, None, None]
    bias = weights[f"{normalisation}.bias"].double() - mean * scale
    return Convolution(weight.float().to(device), bias.float().to(device))


def squeezed(pixels: Pixels, side: int) -> Pixels:
    """A picture resized to a square, whatever its shape (bilinear, smoothed)."""
    return resized(pixels, (side, side), "BILINEAR")


def batch_of(pictures: Sequence[Pixels], device: str) -> Any:
    """Pictures of one size, normalised by the colours of ImageNet.

    The shape is (pictures, 3, height, width).
    """
    import numpy

    torch = need("torch", "hf")
    pixels = torch.from_numpy(numpy.stack(pictures)).to(device)
    pixels = pixels.permute(0, 3, 1, 2).float() / 255
    colours = torch.tensor((MEAN, SPREAD), device=device)
    mean, spread = colours[:, :, None, None]
    return (pixels - mean) / spread
