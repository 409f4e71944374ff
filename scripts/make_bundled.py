"""Make the bundled samples of all tasks: `python -m scripts.make_bundled [FOLDER]` in
the checkout.

All texts and media are made here. Without a folder, the files in the tree are replaced.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from scripts.bundled.isg import isg
from scripts.bundled.mme_unify import mme_unify
from scripts.bundled.ueval import ueval
from scripts.mmmg_bundled import mmmg
from scripts.synthetic_media import (
    BLACK,
    BLUE,
    CLIP_FRAMES,
    GREEN,
    RED,
    SIDE,
    YELLOW,
    bars,
    clip,
    disc,
    moving,
    octahedron,
    over,
    pdf,
    png,
    square,
    tetrahedron,
    triangle,
    wav,
)

ROOT = Path(__file__).resolve().parent.parent

Files: TypeAlias = dict[str, bytes]
"""Bytes by path from the root of the checkout."""

UNIM = "tasks/unim/bundled"
SUFFIXES = {
    "image": "png",
    "audio": "wav",
    "video": "mp4",
    "threeD": "off",
    "document": "pdf",
}
ABBREVIATIONS = {
    "image": "img",
    "audio": "aud",
    "video": "vid",
    "threeD": "thd",
    "document": "doc",
}
FOLDERS = {"threeD": "3dmesh"}

Item: TypeAlias = bytes | str | tuple[str, bytes]
"""The bytes of a medium, or its suffix and bytes, or the text of a code item."""


def unim_record(
    files: Files,
    place: tuple[str, str],
    file: str,
    *,
    number: int,
    level: int,
    question: str,
    given: Mapping[str, Item],
    answer: str,
    expected: Mapping[str, Item],
) -> None:
    """Add one record to its file and its media to theirs. ``place`` is field and
    numbered domain folder."""
    field, folder = place
    domain = folder.partition("_")[2]
    media = f"{UNIM}/data/{field}/{domain}"
    row = {
        # The data write one field in two ways.
        "domain": "general_domain" if field == "general_area" else field,
        "subdomain": domain,
        "id": str(number),
        "difficulty_level": level,
        "input": {
            "modal": unim_modal(files, media, number, given),
            "content": question,
        },
        "output": {
            "modal": unim_modal(files, media, number, expected),
            "content": answer,
        },
    }
    name = f"{UNIM}/qapairs_placeholder/{field}/{folder}/{file}.jsonl"
    text = json.dumps(row, indent=4, ensure_ascii=False) + "\n"
    files[name] = files.get(name, b"") + text.encode()


def unim_modal(
    files: Files, media: str, number: int, items: Mapping[str, Item]
) -> dict[str, str]:
    """The ``modal`` mapping of a record's side; the media are added to ``files``."""
    modal = {}
    for tag, item in items.items():
        kind = tag.rstrip("0123456789")
        if isinstance(item, str):
            modal[tag] = item
            continue
        suffix, data = item if isinstance(item, tuple) else (SUFFIXES[kind], item)
        running = int(tag.removeprefix(kind))
        path = (
            f"{FOLDERS.get(kind, kind)}/"
            f"{ABBREVIATIONS[kind]}_{number:04}_{running:02}.{suffix}"
        )
        modal[tag] = path
        files[f"{media}/{path}"] = data
    return modal


def unim() -> Files:
    """The UniM samples: every modality on both sides, eight of the thirteen hard."""
    files: Files = {}
    for make in (
        _natural_science,
        _programming,
        _engineering,
        _social_science,
        _general_area,
    ):
        make(files)
    return files


def _natural_science(files: Files) -> None:
    maths, physics = ("natural_science", "1_math"), ("natural_science", "2_physics")
    unim_record(
        files,
        maths,
        "image_image",
        number=1,
        level=2,
        question="The chart <image1> shows three amounts. Draw the same chart with the "
        "order of its bars turned round.",
        given={"image1": png(bars(16, 32, 48))},
        answer="Read from the right, the amounts rise to the left: <image2>",
        expected={"image2": png(bars(48, 32, 16))},
    )
    unim_record(
        files,
        maths,
        "document_image&audio",
        number=2,
        level=3,
        question="The sheet <document1> lists three figures. Draw each of them on its "
        "own, in the order of the list, and play a sound with one beep for each "
        "figure.",
        given={
            "document1": pdf("1. a red disc", "2. a green square", "3. a blue triangle")
        },
        answer="First the disc <image1>, then the square <image2>, last the triangle "
        "<image3>. Three figures make "
        "three beeps: <audio1>",
        expected={
            "image1": png(disc(32, 32, 24, RED)),
            "image2": png(square(12, 12, 40, GREEN)),
            "image3": png(triangle(BLUE)),
            "audio1": wav((880, 120), (0, 60), (880, 120), (0, 60), (880, 120)),
        },
    )
    unim_record(
        files,
        physics,
        "audio_audio",
        number=1,
        level=1,
        question="Listen to the tone in <audio1> and give me the tone one octave above "
        "it.",
        given={"audio1": wav((220, 500))},
        answer="An octave doubles the frequency: <audio2>",
        expected={"audio2": wav((440, 500))},
    )


def _programming(files: Files) -> None:
    programming = ("natural_science", "6_programming")
    unim_record(
        files,
        programming,
        "code_code",
        number=1,
        level=3,
        question="The function in <code1> should print an opening brace in front of "
        "every item. Rewrite it as one expression.",
        given={
            "code1": "```python\ndef show(items):\n    for item in items:\n        "
            'print("{" + item)\n```'
        },
        answer="Joining the lines first needs a single call: <code2>",
        expected={
            "code2": '```python\ndef show(items):\n    print("\\n".join("{" + item for '
            "item in items))\n```"
        },
    )
    unim_record(
        files,
        programming,
        "code_code",
        number=3,
        level=3,
        question="Run by hand what <code1> does with the number 6, and write a shorter "
        "function that gives the same.",
        given={
            "code1": "```python\ndef f(n):\n    return n if n < 2 else n + f(n - 1)\n"
            "```"
        },
        answer="It adds 6, 5, 4, 3, 2 and 1, which is 21: <code2>",
        expected={"code2": "```python\ndef f(n):\n    return n * (n + 1) // 2\n```"},
    )
    unim_record(
        files,
        programming,
        "image_code",
        number=2,
        level=3,
        question="Write code that prints a picture of the staircase in <image1>, one "
        "row of # signs for each step.",
        given={"image1": png(bars(16, 32, 48, 64, colour=BLACK))},
        answer="Each row is one sign longer than the row above: <code1>",
        expected={
            "code1": '```python\nfor width in range(1, 5):\n    print("#" * width)\n```'
        },
    )


def _engineering(files: Files) -> None:
    engineering = ("natural_science", "7_engineering")
    unim_record(
        files,
        engineering,
        "threeD_threeD",
        number=1,
        level=3,
        question="The part <threeD1> is too small for its socket. Double every edge.",
        given={"threeD1": tetrahedron(2)},
        answer="All corners moved twice as far from the origin: <threeD2>",
        expected={"threeD2": tetrahedron(4)},
    )
    unim_record(
        files,
        engineering,
        "threeD_image&document",
        number=2,
        level=2,
        question="Show the outline of <threeD1> as it is seen from the front, and "
        "write a sheet with its numbers of corners and faces.",
        given={"threeD1": octahedron(3)},
        answer="From the front it fills a tilted square <image1>; the counts are on "
        "the sheet <document1>",
        expected={
            "image1": png(
                lambda x, y: (
                    BLUE if abs(x - SIDE // 2) + abs(y - SIDE // 2) <= 24 else 0
                )
            ),
            "document1": pdf("corners: 6", "faces: 8"),
        },
    )


def _social_science(files: Files) -> None:
    art, education = ("social_science", "17_art"), ("social_science", "15_education")
    unim_record(
        files,
        art,
        "image&audio_video",
        number=1,
        level=3,
        question="Animate the square of <image1> so that it slides from left to right "
        "as slowly as the melody <audio1> rises.",
        given={
            "image1": png(square(0, 24, 16, RED)),
            "audio1": wav((220, 120), (277, 120), (330, 120)),
        },
        answer="The square crosses the picture within one second: <video1>",
        expected={"video1": clip(moving(lambda at: square(at * 3 // 4, 24, 16, RED)))},
    )
    unim_record(
        files,
        education,
        "audio_document",
        number=1,
        level=2,
        question="How many notes do you hear in <audio1>, and how long is each? Answer "
        "with a table.",
        given={"audio1": wav((440, 100), (0, 50), (550, 200))},
        answer="Two notes, the second one twice as long: <document1>",
        expected={"document1": ("csv", b"note,milliseconds\n1,100\n2,200\n")},
    )


def _general_area(files: Files) -> None:
    sports = ("general_area", "21_sports")
    fun = ("general_area", "24_entertainment")
    food = ("general_area", "25_food")
    falling = moving(lambda at: disc(32, at, 10, GREEN))
    unim_record(
        files,
        fun,
        "video_image",
        number=1,
        level=3,
        question="Pick the first and the last picture of the clip <video1>, and say "
        "what happens between them.",
        given={"video1": clip(falling)},
        answer="It begins with <image1>. The disc falls, and at the end <image2> it "
        "has nearly reached the floor.",
        expected={"image1": png(falling[0]), "image2": png(falling[CLIP_FRAMES - 1])},
    )
    bouncing = moving(lambda at: disc(at, 54 - abs(at % 32 - 16), 8, YELLOW))
    unim_record(
        files,
        sports,
        "video&audio_video&audio",
        number=1,
        level=3,
        question="The ball in <video1> bounces to the beat of <audio1>. Play both "
        "backwards.",
        given={
            "video1": clip(bouncing),
            "audio1": wav((330, 150), (0, 200), (262, 150)),
        },
        answer="Turned round, the ball comes from the right <video2> and the low beat "
        "is heard first <audio2>.",
        expected={
            "video2": clip(reversed(bouncing)),
            "audio2": wav((262, 150), (0, 200), (330, 150)),
        },
    )
    unim_record(
        files,
        food,
        "image_audio",
        number=1,
        level=1,
        question="The oven shows <image1>. Green means done. Play one long beep if the "
        "bread is done, two "
        "short ones if not.",
        given={"image1": png(over(disc(32, 20, 10, GREEN), square(24, 34, 24, BLACK)))},
        answer="The lamp is green, so the bread is done: <audio1>",
        expected={"audio1": wav((660, 500))},
    )


def example() -> Files:
    """The rows of the example with rubrics, and the pictures that they show and ask
    for."""
    folder = "tasks/example/bundled"
    pictures = {"chart": png(bars(16, 48, 32)), "disc": png(disc(32, 32, 20, RED))}
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in RUBRICS)
    return {
        f"{folder}/test.jsonl": lines.encode(),
        **{f"{folder}/img/{n}.png": data for n, data in pictures.items()},
    }


RUBRICS: tuple[dict[str, Any], ...] = (
    {
        "id": "thanks",
        "input": "Thank a neighbour in two sentences for watering your plants while "
        "you were away.",
        "reference": "Thank you for looking after my plants last week. Even the fern "
        "has a new leaf.",
        "rubric": [
            {
                "id": "thanks",
                "criterion": "The answer thanks the neighbour for watering the plants.",
                "weight": 2,
            },
            {"id": "length", "criterion": "The answer has exactly two sentences."},
        ],
    },
    {
        "id": "chart",
        "input": {
            "text": "Which bar of <<image1>> is the highest?",
            "media": {"image1": "img/chart.png"},
        },
        "reference": "The one in the middle.",
        "rubric": [
            "The answer names the middle bar, or the second one.",
            "The answer names no other bar.",
        ],
    },
    {
        "id": "disc",
        "input": "Draw a red disc on a white ground, and name its colour below it.",
        "reference": {"text": "<<image1>> Red.", "media": {"image1": "img/disc.png"}},
        "rubric": [
            {
                "id": "picture",
                "criterion": "The picture shows one red disc on a white ground and "
                "nothing else.",
                "weight": 3,
                "side": "media",
                "kinds": ["image"],
            },
            {
                "id": "colour",
                "criterion": "The words name the colour red.",
                "side": "text",
            },
            {"id": "order", "criterion": "The words follow the picture."},
        ],
    },
)


def bundled() -> Files:
    """Every bundled file."""
    return {**unim(), **mmmg(), **isg(), **mme_unify(), **ueval(), **example()}


def write(files: Mapping[str, bytes], root: Path) -> None:
    """Write the files under ``root``; other files stay."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Make the bundled samples of the tasks."
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=ROOT,
        help="where to write (default: the checkout)",
    )
    write(bundled(), parser.parse_args().folder)


if __name__ == "__main__":
    main()
