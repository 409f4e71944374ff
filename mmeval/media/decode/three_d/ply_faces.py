"""Cuts the faces of a binary PLY into triangles if their numbers of corners differ."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

_NUMBERS = {
    "char": "b",
    "int8": "b",
    "uchar": "B",
    "uint8": "B",
    "short": "h",
    "int16": "h",
    "ushort": "H",
    "uint16": "H",
    "int": "i",
    "int32": "i",
    "uint": "I",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float16": "e",
    "float": "f",
    "float32": "f",
    "double": "d",
    "float64": "d",
}
"""The ``struct`` code of each type."""
_END = b"\nend_header\n"
_TRIANGLE = 3


class _Property(NamedTuple):
    """A property of an element. ``length`` is the type of a list's length, if any."""

    name: str
    number: str
    length: str = ""


class _Element(NamedTuple):
    name: str
    rows: int
    properties: list[_Property]


class _Faces(NamedTuple):
    """The layout of a face: the numbers before and after its list of corners."""

    before: struct.Struct
    corners: _Property
    after: struct.Struct
    order: str


def with_triangles(data: bytes) -> bytes:
    """Returns a binary PLY with its polygons cut into triangles.

    The polygons are cut only if they differ in their number of corners.

    trimesh uses the number of corners of the first face for all faces. The header of
    ``data`` must not have comments. All other files are returned unchanged. Raises
    ``struct.error`` for a file that ends within a face.
    """
    head, end, _ = data.partition(_END)
    lines = head.decode("latin-1").split("\n")
    elements = _elements(lines)
    names = [element.name for element in elements]
    if not end or "binary" not in lines[1] or "face" not in names:
        return data
    order = ">" if "big" in lines[1] else "<"
    place = names.index("face")
    faces = _layout(elements[place], order)
    start = len(head) + len(end)
    for element in elements[:place]:
        if faces is None or any(item.length for item in element.properties):
            return data
        codes = "".join(item.number for item in element.properties)
        start += element.rows * struct.calcsize(order + codes)
    if faces is None or len(data) == _even_end(data, start, elements[place], faces):
        return data
    triangles = _triangles(data, start, elements[place].rows, faces)
    header: list[str] = []
    for line in lines:
        if line.split()[:2] == ["element", "face"]:
            break
        header.append(line)
    header.append(f"element face {len(triangles)}")
    header.append(f"property list uchar int {faces.corners.name}")
    vertices = data[len(head) + len(end) : start]
    row = struct.Struct(f"{order}B{_TRIANGLE}i")
    rows = [row.pack(_TRIANGLE, *triangle) for triangle in triangles]
    return "\n".join(header).encode("latin-1") + _END + vertices + b"".join(rows)


def _elements(lines: Sequence[str]) -> list[_Element]:
    elements: list[_Element] = []
    for line in lines:
        words = line.split()
        if words[:1] == ["element"]:
            elements.append(_Element(words[1], int(words[2]), []))
        elif words[:2] == ["property", "list"]:
            length, number, name = words[2:5]
            listed = _Property(name, _NUMBERS[number], _NUMBERS[length])
            elements[-1].properties.append(listed)
        elif words[:1] == ["property"]:
            number, name = words[1:3]
            elements[-1].properties.append(_Property(name, _NUMBERS[number]))
    return elements


def _layout(element: _Element, order: str) -> _Faces | None:
    """Returns the layout, or None for faces without exactly one list."""
    corners: _Property | None = None
    before = after = order
    for item in element.properties:
        if item.length and corners is not None:
            return None
        if item.length:
            corners = item
        elif corners is None:
            before += item.number
        else:
            after += item.number
    if corners is None:
        return None
    return _Faces(struct.Struct(before), corners, struct.Struct(after), order)


def _even_end(
    data: bytes,
    start: int,
    element: _Element,
    faces: _Faces,
) -> int:
    """Returns the end of the faces if all have as many corners as the first."""
    if not element.rows:
        return start
    length = struct.Struct(faces.order + faces.corners.length)
    (corners,) = length.unpack_from(data, start + faces.before.size)
    number = struct.calcsize(faces.order + faces.corners.number)
    face_size = faces.before.size + length.size + corners * number + faces.after.size
    return start + element.rows * int(face_size)


def _triangles(
    data: bytes, start: int, count: int, faces: _Faces
) -> list[tuple[int, int, int]]:
    """Cuts each polygon into a fan around its first corner.

    trimesh does the same for text files.
    """
    length = struct.Struct(faces.order + faces.corners.length)
    layouts: dict[int, struct.Struct] = {}
    triangles: list[tuple[int, int, int]] = []
    for _ in range(count):
        start += faces.before.size
        (size,) = length.unpack_from(data, start)
        start += length.size
        if size not in layouts:
            layouts[size] = struct.Struct(f"{faces.order}{size}{faces.corners.number}")
        corners = layouts[size].unpack_from(data, start)
        start += layouts[size].size + faces.after.size
        for place in range(1, size - 1):
            triangles.append((corners[0], corners[place], corners[place + 1]))
    return triangles
