"""The network of DreamSim: the distance of pictures, by the released checkpoints.

Fu, Tamir, Sundaram and others, "DreamSim", NeurIPS 2023. The authors' package loads
three vision transformers of the same form, and their low-rank corrections, by
torchvision, timm, open_clip and peft. This module does without these packages: it finds
the weights in the released files by their names, and adds the corrections to the
weights once. Tensors have the type ``Any``, since types are checked without torch.
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
"""Side in pixels of the square to which every picture is resized."""
_HEAD = 64
"""Number of channels of an attention head in each transformer."""
_IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_CLIP = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
"""Mean and standard deviation of red, green and blue in a transformer's training."""
_ADAPTER = "ensemble_lora"
_NAME = re.compile(
    r"(?:"
    r"base_model\.model\.)+extractor_list\.(?P<tower>\d)\.model\.(?P<layer>.+)\.lora_A(?:"
    r"\.\w+)?\.weight"
)


class VisionTransformer(NamedTuple):
    """A vision transformer.

    ``takes`` names the output that is used: the first token of the last block, or the
    projected output that CLIP compares with texts.
    """

    weights: Weights
    colours: tuple[Sequence[float], Sequence[float]]
    takes: Literal["token", "projection"]
    epsilon: float
    gate: Callable[[Any], Any]


class DreamSimEnsemble(NamedTuple):
    transformers: tuple[VisionTransformer, ...]
    device: str


def loaded_ensemble(folder: Path, device: str) -> DreamSimEnsemble:
    """Loads the three corrected transformers from a folder with the released files.

    Raises WeightsError if the files are not the complete ensemble.
    """
    torch = need("torch", "hf")
    gelu = torch.nn.functional.gelu
    with opening(
        folder,
        "does not have the files of DreamSim's ensemble",
        OSError,
        how_to_fix=_ADVICE,
    ):
        clip = read_weights(folder / "clip_vitb16_pretrain.pth.tar")["state_dict"]
        open_clip = read_weights(folder / "open_clip_vitb16_pretrain.pth.tar")
        stored = [
            VisionTransformer(_dino(folder), _IMAGENET, "token", 1e-6, gelu),
            VisionTransformer(clip, _CLIP, "projection", 1e-5, _quick_gelu),
            VisionTransformer(open_clip["state_dict"], _CLIP, "projection", 1e-5, gelu),
        ]
        for transformer in stored:
            if missing := uneven_blocks(transformer.weights, "blocks"):
                raise ValueError(missing)
        transformers: list[VisionTransformer] = []
        corrected = _corrected(stored, folder / _ADAPTER)
        for transformer, weights in zip(stored, corrected, strict=True):
            placed = {name: part.float().to(device) for name, part in weights.items()}
            transformers.append(transformer._replace(weights=placed))
        # Missing weights are found here, and not only when the first trial is scored.
        with torch.inference_mode():
            blank = torch.zeros(1, 3, SIZE, SIZE, device=device)
            for transformer in transformers:
                _embedded(transformer, blank)
        return DreamSimEnsemble(tuple(transformers), device)


_ADVICE = "copy the released files there again, or name another folder with the switch"


def embeddings(ensemble: DreamSimEnsemble, pictures: Sequence[Image]) -> Any:
    """Returns embeddings with mean 0 and length 1.

    The cosine of two embeddings is the similarity of the pictures.
    """
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
        parts = [
            _embedded(transformer, pixels) for transformer in ensemble.transformers
        ]
        vectors = torch.cat(parts, dim=-1).double()
        vectors = vectors - vectors.mean(dim=-1, keepdim=True)
        lengths = vectors.norm(dim=-1, keepdim=True)
        return (vectors / lengths.clamp_min(1e-12)).cpu()


def _dino(folder: Path) -> dict[str, Any]:
    """Loads DINO's transformer from torch hub's file, or else from a checkpoint.

    If a checkpoint is loaded, its teacher network is used. Raises UsageError if the
    released file contains only the head.
    """
    hub_file = folder / "checkpoints" / "dino_vitbase16_pretrain.pth"
    if hub_file.is_file():
        return read_weights(hub_file)
    checkpoint = read_weights(folder / "dino_vitb16_pretrain.pth")
    weights: dict[str, Any] = {}
    for name, tensor in checkpoint.get("teacher", checkpoint).items():
        weights[name.removeprefix("module.").removeprefix("backbone.")] = tensor
    if "cls_token" not in weights:
        raise UsageError(
            f"{folder}: dino_vitb16_pretrain.pth does not contain the transformer. "
            "Copy DINO's dino_vitbase16_pretrain.pth to "
            f"{hub_file.parent}"
        )
    return weights


def _corrected(
    transformers: Sequence[VisionTransformer], folder: Path
) -> list[dict[str, Any]]:
    """Adds the low-rank corrections in a folder to the weights of the transformers."""
    settings = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    scale = settings["lora_alpha"] / settings["r"]
    path = folder / "adapter_model.safetensors"
    if not path.is_file():
        path = folder / "adapter_model.bin"
    corrections = read_weights(path)
    names = [name for name in corrections if ".lora_A." in name]
    if not names:
        raise ValueError(f"{folder.name} does not contain any LoRA weights")
    corrected = [dict(transformer.weights) for transformer in transformers]
    for name in names:
        transformer, layer = _corrected_layer(name)
        weights = corrected[transformer]
        down, up = corrections[name], corrections[name.replace(".lora_A.", ".lora_B.")]
        weights[layer] = weights[layer].float() + scale * (up @ down)
    return corrected


def _corrected_layer(name: str) -> tuple[int, str]:
    """Returns the transformer and the weight to which a correction belongs.

    Raises ValueError for an unknown name, since a network without the correction would
    compute another distance.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"the name {name!r} of a correction is unknown")
    return int(match["tower"]), f"{match['layer']}.weight"


def _embedded(transformer: VisionTransformer, pixels: Any) -> Any:
    torch = need("torch", "hf")
    functional, w = torch.nn.functional, transformer.weights
    colours = torch.tensor(transformer.colours, device=pixels.device)
    mean, spread = colours[:, :, None, None]
    patch, bias = w["patch_embed.proj.weight"], w.get("patch_embed.proj.bias")
    normalised = (pixels - mean) / spread
    x = functional.conv2d(normalised, patch, bias, stride=patch.shape[-1])
    x = x.flatten(2).transpose(1, 2)
    token = w["cls_token"].expand(len(x), -1, -1)
    x = torch.cat((token, x), dim=1) + w["pos_embed"]
    if "pos_drop.weight" in w:
        x = _layer_norm(transformer, "pos_drop", x)
    blocks = [name for name in w if name.startswith("blocks.")]
    for number in range(len({name.split(".")[1] for name in blocks})):
        x = _block(transformer, f"blocks.{number}", x)
    if transformer.takes == "token":
        return x[:, 0]
    return _layer_norm(transformer, "norm", x)[:, 0] @ w["proj"]


def _block(
    transformer: VisionTransformer,
    name: str,
    x: Any,
) -> Any:
    functional, w = need("torch.nn.functional", "hf"), transformer.weights
    qkv = _linear(w, f"{name}.attn.qkv", _layer_norm(transformer, f"{name}.norm1", x))
    heads = qkv.unflatten(-1, (3, x.shape[-1] // _HEAD, _HEAD))
    q, k, v = heads.permute(2, 0, 3, 1, 4)
    attended = (
        functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    )
    x = x + _linear(w, f"{name}.attn.proj", attended)
    inner = _linear(w, f"{name}.mlp.fc1", _layer_norm(transformer, f"{name}.norm2", x))
    return x + _linear(w, f"{name}.mlp.fc2", transformer.gate(inner))


def _linear(
    w: Weights,
    name: str,
    x: Any,
) -> Any:
    weight, bias = w[f"{name}.weight"], w.get(f"{name}.bias")
    return need("torch.nn.functional", "hf").linear(x, weight, bias)


def _layer_norm(
    transformer: VisionTransformer,
    name: str,
    x: Any,
) -> Any:
    w = transformer.weights
    weight, bias = w[f"{name}.weight"], w[f"{name}.bias"]
    return need("torch.nn.functional", "hf").layer_norm(
        x, (x.shape[-1],), weight, bias, transformer.epsilon
    )


def _quick_gelu(x: Any) -> Any:
    return x * (1.702 * x).sigmoid()
