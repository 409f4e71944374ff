import base64
from typing import Any

import numpy
import pytest

from mmeval.errors import UsageError
from mmeval.media.embedded import (
    embedded_medium,
    is_sound,
    medium_inside,
    sound_medium,
)
from tests.support.tiny_media import picture, wav

PICTURE = base64.b64encode(picture(size=(20, 20))).decode()
SOUND = base64.b64encode(wav(800)).decode()


@pytest.mark.parametrize(
    ("text", "mime"),
    [
        (PICTURE, "image/png"),
        (SOUND, "audio/wav"),
        (PICTURE.rstrip("="), "image/png"),
        (f"{PICTURE[:76]}\n{PICTURE[76:]}\n", "image/png"),
        (PICTURE.replace("+", "-").replace("/", "_"), "image/png"),
        (f"data:image/png;base64,{PICTURE}", "image/png"),
        (f"data:;base64,{SOUND}", "audio/wav"),
        ("data:image/svg+xml,%3Csvg xmlns='x'%3E%3C/svg%3E", "image/svg+xml"),
    ],
)
def test_a_text_that_is_a_medium_is_read(text: str, mime: str) -> None:
    medium = embedded_medium(text)
    assert medium is not None
    assert medium.mime == mime


def test_a_data_uri_has_the_bytes_of_its_file() -> None:
    medium = embedded_medium(f"data:image/png;base64,{PICTURE}")
    assert medium is not None
    assert medium.read() == picture(size=(20, 20))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "img/a.png",
        "a" * 5000,
        "/home/user/" * 20,
        base64.b64encode(b"a text of words " * 20).decode(),
    ],
)
def test_any_other_text_is_no_medium(text: str) -> None:
    assert (embedded_medium(text), medium_inside(text)) == (None, "")


@pytest.mark.parametrize("text", [f"{PICTURE}!", "data:image/png;base64,a!"])
def test_damaged_base64_is_a_fault(text: str) -> None:
    with pytest.raises(UsageError, match="damaged"):
        embedded_medium(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"Look at {PICTURE} here", "image"),
        (f"Hear data:audio/wav;base64,{SOUND}", "audio"),
        ("Decode aGVsbG8gd29ybGQsIGhlbGxvIHdvcmxkLCBoZWxsbyB3b3JsZCwgaGVsbG8gd29y", ""),
    ],
)
def test_a_medium_inside_a_text_is_noticed(text: str, kind: str) -> None:
    assert medium_inside(text) == kind


@pytest.mark.parametrize(
    ("array", "frames", "channels"),
    [
        ([0.0, 0.5, -0.5, 1.0], 4, 1),
        ([0, 16384, -16384, 0], 4, 1),
        ([[0.0, 0.5, 1.0], [0.0, 0.0, 0.0]], 3, 2),
    ],
)
def test_numbers_with_a_rate_are_a_sound(
    array: Any, frames: int, channels: int
) -> None:
    sound = {"array": array, "sampling_rate": 16000, "path": None}
    assert is_sound(sound)
    medium = sound_medium(sound)
    # 44 bytes of head, 2 for each sample
    assert (medium.mime, medium.size) == ("audio/wav", 44 + 2 * frames * channels)


@pytest.mark.parametrize(
    ("array", "samples"),
    [
        ([0, 16384, -16384], [0, 16384, -16384]),
        ([0, 1, -1], [0, 32767, -32767]),
        (numpy.array([0, 1, -1], dtype="int16"), [0, 1, -1]),
        (numpy.array([0, -(2**15)], dtype="int16"), [0, -32767]),
    ],
)
def test_whole_numbers_of_a_sound_keep_their_level(
    array: Any, samples: list[int]
) -> None:
    data = sound_medium({"array": array, "sampling_rate": 16000}).data
    assert data is not None
    # The head of the file has 44 bytes.
    decoded = numpy.frombuffer(data[44:], dtype="<i2")
    assert abs(decoded - numpy.array(samples)).max() <= 1


def test_whole_numbers_of_more_than_16_bits_are_a_fault() -> None:
    sound = {"array": [0, 2**20, -(2**20)], "sampling_rate": 16000}
    with pytest.raises(UsageError, match="more than 16 bits"):
        sound_medium(sound)


@pytest.mark.parametrize(
    "value",
    [
        {"array": [], "sampling_rate": 16000},
        {"array": ["a"], "sampling_rate": 16000},
        {"array": [0.0], "sampling_rate": 0},
        {"array": [[[0.0]]], "sampling_rate": 8000},
        {"array": [float("nan")], "sampling_rate": 8000},
    ],
)
def test_what_is_no_sound_is_a_fault(value: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="not a sound"):
        sound_medium(value)


@pytest.mark.parametrize("value", [{"array": [0]}, {"array": [0], "rate": 1}, [0], 3])
def test_another_mapping_is_no_sound(value: Any) -> None:
    assert not is_sound(value)
