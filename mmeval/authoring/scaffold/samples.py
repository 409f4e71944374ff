"""First rows of a new benchmark with their media."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from mmeval.content.encode import png, wav

ROWS = 4
"""Rows of a task: two with a picture, two with a sound, in four orders."""
BUNDLED = 2
"""The number of rows that are bundled samples as well."""
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


class ExampleRow(NamedTuple):
    """A row with its media, by their paths beside the row file."""

    values: Mapping[str, Any]
    media: Mapping[str, bytes]


def rows_of(task: int) -> list[ExampleRow]:
    """The rows of the ``task``-th task, counted from 0; those of other tasks differ."""
    names = list(_COLOURS)
    return [
        _drawn(names[(2 * task) % len(names)]),
        _recognised(names[(2 * task + 1) % len(names)]),
        _announced(_LOWEST_TONE + 20 * task),
        _described(_LOWEST_TONE + 20 * task + 10),
    ]


def row_file(rows: list[ExampleRow]) -> bytes:
    """Rows as JSONL."""
    return "".join(f"{json.dumps(row.values, ensure_ascii=False)}\n" for row in rows).encode()


def _row(
    name: str,
    *,
    level: str,
    asked: Mapping[str, Any] | str,
    answer: Mapping[str, Any],
    rubric: list[Any],
    media: Mapping[str, bytes],
) -> ExampleRow:
    kinds = ["text", "image" if "image1" in answer["media"] else "audio"]
    values = {"id": name, "input": asked, "reference": answer, "rubric": rubric}
    return ExampleRow({**values, "level": level, "output_modalities": kinds}, media)


def _drawn(colour: str) -> ExampleRow:
    path = f"media/{colour}_square.png"
    return _row(
        f"draw_{colour}",
        level="easy",
        asked=f"Draw a {colour} square. Below it, name its colour in one word.",
        answer={"text": f"<<image1>> {colour.capitalize()}.", "media": {"image1": path}},
        rubric=[
            {"id": "picture", "criterion": f"The picture is a {colour} square.", "weight": 2, "side": "media"},
            {"id": "word", "criterion": f"The only word is {colour}.", "side": "text"},
        ],
        media={path: _square(colour)},
    )


def _recognised(colour: str) -> ExampleRow:
    shown, path = f"media/{colour}_shown.png", f"media/{colour}_drawn.png"
    return _row(
        f"recognise_{colour}",
        level="hard",
        asked={
            "text": "Which colour is this? <<image1>> Say it, then draw a square of it.",
            "media": {"image1": shown},
        },
        answer={"text": f"It is {colour}. <<image1>>", "media": {"image1": path}},
        rubric=[f"The words say that the colour is {colour}.", f"The picture is {colour} and nothing else."],
        media={shown: _square(colour, _SIDE // 2), path: _square(colour)},
    )


def _announced(hertz: int) -> ExampleRow:
    path = f"media/tone_{hertz}.wav"
    return _row(
        f"announce_{hertz}",
        level="easy",
        asked=f"Announce a tone of {hertz} hertz in one sentence, then play it.",
        answer={"text": f"Here is a tone of {hertz} hertz. <<audio1>>", "media": {"audio1": path}},
        rubric=[f"The sentence announces {hertz} hertz.", "The sound is a single steady tone."],
        media={path: _tone(hertz)},
    )


def _described(hertz: int) -> ExampleRow:
    path = f"media/tone_{hertz}.wav"
    return _row(
        f"play_{hertz}",
        level="hard",
        asked=f"Play a tone of {hertz} hertz, then say how high it is.",
        answer={"text": f"<<audio1>> That was {hertz} hertz.", "media": {"audio1": path}},
        rubric=["The sound is a single steady tone.", f"The words after it say {hertz} hertz."],
        media={path: _tone(hertz)},
    )


def _square(colour: str, side: int = _SIDE) -> bytes:
    from PIL import Image

    return png(Image.new("RGB", (side, side), _COLOURS[colour])).read()


def _tone(hertz: int) -> bytes:
    import numpy

    times = numpy.arange(int(_RATE * _SECONDS)) / _RATE
    waves = numpy.sin(2 * numpy.pi * hertz * times)
    return wav((_LOUDNESS * waves).astype(numpy.float32), _RATE).read()
