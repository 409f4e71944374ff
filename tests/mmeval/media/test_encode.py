from typing import Any

import numpy as np
import pytest
from PIL import Image

from mmeval.media.decode import audio, image, video, video_info
from mmeval.media.encode import mp4, png, wav


def test_a_picture_comes_back_and_the_same_pixels_are_the_same_file() -> None:
    picture = Image.new("RGB", (5, 3), (1, 2, 3))
    noted = picture.copy()
    noted.info = {"icc_profile": b"of a camera" * 20}
    assert image(png(picture)).tobytes() == picture.tobytes()
    assert png(noted).sha256 == png(picture).sha256
    assert noted.info  # the caller's own stays


def test_a_sound_comes_back_with_its_channels_and_what_is_too_loud_is_clipped() -> None:
    samples = np.array([[0.0, 0.5], [2.0, -2.0]], np.float32)
    decoded = audio(wav(samples, 8000))
    assert decoded.rate == 8000
    assert np.allclose(decoded.samples, np.clip(samples, -1, 1), atol=1e-4)
    none: list[tuple[object, int]] = [
        ([], 8000),
        ([0.1], 0),
        ([float("nan")], 8000),
        (0.5, 8000),
        ([[[0.5]]], 8000),
    ]
    for sound, rate in none:
        with pytest.raises(ValueError, match=rf"{rate} Hz|NaN"):
            wav(np.array(sound, np.float32), rate)


def shades(count: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Grey frames, each lighter than the one before."""
    greys = np.linspace(20, 220, count).astype(np.uint8)
    return np.broadcast_to(greys[:, None, None, None], (count, 16, 32, 3))


def test_a_film_comes_back_with_its_frames_size_and_rate() -> None:
    film = mp4(shades(5), 10)

    info = video_info(film)
    assert film.mime == "video/mp4"
    assert (info.width, info.height, info.rate) == (32, 16, 10)
    means = [frame.rgb.mean() for frame in video(film)]
    assert np.allclose(means, [20, 70, 120, 170, 220], atol=3)


def test_the_same_frames_are_the_same_film() -> None:
    assert mp4(shades(5), 10).sha256 == mp4(shades(5), 10).sha256


@pytest.mark.parametrize(
    ("shape", "rate"),
    [
        ((0, 16, 32, 3), 10),
        ((2, 15, 32, 3), 10),
        ((2, 16, 32), 10),
        ((2, 16, 32, 3), 0),
    ],
    ids=["no frames", "an odd height", "no colours", "no rate"],
)
def test_frames_of_another_shape_are_refused(shape: tuple[int, ...], rate: int) -> None:
    with pytest.raises(ValueError, match="not a valid film"):
        mp4(np.zeros(shape, np.uint8), rate)
