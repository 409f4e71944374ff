"""The network of Beat This: the likelihood of a beat in each fiftieth of a second.

Foscarin, Schlüter and Widmer, "Beat This! Accurate beat tracking without DBN
postprocessing", ISMIR 2024. The released package needs torchaudio, which does not work
with a current torch and then breaks transformers. This module therefore computes the
network itself, and finds the released weights by their names. Its functions take
weights and return logits. Tensors have the type ``Any``, since types are checked
without torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.metric import WeightsError, uneven_blocks
from mmeval.metrics.models import opening
from mmeval.system import need

Weights = Mapping[str, Any]
"""Tensors by their names in the released checkpoint, without the leading ``model.``."""

CHECKPOINTS = ("final0.ckpt", "beat_this-final0.ckpt")
"""Names of the checkpoint file: the published name, and the package's name for it."""
RATE = 22050
FRAMES_A_SECOND = 50
_WINDOW = 1024
_HOP = RATE // FRAMES_A_SECOND
_LOUDNESS = 1000.0
CHUNK = 1500
"""Number of frames in a chunk: half a minute, as in training."""
BORDER = 6
"""Number of frames at each end of a chunk whose predictions are discarded."""
_FRONT_BLOCKS = 3
_LAYERS = "transformer_blocks.layers"
_NEVER = -1000.0
"""The logit of a frame without a prediction."""


class BeatNetwork(NamedTuple):
    """A loaded network.

    If ``beat_is_sum`` is true, the outputs for beats and for downbeats are added.
    """

    weights: Weights
    beat_is_sum: bool
    device: str


def loaded_network(folder: Path, device: str) -> BeatNetwork:
    """Loads the network from a folder's checkpoint.

    Raises WeightsError if the checkpoint is incomplete.
    """
    torch = need("torch", "hf")
    names = [name for name in CHECKPOINTS if (folder / name).is_file()]
    path = folder / (names or CHECKPOINTS)[0]
    with opening(
        folder,
        f"{path.name} is not a checkpoint of Beat This",
        OSError,
        how_to_fix=_ADVICE,
    ):
        # weights_only: a checkpoint is a pickle, and a pickle can run code.
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        weights: dict[str, Any] = {}
        for name, tensor in checkpoint["state_dict"].items():
            bare = name.removeprefix("model.").replace("_orig_mod.", "")
            weights[bare] = tensor
        settings = checkpoint.get("hyper_parameters", {})
        network = BeatNetwork(weights, bool(settings.get("sum_head", True)), "cpu")
        missing = _gaps(network, settings)
    if missing:
        raise WeightsError(folder, f"cannot be used: {missing}", how_to_fix=_ADVICE)
    placed = {name: tensor.to(device) for name, tensor in weights.items()}
    return network._replace(weights=placed, device=device)


_ADVICE = (
    "copy the released checkpoint final0.ckpt to this folder again, or name another "
    "folder with the switch"
)


def _gaps(network: BeatNetwork, settings: Mapping[str, Any]) -> str:
    """Describes the weights that the checkpoint lacks, or returns an empty string.

    Raises KeyError for a missing weight outside of the blocks.
    """
    layers = _layer_count(network.weights)
    expected = settings.get("n_layers", layers)
    if not layers or layers != expected:
        return f"it has {layers} of {expected} layers"
    # Rotary positions are computed in this module, and blocks may share them.
    names = [name for name in network.weights if ".rotary" not in name]
    uneven = uneven_blocks(names, _LAYERS) or uneven_blocks(names, "frontend.blocks")
    if uneven:
        return uneven
    torch = need("torch", "hf")
    with torch.inference_mode():
        _chunk_logits(network, torch.zeros(8, 128))
    return ""


def _layer_count(weights: Weights) -> int:
    starts = [name for name in weights if name.startswith(f"{_LAYERS}.")]
    return len({name.split(".")[2] for name in starts})


def beat_logits(network: BeatNetwork, samples: Any) -> Any:
    """Returns 50 beat logits per second of sound.

    The sound is mono at ``RATE`` and at least one window long.
    """
    torch = need("torch", "hf")
    with torch.inference_mode():
        # Copied, since clips are read-only and torch does not accept such arrays.
        spectrum = log_mel(torch.from_numpy(samples.copy()).to(network.device))
        whole = torch.full((len(spectrum),), _NEVER)
        # Written in reverse: where chunks overlap, the earlier chunk counts.
        for start in reversed(chunk_starts(len(spectrum))):
            before = max(0, -start)
            after = max(0, min(BORDER, start + CHUNK - len(spectrum)))
            part = spectrum[max(start, 0) : start + CHUNK]
            # The borders are filled with silence.
            chunk = torch.nn.functional.pad(part, (0, 0, before, after))
            logits = _chunk_logits(network, chunk).cpu()
            whole[start + BORDER : start + CHUNK - BORDER] = logits[BORDER:-BORDER]
        return whole


def chunk_starts(frames: int) -> list[int]:
    """Returns the starts of chunks that cover all frames.

    The last chunk ends with the sound.

    >>> chunk_starts(500), chunk_starts(3000)
    ([-6], [-6, 1482, 1506])
    """
    step = CHUNK - 2 * BORDER
    starts = list(range(-BORDER, frames - BORDER, step))
    if frames > step:
        starts[-1] = frames - (CHUNK - BORDER)
    return starts


def log_mel(samples: Any) -> Any:
    """Returns the loudness in 128 bands between 30 and 11,000 Hz.

    The shape is (frames, bands).
    """
    torch = need("torch", "hf")
    window = torch.hann_window(_WINDOW, device=samples.device)
    spectrum = torch.stft(
        samples, _WINDOW, _HOP, window=window, normalized=True, return_complex=True
    ).abs()
    bands = torch.as_tensor(_bands(), dtype=torch.float32, device=samples.device)
    return torch.log1p(_LOUDNESS * (spectrum.T @ bands))


@cache
def _bands() -> Any:
    """Returns Slaney's mel filters, not normalised, of shape (frequencies, bands)."""
    audio_utils = need("transformers.audio_utils", "hf")
    return audio_utils.mel_filter_bank(
        _WINDOW // 2 + 1, 128, 30.0, 11000.0, RATE, norm=None, mel_scale="slaney"
    )


def _chunk_logits(network: BeatNetwork, spectrum: Any) -> Any:
    functional, w = need("torch.nn.functional", "hf"), network.weights
    x = _batch_norm(w, "frontend.stem.bn1d", spectrum.T[None])[:, None]
    x = functional.conv2d(
        x, w["frontend.stem.conv2d.weight"], stride=(4, 1), padding=(0, 1)
    )
    x = functional.gelu(_batch_norm(w, "frontend.stem.bn2d", x))
    for number in range(_FRONT_BLOCKS):
        x = _front_block(w, f"frontend.blocks.{number}", x)
    x = x.permute(0, 3, 1, 2).flatten(2)  # (1, frames, channels of all bands)
    x = functional.linear(x, w["frontend.linear.weight"], w["frontend.linear.bias"])
    for number in range(_layer_count(w)):
        x = x + _attention(w, f"{_LAYERS}.{number}.0", x)
        x = x + _feed_forward(w, f"{_LAYERS}.{number}.1", x)
    x = _rms_norm(x, w["transformer_blocks.norm.gamma"])
    head = "task_heads.beat_downbeat_lin"
    both = functional.linear(x, w[f"{head}.weight"], w[f"{head}.bias"])
    beat, downbeat = both[0].T
    if network.beat_is_sum:
        return beat + downbeat
    return beat


def _front_block(
    w: Weights,
    name: str,
    x: Any,
) -> Any:
    """Applies attention along bands, attention along time, and a convolution.

    The convolution halves the number of bands.
    """
    functional = need("torch.nn.functional", "hf")
    if f"{name}.partial.attnF.to_qkv.weight" in w:
        x = x.permute(0, 3, 2, 1)[0]  # (frames, bands, channels)
        x = _both(w, f"{name}.partial", "F", x)
        x = _both(w, f"{name}.partial", "T", x.transpose(0, 1))
        x = x.permute(2, 0, 1)[None]  # (1, channels, bands, frames)
    convolution = w[f"{name}.conv2d.weight"]
    x = functional.conv2d(x, convolution, stride=(2, 1), padding=(0, 1))
    return functional.gelu(_batch_norm(w, f"{name}.norm", x))


def _both(
    w: Weights,
    name: str,
    along: str,
    x: Any,
) -> Any:
    x = x + _attention(w, f"{name}.attn{along}", x)
    return x + _feed_forward(w, f"{name}.ff{along}", x)


def _attention(
    w: Weights,
    name: str,
    x: Any,
) -> Any:
    """Applies gated attention with rotary positions to (batch, length, channels)."""
    functional = need("torch.nn.functional", "hf")
    x = _rms_norm(x, w[f"{name}.norm.gamma"])
    heads = len(w[f"{name}.to_gates.bias"])
    q, k, v = (
        functional.linear(x, w[f"{name}.to_qkv.weight"])
        .unflatten(-1, (3, heads, -1))
        .permute(2, 0, 3, 1, 4)
    )
    frequencies = w[f"{name}.rotary_embed.freqs"]
    out = functional.scaled_dot_product_attention(
        _rotated(q, frequencies), _rotated(k, frequencies), v
    )
    gates = functional.linear(
        x, w[f"{name}.to_gates.weight"], w[f"{name}.to_gates.bias"]
    )
    out = out.transpose(1, 2) * gates.sigmoid()[..., None]
    return functional.linear(out.flatten(2), w[f"{name}.to_out.0.weight"])


def _rotated(x: Any, frequencies: Any) -> Any:
    """Rotates pairs of channels by an angle that grows with the position."""
    torch = need("torch", "hf")
    count, kind = x.shape[-2], frequencies.dtype
    places = torch.arange(count, device=x.device, dtype=kind)
    angles = places[:, None] * frequencies
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = angles.cos(), angles.sin()
    turned = (even * cos - odd * sin, odd * cos + even * sin)
    return torch.stack(turned, -1).flatten(-2)


def _feed_forward(
    w: Weights,
    name: str,
    x: Any,
) -> Any:
    functional = need("torch.nn.functional", "hf")
    x = _rms_norm(x, w[f"{name}.net.0.gamma"])
    x = functional.gelu(
        functional.linear(x, w[f"{name}.net.1.weight"], w[f"{name}.net.1.bias"])
    )
    return functional.linear(x, w[f"{name}.net.4.weight"], w[f"{name}.net.4.bias"])


def _rms_norm(x: Any, gamma: Any) -> Any:
    normalised = need("torch.nn.functional", "hf").normalize(x, dim=-1)
    return normalised * x.shape[-1] ** 0.5 * gamma


def _batch_norm(
    w: Weights,
    name: str,
    x: Any,
) -> Any:
    parts = ("running_mean", "running_var", "weight", "bias")
    tensors = [w[f"{name}.{part}"] for part in parts]
    return need("torch.nn.functional", "hf").batch_norm(x, *tensors)
