"""Makes the media of the example rows of a new benchmark, and the values in its row
files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mmeval.media.encode import png, wav

_SIDE = 32
_RATE = 8000
_SECONDS = 0.25
_LOUDNESS = 0.375
_COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (200, 30, 30),
    "green": (30, 150, 60),
    "blue": (30, 60, 200),
    "yellow": (230, 200, 40),
    "purple": (130, 40, 150),
    "orange": (240, 130, 20),
}
_LOWEST_TONE = 220


class ExampleRows(NamedTuple):
    """The values that differ between tasks: two colours, and two tones (in hertz)."""

    drawn: str
    shown: str
    announced: int
    played: int

    def pictures(self) -> dict[str, bytes]:
        """Returns the pictures of the rows, by their paths relative to the row file."""
        return {
            f"media/{self.drawn}_square.png": _square(self.drawn, _SIDE),
            f"media/{self.shown}_shown.png": _square(self.shown, _SIDE // 2),
            f"media/{self.shown}_drawn.png": _square(self.shown, _SIDE),
        }

    def sounds(self) -> dict[str, bytes]:
        """Returns the sounds of the rows, by their paths relative to the row file."""
        import numpy

        sounds: dict[str, bytes] = {}
        times = numpy.arange(int(_RATE * _SECONDS)) / _RATE
        for hertz in (self.announced, self.played):
            waves = _LOUDNESS * numpy.sin(2 * numpy.pi * hertz * times)
            sound = wav(waves.astype(numpy.float32), _RATE)
            sounds[f"media/tone_{hertz}.wav"] = sound.read()
        return sounds


def rows_of(task: int) -> ExampleRows:
    """Returns the rows of the task with the number ``task``, counted from 0. Each task
    has different rows."""
    names = list(_COLOURS)
    first = (2 * task) % len(names)
    second = (2 * task + 1) % len(names)
    tone = _LOWEST_TONE + 20 * task
    return ExampleRows(names[first], names[second], tone, tone + 10)


def _square(colour: str, side: int) -> bytes:
    from PIL import Image

    picture = Image.new("RGB", (side, side), _COLOURS[colour])
    return png(picture).read()
