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
"""Bytes a pixel while there are two pictures of four bytes each."""
_LOADED = {"1": 5, "L": 5, "P": 5, "RGB": 5, "RGBA": 5, "I": 9, "F": 9}
"""Bytes a pixel at the worst moment, by mode; ``_CONVERTED`` for all others."""
_READERS = {"AVIF": 6, "WEBP": 8, "TIFF": 3}
"""Bytes a pixel that a reader takes besides; that of a progressive JPEG keeps all
coefficients."""
_FRAME = 4
"""Bytes a pixel for the canvas of an animation."""


def _kept_size(picture: Image) -> int:
    return 4 * picture.width * picture.height


def _copy(picture: Image) -> Image:
    return picture.copy()


@decoded_once(size=_kept_size, copy=_copy)
def image(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Image:
    """The picture, upright, RGB or (if transparent) RGBA; an animation's first frame.

    Sixteen-bit grey is scaled to eight. An SVG is drawn in its own size, as RGBA, with
    one font for all text. Decoded once; every call gives a copy of its own. Raises the
    errors of this package.
    """
    return _decoded(media, limits, upright=True)


def stored_image(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Image:
    """As ``image``, but not turned by the file's orientation. Decoded at each call."""
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
                # bytes a pixel while it is loaded and converted
                each = _LOADED.get(picture.mode, _CONVERTED)
                is_progressive = picture.info.get("progressive")
                each += 6 if is_progressive else _READERS.get(kind, 0)
                if kind == "WEBP" and getattr(picture, "is_animated", False):
                    each += _FRAME
                _check_memory(media, limits, picture, each)
                picture.load()
                plain = _rgb(picture)
                return _upright(media, limits, plain) if upright else plain
        except PIL.Image.DecompressionBombError as error:
            stated = re.search("[0-9]+", str(error))
            pixels = int(stated[0]) if stated else 0
            within(media, "max_pixels", limits.max_pixels, pixels, "pixels")
            # Pillow's own limit, when ours is set above it.
            raise MediaLimitError(f"{media.label}: {error}") from None


def _opened(data: bytes, kind: str) -> Image:
    """The picture, its pixels not yet decoded. Raises NotImplementedError for a depth,
    compression or format that this Pillow does not read."""
    import PIL.Image

    try:
        return PIL.Image.open(io.BytesIO(data), formats=(kind,))
    except KeyError:
        raise NotImplementedError(f"this Pillow does not read {kind}") from None
    except PIL.UnidentifiedImageError:
        pass
    # Pillow keeps the reason to itself; the reader of the format states it.
    reader, accepts = PIL.Image.OPEN[kind]
    accepted = accepts is None or accepts(data[:16])
    if isinstance(accepted, str):
        raise NotImplementedError(accepted)
    try:
        return reader(io.BytesIO(data), "")
    except SyntaxError as error:
        # A header is looked up in a table of what is read.
        if isinstance(error.__cause__, KeyError):
            raise NotImplementedError(f"{kind} of this layout: {error}") from error
        raise


def _check_memory(
    media: Media, limits: DecodeLimits, picture: Image, each: int
) -> None:
    """``each`` pixel takes so many bytes at the worst moment."""
    found = picture.width * picture.height * each
    within(media, "max_step_bytes", limits.max_step_bytes, found, "bytes of memory")


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
    # where the orientation note is damaged, the pixels are sound
    except (CorruptMediaError, UnsupportedMediaError) as error:
        log.debug("%s", error)
    return picture


def _rgb(picture: Image) -> Image:
    """As RGB, or RGBA where it is transparent. Grey of 16 or more bits is made one of
    8, a strip at a time; Pillow would clip it to white."""
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
    shown = Pictures.fromarray(eight)
    shown.info.update(picture.info)
    return shown.convert("RGB")
