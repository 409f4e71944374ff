from typing import Any

import pytest
from PIL import Image

from mmeval.errors import CorruptMediaError, MediaLimitError, UnsupportedMediaError
from mmeval.media import decode
from mmeval.media.decode import DecodeLimits
from mmeval.media.decode.picture import stored_image
from mmeval.media.media import Media
from tests.support import tiny_media as tiny


def medium(form: str = "PNG", **options: Any) -> Media:
    return Media.from_bytes(tiny.picture(form, **options), "photo.wav")


def sideways() -> Media:
    note = Image.Exif()
    note[0x112] = 6
    return medium("JPEG", exif=note)


def test_a_picture_of_every_common_format_becomes_rgb_and_keeps_its_transparency() -> (
    None
):
    for form in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"):
        assert (decode.image(medium(form)).mode, decode.image(medium(form)).size) == (
            "RGB",
            (8, 4),
        )
    assert decode.image(medium(mode="P", transparency=0)).mode == "RGBA"
    for mode, colour, expected in (
        ("L", 9, (9, 9, 9)),
        ("LA", (9, 5), (9, 9, 9, 5)),
        ("RGBA", (1, 2, 3, 4), (1, 2, 3, 4)),
        ("1", 1, (255, 255, 255)),
        ("I;16", 40000, (156, 156, 156)),
    ):
        media = medium(mode=mode, colour=colour)
        assert (
            decode.image(media).getpixel((0, 0))
            == stored_image(media).getpixel((0, 0))
            == expected
        )


@pytest.mark.parametrize("decoder", [decode.image, stored_image])
def test_the_limits_are_inclusive_and_damage_is_a_typed_error(decoder: Any) -> None:
    assert decoder(
        medium(), limits=DecodeLimits(max_pixels=32, max_step_bytes=32 * 5)
    ).size == (8, 4)
    with pytest.raises(MediaLimitError, match="max_pixels = 31"):
        decoder(medium(), limits=DecodeLimits(max_pixels=31))
    with pytest.raises(MediaLimitError, match="max_step_bytes"):
        decoder(medium(), limits=DecodeLimits(max_step_bytes=32 * 5 - 1))
    with pytest.raises(CorruptMediaError, match="as a picture"):
        decoder(Media.from_bytes(tiny.picture()[:40]))


BITS_OF_TIFF = bytes.fromhex("0201 0300 0300 0000")
"""The head of the entry for the bits of three colours."""


def of_another_depth(form: str) -> bytes:
    """A picture that declares a depth that Pillow does not read."""
    data = bytearray(tiny.picture(form))
    if form == "BMP":
        data[28] = 12
    if form == "TIFF":
        place = data.index(BITS_OF_TIFF) + len(BITS_OF_TIFF)
        start = int.from_bytes(data[place : place + 4], "little")
        data[start : start + 6] = (12).to_bytes(2, "little") * 3
    return bytes(data)


@pytest.mark.parametrize("form", ["BMP", "TIFF"])
def test_a_depth_that_is_not_read_is_unsupported(form: str) -> None:
    with pytest.raises(UnsupportedMediaError):
        decode.image(Media.from_bytes(of_another_depth(form)))


def test_a_format_without_a_decoder_is_unsupported_as_a_picture_alone() -> None:
    media = Media.from_bytes(b"8BPS\0\x01" + bytes(108))
    with pytest.raises(UnsupportedMediaError, match=media.mime):
        decode.image(media)
    with pytest.raises(CorruptMediaError, match=media.mime):
        decode.audio(media)


def test_a_picture_with_offsets_of_64_bits_is_read() -> None:
    assert decode.image(medium("TIFF", big_tiff=True)).size == (8, 4)


ANIMATED = medium(
    "WEBP", save_all=True, append_images=[Image.new("RGB", (8, 4), "red")]
)
BYTES = {
    "webp": (medium("WEBP"), 13),
    "tiff": (medium("TIFF"), 8),
    "avif": (medium("AVIF"), 11),
    "progressive": (medium("JPEG", progressive=True), 11),
    "sixteen bits": (medium(mode="I;16", colour=9), 8),
    "alpha": (medium(mode="RGBA"), 5),
    "floats": (medium("TIFF", mode="F"), 12),
    "turned": (sideways(), 8),
    "animation": (ANIMATED, 17),
}


def test_readers_need_so_many_bytes_for_each_pixel_and_a_stored_picture_is_not_turned() -> (
    None
):
    for media, pixel_bytes in BYTES.values():
        decode.image(media, limits=DecodeLimits(max_step_bytes=32 * pixel_bytes))
        with pytest.raises(MediaLimitError, match="max_step_bytes"):
            decode.image(
                media, limits=DecodeLimits(max_step_bytes=32 * pixel_bytes - 1)
            )
    media = sideways()
    assert [
        decode.image(media).size,
        decode.image(media).size,
        stored_image(media).size,
    ] == [(4, 8), (4, 8), (8, 4)]
    stored_image(media).putpixel((0, 0), (1, 2, 3))
    assert stored_image(media).getpixel((0, 0)) == (0, 0, 0)
    before = Image.MAX_IMAGE_PIXELS
    for side in (9_000, 2**31 - 1):
        with pytest.raises(MediaLimitError, match="max_pixels = 36000000"):
            decode.image(Media.from_bytes(tiny.declared_png(side, side)))
    assert before == Image.MAX_IMAGE_PIXELS


def test_a_format_that_this_pillow_lacks_is_not_the_fault_of_the_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    png = medium()
    reader, _ = Image.OPEN["PNG"]
    unavailable = (reader, lambda _: "PNG support not installed")
    monkeypatch.setitem(Image.OPEN, "PNG", unavailable)
    with pytest.raises(UnsupportedMediaError, match="not installed"):
        decode.image(png)
