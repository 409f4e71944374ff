"""Pictures and sounds of the bundled MMMG samples, out of the pieces of
:mod:`scripts.synthetic_media`."""

from __future__ import annotations

from scripts.synthetic_media import (
    BLACK,
    BLUE,
    GREEN,
    RED,
    SIDE,
    WHITE,
    YELLOW,
    Painter,
    disc,
    faded,
    square,
    wav,
)

RED_DISC = disc(14, 48, 10, RED)
BLUE_SQUARE = square(40, 38, 20, BLUE)
GREEN_SQUARE = square(40, 6, 20, GREEN)
"""Three shapes of one white sheet, far from each other."""

_FONT = {
    "A": "01110 10001 10001 11111 10001 10001 10001",
    "E": "11111 10000 10000 11110 10000 10000 11111",
    "G": "01111 10000 10000 10011 10001 10001 01111",
    "I": "11111 00100 00100 00100 00100 00100 11111",
    "L": "10000 10000 10000 10000 10000 10000 11111",
    "N": "10001 11001 10101 10101 10011 10001 10001",
    "O": "01110 10001 10001 10001 10001 10001 01110",
    "P": "11110 10001 10001 11110 10000 10000 10000",
    "R": "11110 10001 10001 11110 10100 10010 10001",
    "T": "11111 00100 00100 00100 00100 00100 00100",
    "U": "10001 10001 10001 10001 10001 10001 01110",
    "Ü": "01010 00000 10001 10001 10001 10001 01110",
    "W": "10001 10001 10001 10101 10101 11011 10001",
    " ": "00000 00000 00000 00000 00000 00000 00000",
    # The numbers one to three and ten in Chinese are strokes alone.
    "三": "11111 00000 00000 01110 00000 00000 11111",
    "十": "00100 00100 00100 11111 00100 00100 00100",
}
"""Letters of 5 by 7 points, row by row."""
_ADVANCE, _LINE = 6, 10


def box(left: int, top: int, right: int, bottom: int, colour: int) -> Painter:
    """A rectangle; its right and bottom edges do not belong to it."""
    return lambda x, y: colour if left <= x < right and top <= y < bottom else WHITE


def frame(width: int, colour: int) -> Painter:
    """A band along the four edges."""
    far = SIDE - width
    return lambda x, y: colour if min(x, y) < width or max(x, y) >= far else WHITE


def sign(left: int, top: int, right: int, bottom: int) -> Painter:
    """A yellow board."""
    return box(left, top, right, bottom, YELLOW)


def words(
    left: int, top: int, *texts: str, size: int = 1, colour: int = BLACK
) -> Painter:
    """Lines of capital letters, each point ``size`` pixels wide."""
    points = {
        (column * _ADVANCE + i, row * _LINE + j)
        for row, text in enumerate(texts)
        for column, letter in enumerate(text)
        for j, line in enumerate(_FONT[letter].split())
        for i, point in enumerate(line)
        if point == "1"
    }
    return lambda x, y: (
        colour if ((x - left) // size, (y - top) // size) in points else WHITE
    )


def moved(paint: Painter, right: int, down: int = 0) -> Painter:
    """The same painter moved; the new area is white."""
    return lambda x, y: (
        paint(x - right, y - down)
        if 0 <= x - right < SIDE and 0 <= y - down < SIDE
        else WHITE
    )


def clicks(beats_a_minute: int, count: int) -> bytes:
    """Short high beeps in a steady beat."""
    beat = 60_000 // beats_a_minute
    return wav(*[(1760, 30), (0, beat - 30)] * count)


def fading(notes: int, *, out: bool = False) -> bytes:
    """Notes of one pitch that grow louder one after the other, or softer."""
    return faded(wav(*[(330, 130), (0, 10)] * notes), out=out)
