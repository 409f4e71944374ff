"""The first rows of a new benchmark, and their pictures and sounds, made by the standard library alone."""

from __future__ import annotations

import io
import json
import math
import struct
import wave
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

ROWS = 4
"""Rows of a task: two with a picture, two with a sound, in four orders."""
BUNDLED = 2
"""So many of them are bundled samples as well."""
_SIDE = 32
_RATE = 8000
_SECONDS = 0.25
_COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (200, 30, 30),
    "green": (30, 150, 60),
    "blue": (30, 60, 200),
    "yellow": (230, 200, 40),
    "purple": (130, 40, 150),
    "orange": (240, 130, 20),
}
_LOWEST_TONE = 220


class Row(NamedTuple):
    """A row with its media, by their paths beside the row file."""

    values: Mapping[str, Any]
    media: Mapping[str, bytes]


def rows_of(task: int) -> list[Row]:
    """The rows of the ``task``-th task, counted from 0; those of other tasks differ."""
    names = list(_COLOURS)
    return [
        _drawn(names[(2 * task) % len(names)]),
        _recognised(names[(2 * task + 1) % len(names)]),
        _told_and_played(_LOWEST_TONE + 20 * task),
        _played_and_told(_LOWEST_TONE + 20 * task + 10),
    ]


def row_file(rows: list[Row]) -> bytes:
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
) -> Row:
    kinds = ["text", "image" if "image1" in answer["media"] else "audio"]
    values = {"id": name, "input": asked, "reference": answer, "rubric": rubric}
    return Row({**values, "level": level, "output_modalities": kinds}, media)


def _drawn(colour: str) -> Row:
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
        media={path: png(_COLOURS[colour])},
    )


def _recognised(colour: str) -> Row:
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
        media={shown: png(_COLOURS[colour], side=_SIDE // 2), path: png(_COLOURS[colour])},
    )


def _told_and_played(hertz: int) -> Row:
    path = f"media/tone_{hertz}.wav"
    return _row(
        f"announce_{hertz}",
        level="easy",
        asked=f"Announce a tone of {hertz} hertz in one sentence, then play it.",
        answer={"text": f"Here is a tone of {hertz} hertz. <<audio1>>", "media": {"audio1": path}},
        rubric=[f"The sentence announces {hertz} hertz.", "The sound is a single steady tone."],
        media={path: wav(hertz)},
    )


def _played_and_told(hertz: int) -> Row:
    path = f"media/tone_{hertz}.wav"
    return _row(
        f"play_{hertz}",
        level="hard",
        asked=f"Play a tone of {hertz} hertz, then say how high it is.",
        answer={"text": f"<<audio1>> That was {hertz} hertz.", "media": {"audio1": path}},
        rubric=["The sound is a single steady tone.", f"The words after it say {hertz} hertz."],
        media={path: wav(hertz)},
    )


def png(colour: tuple[int, int, int], side: int = _SIDE) -> bytes:
    """A square picture of one colour."""
    line = b"\0" + bytes(colour) * side
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(line * side)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_sealed(name, body) for name, body in chunks)


def _sealed(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def wav(hertz: int) -> bytes:
    """A short tone, 16 bits, one channel."""
    count = int(_RATE * _SECONDS)
    samples = (int(12_000 * math.sin(2 * math.pi * hertz * i / _RATE)) for i in range(count))
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_RATE)
        file.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return written.getvalue()
