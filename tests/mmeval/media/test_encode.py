import numpy as np
import pytest
from PIL import Image

from mmeval.media.decode import audio, image
from mmeval.media.encode import png, wav


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
