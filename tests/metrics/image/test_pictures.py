import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mmeval.errors import CorruptMediaError
from mmeval.media import Media
from mmeval.metrics.image import pictures
from mmeval.metrics.image.pictures import (
    data_pixels,
    input_picture,
    produced,
    reference_picture,
    resized,
    rgb,
    the_only,
)
from mmeval.records import Score
from tests.support.pictures import DAMAGED, medium, noise, picture_trial
from tests.support.trials import trial

RED = (200, 10, 10)
KINDS: list[tuple[Image.Image, str, tuple[int, int, int]]] = [
    (Image.new("RGB", (8, 8), RED), "PNG", RED),
    (Image.new("RGBA", (8, 8), (*RED, 0)), "PNG", RED),
    (Image.new("RGB", (8, 8), RED).quantize(4), "GIF", RED),
    (Image.new("CMYK", (8, 8), (0, 0, 0, 255)), "JPEG", (0, 0, 0)),
    (Image.fromarray(np.full((8, 8), 200 * 257, np.uint16)), "PNG", (200, 200, 200)),
]


def saved(picture: Image.Image, kind: str = "PNG", **options: Any) -> Media:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return Media.from_bytes(file.getvalue())


@pytest.mark.parametrize(
    ("picture", "form", "first"), KINDS, ids=[picture.mode for picture, *_ in KINDS]
)
def test_every_kind_becomes_red_green_and_blue(
    picture: Image.Image, form: str, first: tuple[int, int, int]
) -> None:
    pixels = rgb(saved(picture, form))
    assert pixels.dtype == np.uint8
    assert pixels.shape == (8, 8, 3)
    assert tuple(pixels[0, 0]) == first


def test_a_picture_is_decoded_once_and_cannot_be_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    media = medium(noise(9, 9))
    first = rgb(media)
    monkeypatch.delattr(pictures, "image")
    assert rgb(media) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 0


def test_a_file_that_has_changed_is_no_wrong_answer(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(DAMAGED.read())
    with pytest.raises(CorruptMediaError):
        produced(
            Media.from_json(
                {**medium(noise(9, 9)).to_json(), "path": str(tmp_path / "a.png")},
                tmp_path,
            )
        )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((), "0 pictures"),
        ((noise(8, 8), noise(8, 8)), "2 pictures"),
        ((DAMAGED,), "cannot be decoded"),
    ],
    ids=["none", "two", "damaged"],
)
def test_an_answer_without_a_usable_picture_is_zero(answer: Any, words: str) -> None:
    score = the_only(picture_trial(*answer))
    assert isinstance(score, Score)
    assert score.value == 0
    assert words in score.evidence["reason"]
    pixels = noise(9, 12)
    assert (the_only(picture_trial(pixels)) == pixels).all()  # type: ignore[union-attr]
    assert resized(pixels, (9, 12), "LANCZOS") is pixels
    assert (
        resized(pixels, (20, 30), "LANCZOS") != resized(pixels, (20, 30), "BICUBIC")
    ).any()


def test_data_without_a_usable_picture_and_pictures_above_the_limits_are_unscored() -> (
    None
):
    plain, in_words = trial("x").sample, trial("x", "no picture").sample
    for score in (
        the_only(trial(None)),
        data_pixels(DAMAGED),
        input_picture(plain),
        *map(reference_picture, (plain, in_words)),
    ):
        assert isinstance(score, Score) and score.status == "unscored"
    huge = saved(Image.new("1", (6001, 6001)))
    for found in (produced(huge), data_pixels(huge)):
        assert isinstance(found, Score)
        assert found.status == "unscored"
        assert "max_pixels" in found.reason
