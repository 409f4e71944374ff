"""The tracks of an MP4 file, by the boxes that name them: the container is the same for sound and for video."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

_PATH = (b"moov", b"trak", b"mdia", b"hdlr")
MAX_BOXES = 10_000
"""So many boxes are looked at; a file that hides its tracks behind more of them is hostile."""


class _Box(NamedTuple):
    kind: bytes
    start: int
    end: int


def handlers(file: BinaryIO, size: int) -> set[bytes]:
    """What handles the tracks of a file of so many bytes: ``soun`` for sound, ``vide`` for video, and others. Where the
    file is damaged, those that can be found."""
    return set(_handlers(file, 0, size, _PATH, iter(range(MAX_BOXES))))


def _handlers(file: BinaryIO, at: int, end: int, path: tuple[bytes, ...], budget: Iterator[int]) -> Iterator[bytes]:
    for box in _boxes(file, at, end, budget):
        if box.kind != path[0]:
            continue
        if len(path) > 1:
            yield from _handlers(file, box.start, box.end, path[1:], budget)
        elif box.start + 12 <= box.end:
            file.seek(box.start + 8)  # after the version, the flags and a field that says nothing
            yield file.read(4)


def _boxes(file: BinaryIO, at: int, end: int, budget: Iterator[int]) -> Iterator[_Box]:
    """The boxes between two places. A length of 1 stands for a long one that follows, 0 for all the rest."""
    while at + 8 <= end and next(budget, None) is not None:
        file.seek(at)
        head = file.read(16)
        length, start = int.from_bytes(head[:4]), at + 8
        if length == 1:
            length, start = int.from_bytes(head[8:16]), at + 16
        stop = at + length if length else end
        if stop < start:
            return
        yield _Box(head[4:8], start, min(stop, end))
        at = stop
