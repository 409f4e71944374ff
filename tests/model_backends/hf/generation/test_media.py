import io
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from mmeval.media.decode import audio, image, video, video_info
from mmeval.model_backends.hf.failures import RowError
from mmeval.model_backends.hf.generation.media import (
    Span,
    to_film,
    to_picture,
    to_sound,
)

TONE = np.sin(np.linspace(0, 50, 800)).astype(np.float32)
SQUARE = np.arange(75, dtype=np.uint8).reshape(5, 5, 3)
NOTED = Image.fromarray(SQUARE)
NOTED.info["comment"] = "made by hand"
LIGHT = np.linspace(0, 1, 6)[:, None, None, None]
FILM = np.broadcast_to(LIGHT, (6, 33, 49, 3))
"""Six frames from black to white, with one row and one column too many."""


@pytest.mark.parametrize(
    "pixels",
    [
        SQUARE,
        SQUARE.transpose(2, 0, 1),
        SQUARE.astype(np.int64),
        torch.from_numpy(SQUARE.transpose(2, 0, 1).copy()),
        NOTED,
    ],
    ids=[
        "rows first",
        "channels first",
        "integers",
        "tensor",
        "picture with a comment",
    ],
)
def test_equal_pixels_are_one_file(pixels: Any) -> None:
    made = to_picture(pixels)
    assert made.mime == "image/png"
    assert made.sha256 == to_picture(SQUARE).sha256
    assert np.array_equal(np.asarray(image(made)), SQUARE)


@pytest.mark.parametrize(
    ("span", "values"),
    [
        ("0..1", (0.0, 0.5, 2.0)),
        ("-1..1", (-1.0, 0.0, 9.0)),
        ("0..255", (0, 127.5, 300)),
    ],
)
def test_values_are_spread_over_the_span_and_clipped(
    span: Span, values: tuple[float, ...]
) -> None:
    # channels first
    grey = torch.tensor([[[value] * 2] * 2 for value in values], dtype=torch.bfloat16)
    assert image(to_picture(grey, span)).getpixel((0, 0)) == (0, 128, 255)


@pytest.mark.parametrize(
    ("shape", "mode", "size"),
    [((2, 2), "L", (2, 2)), ((1, 5, 6), "L", (6, 5)), ((5, 6, 4), "RGBA", (6, 5))],
)
def test_grey_and_clear_pictures_keep_their_mode(
    shape: tuple[int, ...], mode: str, size: tuple[int, int]
) -> None:
    made = Image.open(io.BytesIO(to_picture(np.zeros(shape)).read()))
    assert made.mode == mode
    assert made.size == size


@pytest.mark.parametrize("shape", [(3,), (0, 4, 3), (2, 2, 2, 3), (5, 5, 2)], ids=str)
def test_other_shapes_and_pixels_that_are_no_numbers_are_no_pictures(
    shape: tuple[int, ...],
) -> None:
    with pytest.raises(RowError, match="not a picture"):
        to_picture(np.zeros(shape))
    with pytest.raises(RowError, match="NaN"):
        to_picture(np.full((2, 2, 3), np.nan), "0..1")


@pytest.mark.parametrize(
    "samples", [TONE, TONE[None], torch.from_numpy(TONE)[None, None], TONE.tolist()]
)
def test_one_channel_of_any_shape_is_the_same_sound(samples: Any) -> None:
    made = to_sound(samples, 24000)
    assert made.sha256 == to_sound(TONE, 24000).sha256
    heard = audio(made)
    assert heard.rate == 24000
    assert heard.samples.shape == (800, 1)
    assert np.abs(heard.samples[:, 0] - TONE).max() < 1e-3


@pytest.mark.parametrize(
    "samples",
    [np.zeros((2, 5)), np.zeros(0), np.full(4, np.nan)],
    ids=["two", "none", "nan"],
)
def test_several_channels_no_samples_and_no_numbers_are_no_sound(samples: Any) -> None:
    with pytest.raises(RowError, match=r"sound|NaN"):
        to_sound(samples, 16000)


@pytest.mark.parametrize(
    "frames",
    [FILM, torch.from_numpy(FILM.transpose(0, 3, 1, 2).copy())],
    ids=["array", "tensor"],
)
def test_frames_become_a_film_of_their_number_size_and_rate(frames: Any) -> None:
    film = to_film(frames, 12, "0..1")
    info = video_info(film)
    assert film.mime == "video/mp4"
    assert (info.width, info.height) == (48, 32)
    assert info.seconds == pytest.approx(0.5)
    shown = [int(frame.rgb[9, 9, 0]) for frame in video(film)]
    assert shown == pytest.approx([0, 51, 102, 153, 204, 255], abs=6)


def test_equal_frames_are_one_file() -> None:
    assert to_film(FILM, 12, "0..1") == to_film(FILM.copy(), 12, "0..1")
    assert to_film(FILM, 12, "0..1") != to_film(FILM, 13, "0..1")


@pytest.mark.parametrize(
    "frames",
    [np.zeros((2, 8, 8)), np.zeros((0, 8, 8, 3)), np.full((1, 8, 8, 3), np.nan)],
    ids=["no colours", "no frames", "not numbers"],
)
def test_other_frames_are_no_film(frames: Any) -> None:
    with pytest.raises(RowError, match="video"):
        to_film(frames, 12, "0..1")


def test_a_sound_keeps_its_channels() -> None:
    samples = np.array([[0.0, 0.5, 1.0], [0.0, -0.5, -1.0]])
    stereo = audio(to_sound(samples, 8000, 2))
    assert stereo.rate == 8000
    assert pytest.approx(samples, abs=1e-4) == stereo.samples.T
