"""What CLIP, ResNet-50 and LPIPS cost beside the bare networks, and key frames beside
decoding.

The networks have their real sizes and random weights, and 16 pictures, or pairs, that
are decoded already. Bare are the same layers by their libraries, on one prepared batch.
The clip has moving noise, so that its frames take the time of filmed ones; bare is
decoding each frame and nothing else. All in one thread, by processor time. Memory is
that of a process of its own that scores clips one after the other.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from benchmarks.measuring import Figure, Fresh, Paired, busy, high_water, paired
from mmeval.content import Interleaved, Media, media_part
from mmeval.metric import bind, score_one
from mmeval.metric.model import bound_model
from mmeval.metrics.image import lpips as lpips_metric
from mmeval.metrics.image.networks import vector_memory
from mmeval.metrics.image.networks.clip import CLIP, Shown, embedder
from mmeval.metrics.image.networks.convolutions import Layers, batch_of, normalised
from mmeval.metrics.image.networks.lpips_network import LPIPS
from mmeval.metrics.image.networks.resnet50 import RESNET50, resnet50_features
from mmeval.metrics.image.pictures import rgb
from mmeval.records import Sample, Trial
from mmeval.tasks.mme_unify.clips.frames import key_frames
from mmeval.tasks.mme_unify.clips.mme_unify_fvd import mme_unify_fvd
from tests.support.pictures import medium, noise
from tests.support.tiny_models import tiny_model

GOAL, CLIP_GOAL, FLAT = 1.15, 1.3, 16.0
AT_ONCE, SIDE, PAIRS = 16, 512, 7
SECONDS, RATE = 16, 24
FEW, MANY = 10, 40
"""Clips that are scored before memory is looked at, and until then."""


def figures(quick: bool) -> Iterator[Figure]:
    pairs = 2 if quick else PAIRS
    for name, measure in (("CLIP", _clip), ("ResNet-50", _resnet50), ("LPIPS", _lpips)):
        found = measure(pairs)
        yield Figure(
            f"{name} to the bare network, {AT_ONCE} at once",
            found.ratio,
            GOAL,
            " times",
            note=str(found),
        )
    found = _key_frames(SECONDS, pairs)
    yield Figure(
        "key frames of a 720p clip to decoding it",
        found.ratio,
        CLIP_GOAL,
        " times",
        note=str(found),
    )
    grown = Fresh("benchmarks.metrics.mme_unify:grown").result()
    yield Figure(f"memory that {MANY} clips take more than {FEW}", grown, FLAT, " MiB")


def _clip(pairs: int) -> Paired:
    """The network is that of ViT-B/32; that of L/14 takes 18 times as long, and the
    rest the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in tiny_model("clip").iterdir():
            if file.suffix == ".json":
                (folder / file.name).write_bytes(file.read_bytes())
        network = transformers.CLIPModel(
            transformers.CLIPConfig(text_config={"vocab_size": 300})
        ).eval()
        network.save_pretrained(folder)
        transformers.CLIPImageProcessorPil().save_pretrained(folder)
        model = bound_model(str(folder), CLIP)
        shown = [Shown.of(medium(noise(SIDE, SIDE, at))) for at in range(AT_ONCE)]
        for one in shown:
            rgb(one.media)
        batch = torch.randn(AT_ONCE, 3, 224, 224)

        def ours() -> None:
            vector_memory._KEPT.clear()
            embedder(model).pictures(shown)

        return paired(
            ours,
            _quiet(lambda: network.get_image_features(pixel_values=batch)),
            pairs,
            busy,
        )


def _resnet50(pairs: int) -> Paired:
    network = transformers.ResNetModel(transformers.ResNetConfig()).eval()
    weights, names = network.state_dict(), {"conv1": "embedder.embedder"}
    for stage, count in enumerate(network.config.depths):
        theirs = f"encoder.stages.{stage}.layers"
        names[f"layer{stage + 1}.0.downsample.0"] = f"{theirs}.0.shortcut"
        for number in range(count):
            block = f"layer{stage + 1}.{number}"
            for at in range(3):
                names[f"{block}.conv{at + 1}"] = f"{theirs}.{number}.layer.{at}"
    layers = Layers(
        {
            ours: normalised(
                weights, f"{its}.convolution", f"{its}.normalization", 1e-5, "cpu"
            )
            for ours, its in names.items()
        },
        "cpu",
    )
    frames = [noise(224, 224, at) for at in range(AT_ONCE)]
    batch = batch_of(frames, "cpu")
    return paired(
        lambda: resnet50_features(layers, frames),
        _quiet(lambda: network(batch)),
        pairs,
        busy,
    )


def _lpips(pairs: int) -> Paired:
    """Bare is AlexNet alone, for the 32 pictures of the pairs, 16 at once."""
    layers = torch.nn
    trunk = layers.Sequential(
        layers.Conv2d(3, 64, 11, 4, 2),
        layers.ReLU(),
        layers.MaxPool2d(3, 2),
        layers.Conv2d(64, 192, 5, 1, 2),
        layers.ReLU(),
        layers.MaxPool2d(3, 2),
        layers.Conv2d(192, 384, 3, 1, 1),
        layers.ReLU(),
        layers.Conv2d(384, 256, 3, 1, 1),
        layers.ReLU(),
        layers.Conv2d(256, 256, 3, 1, 1),
        layers.ReLU(),
    )
    with tempfile.TemporaryDirectory() as name:
        weights = {
            f"features.{layer}": tensor for layer, tensor in trunk.state_dict().items()
        }
        torch.save(weights, Path(name) / "alexnet-owt-7be5be79.pth")
        widths = (64, 192, 384, 256, 256)
        heads = {
            f"lin{at}.model.1.weight": torch.rand(1, width, 1, 1)
            for at, width in enumerate(widths)
        }
        torch.save(heads, Path(name) / "alex.pth")
        model = bound_model(name, LPIPS)
        pictures = [
            (noise(SIDE, SIDE, at), noise(SIDE, SIDE, at + 1)) for at in range(AT_ONCE)
        ]
        batch = torch.randn(AT_ONCE, 3, SIDE, SIDE)
        ours: Callable[[], object] = lambda: lpips_metric._distances(  # noqa: E731
            pictures, model, signed=True
        )
        return paired(ours, _quiet(lambda: (trunk(batch), trunk(batch))), pairs, busy)


def _quiet(call: Callable[[], object]) -> Callable[[], object]:
    def called() -> object:
        with torch.inference_mode():
            return call()

    return called


def _key_frames(seconds: int, pairs: int) -> Paired:
    import av

    data = _filmed(seconds)

    def decode() -> None:
        with av.open(io.BytesIO(data), "r") as container:
            for _ in container.decode(video=0):
                pass

    return paired(lambda: key_frames(Media.from_bytes(data)), decode, pairs, busy)


def _filmed(seconds: int, height: int = 720, width: int = 1280, seed: int = 0) -> bytes:
    """A picture that moves, with grain that is new in each frame, at five megabits a
    second."""
    import av

    file, rng = io.BytesIO(), np.random.default_rng(seed)
    ground = noise(height, width, seed + 1)
    with av.open(file, "w", format="mp4") as out:
        # its class depends on the codec's name
        stream: Any = out.add_stream("libx264", rate=RATE)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.bit_rate = 5_000_000
        for number in range(seconds * RATE):
            grain = rng.integers(0, 24, (height, width, 1), np.uint8)
            moved = np.roll(ground // 2 + 40, (number, 3 * number), (0, 1)) + grain
            out.mux(stream.encode(av.VideoFrame.from_ndarray(moved, format="rgb24")))
        out.mux(stream.encode())
    return file.getvalue()


def grown() -> float:
    bound = bind(
        mme_unify_fvd, {"model": bound_model(str(tiny_model("resnet50")), RESNET50)}
    )
    seen = 0.0
    for at in range(MANY):
        clip, reference = (
            Media.from_bytes(_filmed(1, 360, 640, seed))
            for seed in (2 * at, 2 * at + 1)
        )
        references = (Interleaved((media_part(reference),)),)
        score_one(
            bound,
            Trial(
                Sample(str(at), (), references), output=Interleaved((media_part(clip),))
            ),
        )
        seen = high_water() if at + 1 == FEW else seen
    return high_water() - seen
