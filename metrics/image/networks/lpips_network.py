"""Computes the distance of LPIPS, with AlexNet and the released heads.

Zhang, Isola, Efros, Shechtman and Wang, "The Unreasonable Effectiveness of Deep
Features as a Perceptual Metric", 2018, version 0.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metric import HubModel
from mmeval.metrics.image.networks.convolutions import Convolution, read_weights
from mmeval.metrics.models import opening
from mmeval.system import need

if TYPE_CHECKING:
    from mmeval.metrics.image.smaller import Numbers

TRUNKS = ("alexnet-owt-7be5be79.pth", "alexnet-owt-4df8aa71.pth")
"""The names that newer and older versions of torchvision use for the same file."""
HEADS = "alex.pth"
LPIPS = HubModel(
    ("|".join(TRUNKS), HEADS),
    by_hand="mmeval ls metrics lpips says how to get it",
)
LPIPS_NAME = "richzhang/PerceptualSimilarity"
SMALLEST = 31
"""Minimum number of pixels on each side of a picture."""
_STEPS = ((0, 4, 2), (3, 1, 2), (6, 1, 1), (8, 1, 1), (10, 1, 1))
"""Number, stride and padding of AlexNet's convolutions. Pooling follows the first
two."""
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
"""Shift and scale of red, green and blue, for numbers from -1 to 1."""


class LpipsNetwork(NamedTuple):
    """The network. ``heads`` are the weights of the channels after each convolution."""

    convolutions: Sequence[Convolution]
    heads: Sequence[Any]
    device: str


def lpips_network(folder: Path, device: str) -> LpipsNetwork:
    """Loads the network from the released files.

    Raises WeightsError if the files contain other weights.
    """
    with opening(folder, "does not have AlexNet and the heads of LPIPS"):
        trunk_file, *_ = [name for name in TRUNKS if (folder / name).is_file()]
        trunk = read_weights(folder / trunk_file)
        head_weights = read_weights(folder / HEADS)
        convolutions: list[Convolution] = []
        heads: list[Any] = []
        for index, (number, _, _) in enumerate(_STEPS):
            weight = trunk[f"features.{number}.weight"].to(device)
            bias = trunk[f"features.{number}.bias"].to(device)
            convolutions.append(Convolution(weight, bias))
            heads.append(head_weights[f"lin{index}.model.1.weight"].to(device))
        return LpipsNetwork(convolutions, heads, device)


def lpips_distances(
    network: LpipsNetwork, pairs: Sequence[tuple[Numbers, Numbers]], *, signed: bool
) -> list[float]:
    """Returns the distance of each pair of pictures, from 0 upwards.

    All pictures have the same size, with at least ``SMALLEST`` pixels on each side.
    With ``signed`` the network receives numbers from -1 to 1, as it expects. Otherwise
    it receives numbers from 0 to 1.
    """
    import numpy

    torch = need("torch", "hf")
    functional = torch.nn.functional
    with torch.inference_mode():
        firsts, seconds = zip(*pairs, strict=True)
        x = torch.from_numpy(numpy.stack((*firsts, *seconds)))
        x = x.to(network.device).permute(0, 3, 1, 2)
        if signed:
            x = 2 * x - 1
        colours = torch.tensor((_SHIFT, _SCALE), device=network.device)
        shift, scale = colours[:, :, None, None]
        x = (x - shift) / scale
        total = torch.zeros(len(pairs), device=network.device)
        for (number, stride, padding), convolution, head in zip(
            _STEPS, network.convolutions, network.heads, strict=True
        ):
            x = functional.relu_(convolution(x, stride, padding))
            # The constant avoids a division by zero. It has the value of lpips 0.1.4.
            lengths = x.square().sum(1, keepdim=True).sqrt()
            first, second = (x / (lengths + 1e-10)).split(len(pairs))
            differences = (first - second).square_()
            total += functional.conv2d(differences, head).mean((1, 2, 3))
            if number in (0, 3):
                x = functional.max_pool2d(x, 3, 2)
        distances: list[float] = total.tolist()
        return distances
