from __future__ import annotations

import pytest
from PIL import Image

from mmeval import decode
from mmeval.content.media import Media
from mmeval.decode import DecodeLimits
from mmeval.decode.picture import stored_image
from mmeval.errors import CorruptMediaError, MediaLimitError
from tests.support import tiny_media as tiny


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_a_picture_of_every_common_format_is_decoded(form: str) -> None:
    picture = decode.image(Media.from_bytes(tiny.picture(form)))
    assert (picture.mode, picture.size) == ("RGB", (8, 4))


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("L", 9, (9, 9, 9)),
        ("LA", (9, 5), (9, 9, 9, 5)),
        ("RGBA", (1, 2, 3, 4), (1, 2, 3, 4)),
        ("1", 1, (255, 255, 255)),
        ("I;16", 40000, (156, 156, 156)),
    ],
    ids=["grey", "grey and alpha", "alpha", "bits", "sixteen bits"],
)
def test_a_picture_becomes_rgb_and_keeps_its_transparency(mode: str, colour: object, expected: tuple[int, ...]) -> None:
    picture = decode.image(Media.from_bytes(tiny.picture(mode=mode, colour=colour)))
    assert picture.getpixel((0, 0)) == expected


def test_a_palette_with_a_transparent_colour_becomes_rgba() -> None:
    assert decode.image(Media.from_bytes(tiny.picture(mode="P", transparency=0))).mode == "RGBA"


def test_a_picture_lying_on_its_side_is_turned_upright() -> None:
    note = Image.Exif()
    note[0x112] = 6
    assert decode.image(Media.from_bytes(tiny.picture("JPEG", exif=note))).size == (4, 8)


def test_a_stored_picture_is_left_lying_on_its_side() -> None:
    note = Image.Exif()
    note[0x112] = 6
    media = Media.from_bytes(tiny.picture("JPEG", exif=note))

    assert [stored_image(media).size, decode.image(media).size, stored_image(media).size] == [(8, 4), (4, 8), (8, 4)]


@pytest.mark.parametrize(
    ("form", "written", "mode"),
    [("PNG", "RGBA", "RGBA"), ("PNG", "I;16", "RGB"), ("GIF", "P", "RGB")],
    ids=["alpha", "sixteen bits", "palette"],
)
def test_a_stored_picture_is_otherwise_that_of_any_reader(form: str, written: str, mode: str) -> None:
    media = Media.from_bytes(tiny.picture(form, mode=written, colour=9))
    stored, upright = stored_image(media), decode.image(media)

    assert (stored.mode, stored.tobytes()) == (mode, upright.tobytes())


def test_a_stored_picture_is_each_callers_own() -> None:
    media = Media.from_bytes(tiny.picture())
    stored_image(media).putpixel((0, 0), (1, 2, 3))

    assert stored_image(media).getpixel((0, 0)) == (0, 0, 0)


def test_a_stored_picture_is_held_to_the_limits_and_refused_where_it_is_damaged() -> None:
    with pytest.raises(MediaLimitError, match="32 pixels"):
        stored_image(Media.from_bytes(tiny.picture()), limits=DecodeLimits(max_pixels=31))
    with pytest.raises(CorruptMediaError, match="cannot be decoded as a picture"):
        stored_image(Media.from_bytes(tiny.picture()[:40]))


@pytest.mark.parametrize("side", [9_000, 20_000, 2**31 - 1])
def test_a_picture_that_declares_too_many_pixels_is_refused_before_it_is_decoded(side: int) -> None:
    before = Image.MAX_IMAGE_PIXELS
    with pytest.raises(MediaLimitError, match=r"pixels found, above the limit max_pixels = 36000000"):
        decode.image(Media.from_bytes(tiny.declared_png(side, side)))
    assert before == Image.MAX_IMAGE_PIXELS


def test_the_pixel_limit_is_inclusive() -> None:
    assert decode.image(Media.from_bytes(tiny.picture()), limits=DecodeLimits(max_pixels=32)).size == (8, 4)
    with pytest.raises(MediaLimitError, match="32 pixels"):
        decode.image(Media.from_bytes(tiny.picture()), limits=DecodeLimits(max_pixels=31))


def test_a_wrong_file_name_does_not_matter() -> None:
    assert decode.image(Media.from_bytes(tiny.picture("PNG"), "photo.wav")).size == (8, 4)
