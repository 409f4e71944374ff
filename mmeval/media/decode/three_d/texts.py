"""Converts the text of PLY, OFF and OBJ files into the form that trimesh reads."""

from __future__ import annotations

import re

from mmeval.errors import UnsupportedMediaError
from mmeval.media.media import Media

_PLY_START = re.compile(rb"ply[ \t]*(\r\n|\r|\n)")
_PLY_END = re.compile(rb"(?<=\n)[ \t]*end_header[ \t]*\r?\n")
_PLY_END_OLD = re.compile(rb"(?<=\r)[ \t]*end_header[ \t]*\r")
"""The end of a header in which lines end with a carriage return only.

A line feed after it is the first byte of a number.
"""
_PLY_REMARKS = (b"comment", b"obj_info")
_COMMENT = re.compile(rb"#[^\r\n]*+")
"""A comment of OFF and OBJ, up to the end of its line."""
_INDENT = re.compile(rb"(?m)^[ \t]+")
_OFF_START = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*+(?:ST)?C?N?(?P<odd>4?n?)OFF(?P<binary>[ \t]+BINARY\b)?"
    rb"(?:\s*+(?P<vertices>[0-9]+)(?:[ \t]+(?P<faces>[0-9]+)(?:[ \t]+[0-9]+)?"
    rb"|\s+(?P<faces_below>[0-9]+)\s+[0-9]+))?"
)
"""The keyword, and the numbers of vertices, faces and edges in one or three lines.

The number of edges is not used, and some files omit it.
"""


def plain_ply(data: bytes) -> bytes:
    """Returns a PLY whose format is stated in the second line.

    Comments and empty lines in the header are removed.

    The specification allows comments anywhere in the header, but trimesh reads the
    second line as the format. If the header has no end, the file is returned unchanged.
    """
    start = _PLY_START.match(data)
    if start is None:
        return data
    ending = _PLY_END_OLD if start[1] == b"\r" else _PLY_END
    end = ending.search(data, start.end())
    if end is None:
        return data
    formats: list[bytes] = []
    other_lines: list[bytes] = []
    header = data[start.end() : end.start()]
    for line in re.split(rb"[\r\n]+", header):
        word = line.split(maxsplit=1)[:1]
        if word == [b"format"]:
            formats.append(line)
        elif word and word[0] not in _PLY_REMARKS:
            other_lines.append(line)
    body = data[end.end() :]
    if b"ascii" in b"".join(formats):
        body = re.sub(rb"[\r\n]\s+", b"\n", body.lstrip())
    return b"\n".join([b"ply", *formats, *other_lines, b"end_header", body])


def plain_off(media: Media, data: bytes) -> bytes:
    """Returns an OFF without comments.

    The numbers of vertices, faces and edges are in the line after the keyword.

    Comments are removed, because trimesh reads a line after a comment as a part of the
    comment. Raises UnsupportedMediaError for a binary file, and for vertices with more
    than three coordinates.
    """
    plain = _COMMENT.sub(b"", data)
    start = _OFF_START.match(plain)
    if start is None:
        return plain
    if start["odd"] or start["binary"]:
        raise UnsupportedMediaError(
            f"{media.label}: this OFF file is binary or has more than three "
            "coordinates, which mmeval does not read; export it as plain OFF"
        )
    if start["vertices"] is None:
        return plain
    faces = start["faces"] or start["faces_below"]
    counts = start["vertices"] + b" " + faces
    return b"\n".join([b"OFF", counts, plain[start.end() :]])


def plain_obj(data: bytes) -> bytes:
    """Returns an OBJ without comments.

    Each line of the result starts with its keyword, without indentation.

    trimesh ignores indented lines, and cannot read comments after numbers.
    """
    plain = _COMMENT.sub(b"", data)
    if b"\r" in plain:
        plain = plain.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return _INDENT.sub(b"", plain)
