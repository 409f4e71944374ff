"""The headers of PLY and OFF files, as trimesh reads them."""

from __future__ import annotations

import re

from mmeval.content.media import Media
from mmeval.errors import UnsupportedMediaError

_PLY_START = re.compile(rb"ply[ \t]*(\r\n|\r|\n)")
_PLY_END = re.compile(rb"(?<=\n)[ \t]*end_header[ \t]*\r?\n")
_PLY_END_OLD = re.compile(rb"(?<=\r)[ \t]*end_header[ \t]*\r")
"""The end of a header whose lines end with a carriage return alone. A line feed that
follows is the first byte of a number."""
_PLY_REMARKS = (b"comment", b"obj_info")
_OFF_KEYWORD = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:\s++|#[^\r\n]*+)*+(?:ST)?C?N?(4?n?)OFF"
    rb"(?:[ \t]+(BINARY)\b)?"
)


def plain_ply(data: bytes) -> bytes:
    """A PLY with its format in the second line and no remarks or empty lines.

    The format says these may stand anywhere in the header, trimesh reads the second
    line as the format. Files whose header has no end are returned as they are.
    """
    start = _PLY_START.match(data)
    if start is None:
        return data
    ending = _PLY_END_OLD if start[1] == b"\r" else _PLY_END
    end = ending.search(data, start.end())
    if end is None:
        return data
    formats: list[bytes] = []
    others: list[bytes] = []
    for line in re.split(rb"[\r\n]+", data[start.end() : end.start()]):
        word = line.split(maxsplit=1)[:1]
        if word == [b"format"]:
            formats.append(line)
        elif word and word[0] not in _PLY_REMARKS:
            others.append(line)
    body = data[end.end() :]
    if b"ascii" in b"".join(formats):
        body = re.sub(rb"[\r\n]\s+", b"\n", body.lstrip())
    return b"\n".join([b"ply", *formats, *others, b"end_header", body])


def check_off(media: Media, data: bytes) -> None:
    """Raises UnsupportedMediaError for an OFF file that is binary, or has another
    number of coordinates than three."""
    keyword = _OFF_KEYWORD.match(data)
    if keyword is not None and (keyword[1] or keyword[2]):
        raise UnsupportedMediaError(
            f"{media.label}: it is an OFF file in binary or with more than three "
            "coordinates, which mmeval does not read; export it as plain OFF"
        )
