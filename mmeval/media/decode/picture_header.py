"""Checks the header of a picture, without its pixels: its size and its pieces."""

from __future__ import annotations

import re

from mmeval.errors import MediaLimitError
from mmeval.media.decode.guard import decoding, quiet
from mmeval.media.decode.limits import DecodeLimits, within
from mmeval.media.media import Media

PICTURE_FORMATS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/bmp": "BMP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
}
"""Raster formats whose reader stays in the process: the one for EPS, say, starts
another program."""


MAX_SCANS = 200
"""Of a JPEG; a progressive one has about ten. Each passes over all pixels."""
MAX_PIECES = 100_000
"""Chunks of a PNG, segments of a JPEG, and bytes between those. A PNG of 512 MiB in
usual chunks has 65,536."""
_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
"""The last of several 0xff, which are allowed before a marker."""
_SCAN, _END = 0xDA, 0xD9
_UNREAD_FRAMES = (0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF, 0xF7)
"""Frames of a JPEG that libjpeg does not read: in layers, lossless by arithmetic, and
JPEG-LS."""


def check_size(media: Media, *, limits: DecodeLimits) -> None:
    """Raises MediaLimitError for a picture that declares too many pixels.

    CorruptMediaError for one whose header cannot be read. The pixels are not read.
    """
    import PIL.Image

    if media.path is None:
        return
    with decoding(media, "a picture"), quiet():
        formats = (PICTURE_FORMATS[media.mime],)
        try:
            with PIL.Image.open(media.path, formats=formats) as picture:
                width, height = picture.size
        except PIL.Image.DecompressionBombError as error:
            raise MediaLimitError(f"{media.label}: {error}") from None
    within(media, "max_pixels", limits.max_pixels, width * height, "pixels")


def check_pieces(data: bytes, kind: str) -> None:
    """Raise ValueError for a PNG or JPEG (``kind``, as in Pillow) of too many pieces,
    NotImplementedError for a JPEG of a kind that is not read."""
    if kind == "PNG":
        _check_png(data)
    elif kind == "JPEG":
        _check_jpeg(data)


def _check_png(data: bytes) -> None:
    at, count = 8, 0
    while at + 8 <= len(data) and data[at + 4 : at + 8] != b"IEND":
        count += 1
        if count > MAX_PIECES:
            raise ValueError(f"it is cut into more than {MAX_PIECES} chunks")
        at += 12 + int.from_bytes(data[at : at + 4], "big")


def _check_jpeg(data: bytes) -> None:
    """Up to the picture's own end: what follows (a film, say) is not the picture."""
    at = 2
    count = scans = 0
    is_scan = False
    while (found := _MARKER.search(data, at)) is not None:
        marker = found[1][0]
        end = found.end()
        if marker == _END:
            return
        if not is_scan:
            if marker in _UNREAD_FRAMES:
                raise NotImplementedError(f"a JPEG with frames of type {marker:02x}")
            count += end - 2 - at
        count += 1
        is_scan = marker == _SCAN
        scans += is_scan
        if count > MAX_PIECES or scans > MAX_SCANS:
            raise ValueError(
                f"it is cut into more than {MAX_SCANS} scans or {MAX_PIECES} segments"
            )
        at = end + int.from_bytes(data[end : end + 2], "big")
