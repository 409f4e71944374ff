"""How many samples the tables of an MP4 or QuickTime file promise: readers make room for all before they find any.

The same is asked of a cut file by ``container_length``; this looks at what a whole file says inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_EDITS = 1000
"""Entries of a list of edits. Files have one or two; each may play everything again."""
_MOST_BOXES = 500_000
_DEEPEST = 12
_OPAQUE = frozenset((b"mdat", b"free", b"skip"))
_TABLES = frozenset((b"stsz", b"stz2", b"trun", b"elst", b"cmov"))
_TABLE_NAME = re.compile(b"|".join(sorted(_TABLES)))
_OFFSETS = {b"meta": (0, 4)}
"""Where the boxes inside a box begin, if not at once."""


class _Box(NamedTuple):
    name: bytes
    start: int
    """Of what it holds."""
    end: int


def check_tables(data: bytes) -> None:
    """Raises ValueError for tables that promise more samples than the file has bytes, for more than ``MAX_EDITS``
    edits, and for tables that are packed."""
    promised = 0
    for number, box in enumerate(_boxes(data, 0, len(data), 0)):
        if number > _MOST_BOXES:
            raise ValueError(f"it has more than {_MOST_BOXES} boxes")
        if box.name == b"cmov":
            raise ValueError("its tables are packed, which is not unpacked")
        if box.name == b"elst" and _number(data, box.start + 4) > MAX_EDITS:
            raise ValueError(f"it has more than {MAX_EDITS} edits")
        promised += _promised(data, box)
        if promised > len(data):
            raise ValueError(f"its tables promise {promised} samples in {len(data)} bytes")


def _promised(data: bytes, box: _Box) -> int:
    """Samples that a table says there are, at one byte each at least."""
    if box.name == b"trun":
        return _number(data, box.start + 4)
    if box.name in (b"stsz", b"stz2"):
        each = max(1, _number(data, box.start + 4)) if box.name == b"stsz" else 1
        return each * _number(data, box.start + 8)
    return 0


def _boxes(data: bytes, start: int, end: int, depth: int) -> Iterator[_Box]:
    """The boxes between two places, each followed by those inside it. A reader clips a box that is too long."""
    while start + 8 <= end:
        size, head = _number(data, start), 8
        if size == 1:
            size, head = int.from_bytes(data[start + 8 : start + 16], "big"), 16
        box = _Box(data[start + 4 : start + 8], start + head, min(end, start + size) if size else end)
        if size and size < head:
            return
        yield box
        if box.name == b"stsd":
            yield from _described(data, box)
        elif box.name not in _OPAQUE and box.name not in _TABLES and depth < _DEEPEST:
            for offset in _OFFSETS.get(box.name, (0,)):
                yield from _boxes(data, box.start + offset, box.end, depth + 1)
        start = box.end


def _described(data: bytes, box: _Box) -> Iterator[_Box]:
    """Tables inside the description of a codec, where what comes before them is of many lengths."""
    for found in _TABLE_NAME.finditer(data, box.start, box.end):
        yield _Box(found[0], found.end(), box.end)


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")
