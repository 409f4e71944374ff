"""The network of DreamSim: the distance of pictures, by the released checkpoints.

Fu, Tamir, Sundaram and others, "DreamSim", NeurIPS 2023. Its package takes torchvision,
timm, open_clip and peft to load three vision transformers of one form, with corrections
of low rank on top. The network is computed here from the released files, by their
names; the corrections are added to the weights once. Tensors are ``Any``, since torch
is absent where types are checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mmeval.errors import UsageError
from mmeval.metric import uneven_blocks
from mmeval.metrics.image.networks.convolutions import read_weights
from mmeval.metrics.models import opening
from mmeval.system import need

if TYPE_CHECKING:
    from PIL.Image import Image

Weights = Mapping[str, Any]

SIZE = 224
"""Pixels of each side: every picture is resized to this square."""
_HEAD = 64
"""Channels of one attention head, in each of the transformers."""
_IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_CLIP = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
"""Mean and spread of red, green and blue in the pictures that a transformer was trained
on."""
_ADAPTER = "ensemble_lora"
_NAME = re.compile(
    r"(?:"
    r"base_model\.model\.)+extractor_list\.(?P<tower>\d)\.model\.(?P<layer>.+)\.lora_A(?:"
    r"\.\w+)?\.weight"
)


class Tower(NamedTuple):
    """One vision transformer; ``takes`` says which output is used. The first token of
    the last block, or the projected output, which CLIP compares with words."""

    weights: Weights
    colours: tuple[Sequence[float], Sequence[float]]
    takes: Literal["token", "projection"]
    epsilon: float
    gate: Callable[[Any], Any]


class Ensemble(NamedTuple):
    towers: tuple[Tower, ...]
    device: str


def loaded_ensemble(folder: Path, device: str) -> Ensemble:
    """The three transformers of a folder with the released files, corrected.

    Raises WeightsError for files that are not the complete ensemble.
    """
    torch = need("torch", "hf")
    gelu = torch.nn.functional.gelu
    with opening(
        folder,
        "holds not the files of DreamSim's ensemble",
        OSError,
        how_to_fix=_ADVICE,
    ):
        clip = read_weights(folder / "clip_vitb16_pretrain.pth.tar")["state_dict"]
        open_clip = read_weights(folder / "open_clip_vitb16_pretrain.pth.tar")
        found = [
            Tower(_dino(folder), _IMAGENET, "token", 1e-6, gelu),
            Tower(clip, _CLIP, "projection", 1e-5, _quick_gelu),
            Tower(open_clip["state_dict"], _CLIP, "projection", 1e-5, gelu),
        ]
        for tower in found:
            if lacks := uneven_blocks(tower.weights, "blocks"):
                raise ValueError(lacks)
        towers: list[Tower] = []
        corrected = _corrected(found, folder / _ADAPTER)
        for tower, weights in zip(found, corrected, strict=True):
            there = {name: part.float().to(device) for name, part in weights.items()}
            towers.append(tower._replace(weights=there))
        # missing weights are found now, and not by each trial
        with torch.inference_mode():
            blank = torch.zeros(1, 3, SIZE, SIZE, device=device)
            for tower in towers:
                _seen(tower, blank)
        return Ensemble(tuple(towers), device)


_ADVICE = "put the released files there again, or name another folder with the switch"


def embeddings(ensemble: Ensemble, pictures: Sequence[Image]) -> Any:
    """Embeddings of mean 0 and length 1: their cosines are the pictures'
    similarities."""
    import numpy as np
    from PIL.Image import Resampling

    torch = need("torch", "hf")
    squares: list[Any] = []
    for picture in pictures:
        square = picture.convert("RGB").resize((SIZE, SIZE), Resampling.BICUBIC)
        squares.append(
            np.asarray(square, np.float32).transpose(2, 0, 1) / np.float32(255)
        )
    pixels = torch.from_numpy(np.stack(squares)).to(ensemble.device)
    with torch.inference_mode():
        parts = [_seen(tower, pixels) for tower in ensemble.towers]
        seen = torch.cat(parts, dim=-1).double()
        seen = seen - seen.mean(dim=-1, keepdim=True)
        lengths = seen.norm(dim=-1, keepdim=True)
        return (seen / lengths.clamp_min(1e-12)).cpu()


def _dino(folder: Path) -> dict[str, Any]:
    """The transformer of DINO: torch hub's file, else a full checkpoint's teacher.

    Raises UsageError for a folder where the released file holds the head alone.
    """
    own = folder / "checkpoints" / "dino_vitbase16_pretrain.pth"
    if own.is_file():
        return read_weights(own)
    kept = read_weights(folder / "dino_vitb16_pretrain.pth")
    found: dict[str, Any] = {}
    for name, tensor in kept.get("teacher", kept).items():
        found[name.removeprefix("module.").removeprefix("backbone.")] = tensor
    if "cls_token" not in found:
        raise UsageError(
            f"{folder}: dino_vitb16_pretrain.pth has no transformer; put "
            "dino_vitbase16_pretrain.pth of DINO into "
            f"{own.parent}"
        )
    return found


def _corrected(towers: Sequence[Tower], folder: Path) -> list[dict[str, Any]]:
    """The transformers' weights with a folder's low-rank corrections added."""
    settings = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    scale = settings["lora_alpha"] / settings["r"]
    path = folder / "adapter_model.safetensors"
    if not path.is_file():
        path = folder / "adapter_model.bin"
    corrections = read_weights(path)
    names = [name for name in corrections if ".lora_A." in name]
    if not names:
        raise ValueError(f"{folder.name} holds no corrections")
    changed = [dict(tower.weights) for tower in towers]
    for name in names:
        tower, layer = _corrected_layer(name)
        weights = changed[tower]
        down, up = corrections[name], corrections[name.replace(".lora_A.", ".lora_B.")]
        weights[layer] = weights[layer].float() + scale * (up @ down)
    return changed


def _corrected_layer(name: str) -> tuple[int, str]:
    """The transformer and the weight that a correction belongs to. Raises ValueError
    for a name of another form, since without a correction it would be another
    metric."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"a correction is called {name!r}")
    return int(found["tower"]), f"{found['layer']}.weight"


def _seen(tower: Tower, pixels: Any) -> Any:
    torch = need("torch", "hf")
    functional, w = torch.nn.functional, tower.weights
    colours = torch.tensor(tower.colours, device=pixels.device)
    mean, spread = colours[:, :, None, None]
    patch, bias = w["patch_embed.proj.weight"], w.get("patch_embed.proj.bias")
    normalised = (pixels - mean) / spread
    x = functional.conv2d(normalised, patch, bias, stride=patch.shape[-1])
    x = x.flatten(2).transpose(1, 2)
    token = w["cls_token"].expand(len(x), -1, -1)
    x = torch.cat((token, x), dim=1) + w["pos_embed"]
    if "pos_drop.weight" in w:
        x = _layer_norm(tower, "pos_drop", x)
    blocks = [name for name in w if name.startswith("blocks.")]
    for number in range(len({name.split(".")[1] for name in blocks})):
        x = _block(tower, f"blocks.{number}", x)
    if tower.takes == "token":
        return x[:, 0]
    return _layer_norm(tower, "norm", x)[:, 0] @ w["proj"]


def _block(
    tower: Tower,
    name: str,
    x: Any,
) -> Any:
    functional, w = need("torch.nn.functional", "hf"), tower.weights
    qkv = _linear(w, f"{name}.attn.qkv", _layer_norm(tower, f"{name}.norm1", x))
    heads = qkv.unflatten(-1, (3, x.shape[-1] // _HEAD, _HEAD))
    q, k, v = heads.permute(2, 0, 3, 1, 4)
    seen = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    x = x + _linear(w, f"{name}.attn.proj", seen)
    inner = _linear(w, f"{name}.mlp.fc1", _layer_norm(tower, f"{name}.norm2", x))
    return x + _linear(w, f"{name}.mlp.fc2", tower.gate(inner))


def _linear(
    w: Weights,
    name: str,
    x: Any,
) -> Any:
    weight, bias = w[f"{name}.weight"], w.get(f"{name}.bias")
    return need("torch.nn.functional", "hf").linear(x, weight, bias)


def _layer_norm(
    tower: Tower,
    name: str,
    x: Any,
) -> Any:
    weight, bias = tower.weights[f"{name}.weight"], tower.weights[f"{name}.bias"]
    return need("torch.nn.functional", "hf").layer_norm(
        x, (x.shape[-1],), weight, bias, tower.epsilon
    )


def _quick_gelu(x: Any) -> Any:
    return x * (1.702 * x).sigmoid()
