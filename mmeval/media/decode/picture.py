"""Decodes pictures."""

from __future__ import annotations

import io
import logging
import re
from typing import TYPE_CHECKING

from mmeval.errors import CorruptMediaError, MediaLimitError, UnsupportedMediaError
from mmeval.media.decode.guard import decoding, not_read, quiet, whole_bytes
from mmeval.media.decode.limits import DEFAULT_LIMITS, DecodeLimits, within
from mmeval.media.decode.memo import decoded_once
from mmeval.media.decode.picture_header import PICTURE_FORMATS, check_pieces
from mmeval.media.media import Media

if TYPE_CHECKING:
    from PIL.Image import Image

log = logging.getLogger(__name__)

_SVG = "image/svg+xml"
_ORIENTATION = 0x0112
_CONVERTED = 8
"""The bytes per pixel while two pictures with four bytes per pixel are in memory."""
_LOADED = {"1": 5, "L": 5, "P": 5, "RGB": 5, "RGBA": 5, "I": 9, "F": 9}
"""The peak number of bytes per pixel, by mode. All other modes use ``_CONVERTED``."""
_READERS = {"AVIF": 6, "WEBP": 8, "TIFF": 3}
"""The additional bytes per pixel that the reader of a format needs.

A progressive JPEG also needs more, because its reader keeps all coefficients (see
``_decoded``).
"""
_FRAME = 4
"""The bytes per pixel for the canvas of an animation."""


def _kept_size(picture: Image) -> int:
    return 4 * picture.width * picture.height


def _copy(picture: Image) -> Image:
    return picture.copy()


@decoded_once(size=_kept_size, copy=_copy)
def image(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Image:
    """Returns the upright picture as RGB or, if it is transparent, as RGBA.

    For an animation, the result is its first frame.

    16-bit grey is scaled to 8 bits. An SVG is drawn in the size that it states, as
    RGBA, with one font for all text. The picture is decoded once, and each call returns
    a copy. Raises the errors of this package.
    """
    return _decoded(media, limits, upright=True)


def stored_image(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Image:
    """Returns the picture as ``image`` does, but in the file's orientation.

    Each call decodes it again.
    """
    return _decoded(media, limits, upright=False)


def _decoded(
    media: Media,
    limits: DecodeLimits,
    *,
    upright: bool,
) -> Image:
    import PIL.Image

    data = whole_bytes(media, limits)
    kind = PICTURE_FORMATS.get(media.mime)
    if media.mime == _SVG:
        from mmeval.media.decode.svg import drawn

        data = drawn(media, data, limits)
        kind = "PNG"
    if kind is None:
        raise not_read(media, ["image"], "which is not decoded as a picture")
    with decoding(media, "a picture"), quiet():
        check_pieces(data, kind)
        try:
            with _opened(data, kind) as picture:
                pixels = picture.width * picture.height
                within(media, "max_pixels", limits.max_pixels, pixels, "pixels")
                # The bytes per pixel while the picture is loaded and converted.
                pixel_bytes = _LOADED.get(picture.mode, _CONVERTED)
                is_progressive = picture.info.get("progressive")
                pixel_bytes += 6 if is_progressive else _READERS.get(kind, 0)
                if kind == "WEBP" and getattr(picture, "is_animated", False):
                    pixel_bytes += _FRAME
                _check_memory(media, limits, picture, pixel_bytes)
                picture.load()
                plain = _rgb(picture)
                return _upright(media, limits, plain) if upright else plain
        except PIL.Image.DecompressionBombError as error:
            reported = re.search("[0-9]+", str(error))
            pixels = int(reported[0]) if reported else 0
            within(media, "max_pixels", limits.max_pixels, pixels, "pixels")
            # Pillow's own limit was exceeded, which may be lower than ours.
            raise MediaLimitError(f"{media.label}: {error}") from None


def _opened(data: bytes, kind: str) -> Image:
    """Opens the picture without decoding its pixels.

    Raises NotImplementedError for a depth, compression or format that Pillow does not
    read.
    """
    import PIL.Image

    try:
        return PIL.Image.open(io.BytesIO(data), formats=(kind,))
    except KeyError:
        raise NotImplementedError(
            f"the installed version of Pillow cannot read {kind}"
        ) from None
    except PIL.UnidentifiedImageError:
        pass
    # Pillow does not report the reason, but the reader of the format does.
    reader, accepts = PIL.Image.OPEN[kind]
    accepted = accepts is None or accepts(data[:16])
    if isinstance(accepted, str):
        raise NotImplementedError(accepted)
    try:
        return reader(io.BytesIO(data), "")
    except SyntaxError as error:
        # Readers look up the layout in a table of supported layouts.
        if isinstance(error.__cause__, KeyError):
            raise NotImplementedError(f"{kind} of this layout: {error}") from error
        raise


def _check_memory(
    media: Media, limits: DecodeLimits, picture: Image, pixel_bytes: int
) -> None:
    """Checks the peak memory, which is ``pixel_bytes`` per pixel, against the limit."""
    size = picture.width * picture.height * pixel_bytes
    within(media, "max_step_bytes", limits.max_step_bytes, size, "bytes of memory")


def _upright(
    media: Media,
    limits: DecodeLimits,
    picture: Image,
) -> Image:
    from PIL import ImageOps

    try:
        with decoding(media, "an orientation"):
            turned = picture.getexif().get(_ORIENTATION, 1) != 1
            if turned:
                _check_memory(media, limits, picture, _CONVERTED)
                ImageOps.exif_transpose(picture, in_place=True)
    # The pixels are valid even if the orientation tag is damaged.
    except (CorruptMediaError, UnsupportedMediaError) as error:
        log.debug("%s", error)
    return picture


def _rgb(picture: Image) -> Image:
    """Returns the picture as RGB, or as RGBA if it is transparent.

    Grey of 16 or more bits is scaled to 8 bits, one strip at a time, because Pillow
    would clip it to white.
    """
    import numpy as np
    from PIL import Image as Pictures

    if not picture.mode.startswith(("I", "F")):
        mode = "RGBA" if picture.has_transparency_data else "RGB"
        return picture if picture.mode == mode else picture.convert(mode)
    grey = np.asarray(picture)
    is_wide = picture.mode.startswith("I")
    if picture.mode == "I":
        is_wide = grey.max() > 255
    eight = np.empty(grey.shape, np.uint8)
    rows = max(1, 2**20 // max(1, grey.shape[1]))
    for start in range(0, len(grey), rows):
        strip = grey[start : start + rows].astype(np.float64)
        if is_wide:
            strip /= 257.0
        shades = np.clip(np.nan_to_num(strip), 0, 255)
        eight[start : start + rows] = shades.round()
    picture_8bit = Pictures.fromarray(eight)
    picture_8bit.info.update(picture.info)
    return picture_8bit.convert("RGB")
