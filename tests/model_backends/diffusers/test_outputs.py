import numpy as np
import pytest

from mmeval.media import decode
from mmeval.model_backends.diffusers.outputs import to_film, to_wave
from mmeval.model_backends.hf.failures import RowError


def film() -> np.ndarray:
    """Six frames from black to white, with one row and one column too many."""
    light = np.linspace(0, 1, 6)[:, None, None, None]
    return np.broadcast_to(light, (6, 33, 49, 3))


def test_frames_become_an_mp4_of_their_number_size_and_rate() -> None:
    medium = to_film(film(), 12)
    info = decode.video_info(medium)
    assert medium.mime == "video/mp4"
    assert (info.width, info.height) == (48, 32)
    assert info.seconds == pytest.approx(0.5)
    shown = [int(frame.rgb[9, 9, 0]) for frame in decode.video(medium)]
    assert shown == pytest.approx([0, 51, 102, 153, 204, 255], abs=6)


def test_equal_frames_are_equal_files() -> None:
    assert to_film(film(), 12) == to_film(film().copy(), 12)
    assert to_film(film(), 12) != to_film(film(), 13)


@pytest.mark.parametrize(
    "frames",
    [np.zeros((2, 8, 8)), np.zeros((0, 8, 8, 3)), np.full((1, 8, 8, 3), np.nan)],
    ids=["no colours", "no frames", "not numbers"],
)
def test_frames_that_are_not_a_video_are_the_error_of_their_row(
    frames: np.ndarray,
) -> None:
    with pytest.raises(RowError, match="video"):
        to_film(frames, 12)


def test_a_sound_keeps_its_channels() -> None:
    samples = np.array([[0.0, 0.5, 1.0], [0.0, -0.5, -1.0]])
    sound = decode.audio(to_wave(samples, 8000))
    assert sound.rate == 8000
    assert pytest.approx(samples, abs=1e-4) == sound.samples.T


def test_samples_that_are_not_numbers_are_the_error_of_their_row() -> None:
    with pytest.raises(RowError, match="dtype=float32"):
        to_wave(np.array([np.nan]), 8000)
