"""Pictures."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from mmeval.decode.guard import decoding, quiet, whole_bytes
from mmeval.decode.limits import DEFAULT_LIMITS, DecodeLimits, within
from mmeval.decode.memo import decoded_once
from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.extras import need
from mmeval.media import Media

if TYPE_CHECKING:
    from PIL.Image import Image

_PICTURE_FORMATS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/bmp": "BMP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
}
"""Raster formats whose reader stays in the process: the one for EPS, say, starts another program."""


def _kept_size(picture: Image) -> int:
    return 4 * picture.width * picture.height


def _copy(picture: Image) -> Image:
    return picture.copy()


@decoded_once(size=_kept_size, copy=_copy)
def image(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Image:
    """The picture, upright, as RGB or, where it has transparency, RGBA; of an animation the first frame.

    Sixteen-bit grey is scaled to eight. Decoded once; every call gives a copy of its own. Raises the errors of this
    package.
    """
    pictures = need("PIL.Image", "image")
    data = whole_bytes(media, limits)
    kind = _PICTURE_FORMATS.get(media.mime)
    if kind is None:
        raise CorruptMediaError(f"{media.label}: it is {media.mime}, which is not decoded as a picture")
    with decoding(media, "a picture"), quiet():
        try:
            with pictures.open(io.BytesIO(data), formats=(kind,)) as picture:
                within(media, "max_pixels", limits.max_pixels, picture.width * picture.height, "pixels")
                picture.load()
                return _upright(_rgb(picture))
        except pictures.DecompressionBombError as error:
            pixels = re.search("[0-9]+", str(error))
            within(media, "max_pixels", limits.max_pixels, int(pixels[0]) if pixels else 0, "pixels")
            # Pillow's own limit, when ours is set above it.
            raise MediaLimitError(f"{media.label}: {error}") from None


def _upright(picture: Image) -> Image:
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(picture)
    except Exception:  # a damaged orientation note: the pixels are sound
        return picture


def _rgb(picture: Image) -> Image:
    if picture.mode.startswith(("I", "F")):
        return _eight_bit(picture).convert("RGB")
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    return picture.copy() if picture.mode == mode else picture.convert(mode)


def _eight_bit(picture: Image) -> Image:
    """Grey of sixteen or more bits, which Pillow would clip to white."""
    import numpy as np
    from PIL import Image as Pictures

    grey = np.asarray(picture).astype(np.float64)
    scale = 257.0 if picture.mode.startswith("I") and (picture.mode != "I" or grey.max() > 255) else 1.0
    eight = Pictures.fromarray(np.clip(np.nan_to_num(grey / scale), 0, 255).round().astype(np.uint8))
    eight.info.update(picture.info)
    return eight
