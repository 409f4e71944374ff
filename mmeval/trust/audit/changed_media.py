"""Changes of one medium: without content, in another encoding, or with words on it.

All raise ContentError for a medium that cannot be read.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mmeval.errors import UnsupportedMediaError
from mmeval.media import decode
from mmeval.media.encode import png, wav
from mmeval.media.media import Media
from mmeval.media.media_type import TEXT_MIMES

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont
    from PIL.ImageFont import ImageFont as BitmapFont

    Font = FreeTypeFont | BitmapFont

_JPEG_QUALITY = 75
_LARGEST_JPEG = 65_500
"""The largest width or height in pixels that the encoder takes."""
_POINTS_PER_INCH = 72
_A4 = (595, 842)
"""The width and height of a page in points."""
_EMPTY_TEXT = b"\n"
_FONT_SIZES = (48, 36, 27, 20, 15, 11, 8, 6)
_MARGIN = 3
_BAND = 0.4
"""Words on a picture cover at most this share of its height."""

Encoding = Callable[[Media], Media]


def blank(media: Media) -> Media | None:
    """Returns a medium of the same kind without content: a black picture of equal size,
    silence of equal length, white pages or an empty text. Returns None for videos and
    3D."""
    if media.kind == "image":
        return _picture(media, "black")
    if media.kind == "audio":
        sound = decode.audio(media)
        return wav(np.zeros_like(sound.samples), sound.rate)
    if media.kind == "document":
        return _white_pages(media)
    return None


def _picture(media: Media, colour: str) -> Media:
    from PIL import Image

    return png(Image.new("RGB", decode.image(media).size, colour))


def _white_pages(media: Media) -> Media:
    if media.mime.startswith(TEXT_MIMES):
        return Media.from_bytes(_EMPTY_TEXT)
    if media.mime.startswith("image/"):
        return _picture(media, "white")
    sizes = [_A4]
    if media.mime == "application/pdf":
        pages = decode.pages(media, dpi=_POINTS_PER_INCH)
        sizes = [page.size for page in pages]

    # imported late, because few runs have documents
    from pypdf import PdfWriter

    writer = PdfWriter()
    for width, height in sizes:
        writer.add_blank_page(width, height)
    file = io.BytesIO()
    writer.write(file)
    return Media.from_bytes(file.getvalue())


def _as_png(media: Media) -> Media:
    return png(decode.image(media))


def _as_jpeg(media: Media) -> Media:
    picture = decode.image(media)
    if max(picture.size) > _LARGEST_JPEG:
        raise UnsupportedMediaError(f"{media.name}: too large for JPEG")
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=_JPEG_QUALITY)
    return Media.from_bytes(file.getvalue())


def _smaller(media: Media) -> Media:
    return _scaled(media, 0.9)


def _larger(media: Media) -> Media:
    return _scaled(media, 1.1)


def _scaled(media: Media, factor: float) -> Media:
    picture = decode.image(media)
    width, height = picture.size
    size = max(1, round(width * factor)), max(1, round(height * factor))
    return png(picture.resize(size))


def _as_wav(media: Media) -> Media:
    sound = decode.audio(media)
    return wav(sound.samples, sound.rate)


def _as_flac(media: Media) -> Media:
    import soundfile

    sound = decode.audio(media)
    file = io.BytesIO()
    # 16 bits, as the WAV has
    samples = np.clip(sound.samples, -1.0, 1.0)
    try:
        soundfile.write(file, samples, sound.rate, format="FLAC", subtype="PCM_16")
    except soundfile.SoundFileError as error:
        # FLAC has at most 8 channels, and not every rate
        raise UnsupportedMediaError(f"{media.name}: not as FLAC ({error})") from None
    return Media.from_bytes(file.getvalue())


ENCODINGS: Mapping[str, Mapping[str, Encoding]] = MappingProxyType(
    {
        "image": MappingProxyType(
            {
                "PNG": _as_png,
                "JPEG": _as_jpeg,
                "smaller": _smaller,
                "larger": _larger,
            }
        ),
        "audio": MappingProxyType({"WAV": _as_wav, "FLAC": _as_flac}),
    }
)
"""The encodings of each kind of media that has any, by name."""


def with_words(media: Media, words: str) -> Media | None:
    """Returns a picture with words in a white band at its lower end, or None if the
    picture is too small for them."""
    from PIL import ImageDraw

    picture = decode.image(media).copy()
    canvas = ImageDraw.Draw(picture)
    width, height = picture.size
    fitting = _fitting(canvas, words, width, round(_BAND * height) - _MARGIN)
    if fitting is None:
        return None
    top = height - fitting.height - _MARGIN
    canvas.rectangle((0, top, width, height), fill="white")
    canvas.multiline_text((0, top), fitting.text, fill="black", font=fitting.font)
    return png(picture)


class _Lines(NamedTuple):
    text: str
    font: Font
    height: int


def _fitting(canvas: ImageDraw, words: str, width: int, height: int) -> _Lines | None:
    """Returns words as lines in the largest font that fits, if any does."""
    from PIL import ImageFont

    for points in _FONT_SIZES:
        font = ImageFont.load_default(points)
        letters = int(width * len(words) / canvas.textlength(words, font))
        text = "\n".join(textwrap.wrap(words, max(1, letters)))
        _, _, right, bottom = canvas.multiline_textbbox((0, 0), text, font=font)
        if right <= width and bottom <= height:
            return _Lines(text, font, math.ceil(bottom))
    return None
