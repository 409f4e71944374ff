import pytest
from PIL import Image

from mmeval.media import Media
from mmeval.model_backends.diffusers.inputs import inputs_of, size_like
from mmeval.model_backends.diffusers.kinds import PipelineKind
from mmeval.model_backends.hf.failures import RowError
from tests.support.models import asked, drawn
from tests.support.tiny_media import picture

EDITS = PipelineKind("image", pictures="required", several_pictures=True)
FILMS = PipelineKind("video", takes_text=False, pictures="required")


def test_text_and_pictures_are_read_in_their_order() -> None:
    red, blue = drawn((255, 0, 0)), drawn((0, 0, 255))
    inputs = inputs_of(asked(red, "put this on", blue, "at night"), EDITS)
    colours = [shown.getpixel((0, 0)) for shown in inputs.pictures]
    assert colours == [(255, 0, 0), (0, 0, 255)]
    assert inputs.text.split() == ["put", "this", "onat", "night"]


def test_a_picture_is_upright_and_rgb_on_white_paper() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    turned = Media.from_bytes(picture("JPEG", size=(8, 4), exif=exif))
    clear = Media.from_bytes(picture(mode="RGBA", colour=(255, 0, 0, 0)))
    shown = inputs_of(asked("a", turned, clear), EDITS).pictures
    assert shown[0].size == (4, 8)
    assert shown[1].getpixel((0, 0)) == (255, 255, 255)


def test_a_pipeline_without_words_gets_no_text() -> None:
    inputs = inputs_of(asked(drawn()), FILMS)
    assert inputs.text == ""
    assert len(inputs.pictures) == 1


@pytest.mark.parametrize(
    ("parts", "kind", "words"),
    [
        ((drawn(),), "bad_request", "no text"),
        (
            ("a", Media.from_bytes(b"\x89PNG\r\n\x1a\n")),
            "bad_request",
            "cannot be read",
        ),
    ],
    ids=["no text", "damaged"],
)
def test_an_input_that_is_missing_or_damaged_is_the_error_of_its_row(
    parts: tuple[Media | str, ...], kind: str, words: str
) -> None:
    with pytest.raises(RowError, match=words) as caught:
        inputs_of(asked(*parts), EDITS)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((640, 480), (640, 480)),
        ((650, 490), (640, 480)),
        ((5, 900), (16, 896)),
        ((4000, 1000), (1248, 304)),
    ],
    ids=["kept", "rounded", "at least one multiple", "reduced"],
)
def test_a_size_has_the_aspect_ratio_of_a_picture(
    size: tuple[int, int], expected: tuple[int, int]
) -> None:
    shown = Image.new("RGB", size)
    assert size_like(shown, most_pixels=640 * 624, multiple=16) == expected
