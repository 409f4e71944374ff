"""The backend of diffusers keeps the rules of batch backends, with a pipeline of each
kind."""

from collections.abc import Mapping
from functools import cache

import pytest
import torch

from mmeval.authoring.testing.checks import check_backend
from mmeval.media import decode
from mmeval.model_backends.diffusers import DiffusersBackend
from mmeval.records import GenerationParams, Request, user
from tests.support.models import answers, drawn, only, says, tiny_model

SHORT: Mapping[str, Mapping[str, float]] = {
    "video": {"video.frames": 5},
    "audio": {"audio.seconds": 0.05},
}
PIPELINES = (
    "sd",
    "sd_edit",
    "sd_img2img",
    "flux2",
    "wan",
    "ltx_i2v",
    "stable_video",
    "stable_audio",
)


@cache
def backend(model: str) -> DiffusersBackend:
    torch.set_num_threads(1)
    # these pipelines are small only in their weights: their usual size is large
    side = 32 if model in ("wan", "stable_video") else None
    made = DiffusersBackend(
        pretrained=str(tiny_model(model)),
        num_inference_steps=2,
        width=side,
        height=side,
    )
    made.start()
    return made


def requests(model: str, count: int = 4) -> list[Request]:
    """Requests with inputs and seeds of their own."""
    capabilities = backend(model).capabilities
    [gives] = capabilities.outputs
    made = []
    for seed in range(count):
        pictures = [drawn((60 * seed, 99, 3), (96, 64))]
        texts = ["a hare " * seed + "runs"]
        parts = [
            *(pictures if "image" in capabilities.inputs else ()),
            *(texts if "text" in capabilities.inputs else ()),
        ]
        params = GenerationParams(options=SHORT.get(gives, {}))
        made.append(Request((user(*parts),), params, (gives,), seed=seed))
    return made


def test_it_keeps_the_rules_of_batch_backends() -> None:
    check_backend(backend("sd"))


@pytest.mark.parametrize("model", PIPELINES)
def test_the_same_seed_gives_the_same_bytes_alone_and_in_a_batch(model: str) -> None:
    asked = requests(model)
    [gives] = asked[0].wants
    together = [only(gives, response) for response in answers(backend(model), asked)]
    alone = [only(gives, says(backend(model), request)) for request in asked]
    assert [medium.sha256 for medium in together] == [item.sha256 for item in alone]
    assert len({medium.sha256 for medium in together}) == len(asked)


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("sd_edit", (96, 64)),
        ("sd_img2img", (96, 64)),
        ("flux2", (96, 64)),
        ("ltx_i2v", (96, 64)),
    ],
)
def test_the_size_is_that_of_the_picture(model: str, size: tuple[int, int]) -> None:
    [request] = requests(model, 1)
    [gives] = request.wants
    medium = only(gives, says(backend(model), request))
    if gives == "image":
        assert decode.image(medium).size == size
    else:
        info = decode.video_info(medium)
        assert (info.width, info.height) == size


def test_a_video_has_the_requested_frames_and_rate() -> None:
    [request] = requests("ltx_i2v", 1)
    params = GenerationParams(options={"video.frames": 9, "video.fps": 12})
    asked = Request(request.messages, params, ("video",), seed=1)
    info = decode.video_info(only("video", says(backend("ltx_i2v"), asked)))
    assert info.seconds == pytest.approx(9 / 12)


def test_frames_that_a_pipeline_rounds_are_a_warning() -> None:
    [request] = requests("wan", 1)
    params = GenerationParams(options={"video.frames": 7})
    asked = Request(request.messages, params, ("video",), seed=1)
    assert "made 5 frames, not 7" in says(backend("wan"), asked).warnings[0]


def test_a_sound_has_the_requested_length_and_the_rate_of_its_pipeline() -> None:
    [request] = requests("stable_audio", 1)
    sound = decode.audio(only("audio", says(backend("stable_audio"), request)))
    assert sound.rate == 8000
    assert sound.samples.shape == (400, 2)


def test_every_picture_counts_where_several_are_taken() -> None:
    red, blue = drawn((255, 0, 0), (64, 64)), drawn((0, 0, 255), (64, 64))
    found = set()
    for pictures in ([], [red], [red, blue], [blue, red]):
        asked = Request((user(*pictures, "a hare"),), wants=("image",), seed=1)
        asked_small = Request(
            asked.messages,
            GenerationParams(options={"image.size": "64x64"}),
            ("image",),
            seed=1,
        )
        found.add(only("image", says(backend("flux2"), asked_small)).sha256)
    assert len(found) == 4
