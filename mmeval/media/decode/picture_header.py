"""Checks the header of a picture without decoding it: its size and its segments."""

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
"""Raster formats that are read in this process. EPS is not among them, because its
reader starts another program."""


MAX_SCANS = 200
"""The maximum number of scans of a JPEG. A progressive JPEG has about ten scans. Each
scan covers all pixels."""
MAX_PIECES = 100_000
"""The maximum number of chunks in a PNG, or of segments and stray bytes in a JPEG.

A PNG of 512 MiB has 65,536 chunks if these have the usual size.
"""
_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
"""A marker in a JPEG. Several 0xff bytes may precede its code; the match starts at the
last of them."""
_SCAN, _END = 0xDA, 0xD9
_UNREAD_FRAMES = (0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF, 0xF7)
"""Frames of a JPEG that libjpeg does not read.

These frames belong to hierarchical JPEG, lossless JPEG with arithmetic coding, or
JPEG-LS.
"""


def check_size(media: Media, *, limits: DecodeLimits) -> None:
    """Checks the declared size of a picture without reading its pixels.

    Raises MediaLimitError for too many pixels, and CorruptMediaError for a header that
    cannot be read.
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
    """Checks the number of chunks or segments of a PNG or JPEG.

    ``kind`` is the name of the format in Pillow.

    Raises ValueError for too many chunks or segments, and NotImplementedError for an
    unsupported type of JPEG.
    """
    if kind == "PNG":
        _check_png(data)
    elif kind == "JPEG":
        _check_jpeg(data)


def _check_png(data: bytes) -> None:
    position, count = 8, 0
    while position + 8 <= len(data) and data[position + 4 : position + 8] != b"IEND":
        count += 1
        if count > MAX_PIECES:
            raise ValueError(f"it is cut into more than {MAX_PIECES} chunks")
        position += 12 + int.from_bytes(data[position : position + 4], "big")


def _check_jpeg(data: bytes) -> None:
    """Checks the segments up to the end of the picture.

    Data after the picture, such as a video, is ignored.
    """
    position = 2
    count = scans = 0
    is_scan = False
    while (match := _MARKER.search(data, position)) is not None:
        marker = match[1][0]
        end = match.end()
        if marker == _END:
            return
        if not is_scan:
            if marker in _UNREAD_FRAMES:
                raise NotImplementedError(f"a JPEG with frames of type {marker:02x}")
            count += end - 2 - position
        count += 1
        is_scan = marker == _SCAN
        scans += is_scan
        if count > MAX_PIECES or scans > MAX_SCANS:
            raise ValueError(
                f"it is cut into more than {MAX_SCANS} scans or {MAX_PIECES} segments"
            )
        position = end + int.from_bytes(data[end : end + 2], "big")
