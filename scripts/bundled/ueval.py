"""The bundled samples of UEval: a row for each task, with criteria in both published
forms."""

from __future__ import annotations

import json
from typing import Any

from scripts.synthetic_media import (
    BLACK,
    BLUE,
    GREEN,
    RED,
    YELLOW,
    bars,
    disc,
    over,
    png,
    square,
    triangle,
)

FOLDER = "tasks/ueval/bundled"
_LAMP, _TOWER = disc(32, 12, 8, RED), square(24, 20, 16, BLACK)
PICTURES = {
    "lighthouse": over(_LAMP, _TOWER, square(24, 36, 16, BLACK)),
    "orbit": over(disc(32, 32, 10, YELLOW), disc(56, 32, 4, BLUE)),
    "steps": bars(16, 32, 48),
    "filter": over(
        square(4, 24, 16, BLUE), square(24, 24, 16, GREEN), square(44, 24, 16, RED)
    ),
    "drawing_1": square(12, 32, 28, YELLOW),
    "drawing_2": over(triangle(RED), square(20, 40, 24, YELLOW)),
    "boat_1": square(20, 20, 28, BLUE),
    "boat_2": triangle(BLUE),
    "bulb_1": disc(32, 24, 14, BLACK),
    "bulb_2": disc(32, 24, 14, YELLOW),
    "stretch_1": over(disc(32, 10, 6, RED), square(28, 16, 8, BLUE)),
    "stretch_2": over(disc(32, 30, 6, RED), square(28, 36, 8, BLUE)),
}


def _criterion(text: str, side: str, *tags: str) -> dict[str, Any]:
    """A criterion in the older form."""
    return {
        "criterion": text,
        "tags": list(tags),
        **({"type": side} if side == "image" else {}),
    }


ROWS: tuple[dict[str, Any], ...] = (
    {
        "id": 1,
        "task": "space",
        "prompt": "What does the top of a black lighthouse with a red lamp look like? "
        "Show it, and say what it is for.",
        "text_ref": "A round red lamp stands on the black tower. It shows ships at "
        "night where the coast is.",
        "image_ref": ["img/lighthouse.png"],
        "text_rubrics": [
            "The answer says that the lamp warns or guides ships.",
            "The answer names the colour red.",
        ],
        "image_rubrics": [
            "A round red lamp is shown.",
            "The lamp stands on top of a black tower.",
        ],
    },
    {
        "id": 2,
        "task": "textbook",
        "prompt": "Draw how the Earth moves around the Sun, and explain what a year "
        "is.",
        "text_ref": "The Earth moves around the Sun. It comes back to the same place "
        "after a year.",
        "image_ref": ["img/orbit.png"],
        "text_rubrics": [
            "The answer says that a year is one turn of the Earth around the Sun."
        ],
        "image_rubrics": [
            "The Sun is in the middle.",
            "The Earth is smaller than the Sun.",
        ],
    },
    {
        "id": "3",
        "task": "diagram",
        "prompt": "Make a figure, with a caption, of a method that doubles its data, "
        "and then triples it.",
        "text_ref": "Figure 1: the data grow in two steps, from one part to two and to "
        "three.",
        "image_ref": ["img/steps.png"],
        "text_rubrics": ["The caption names two steps."],
        "image_rubrics": [],
    },
    {
        "id": "9",
        "task": "diagram",
        "prompt": "Make a figure, with a caption, of three runs of which each scores "
        "higher than the one before.",
        "text_ref": "Figure 1: the scores of three runs, which rise from the first to "
        "the last.",
        "image_ref": ["img/steps.png"],
        "text_rubrics": ["The caption says that the scores rise."],
        "image_rubrics": ["There are three bars.", "The bars rise from left to right."],
    },
    {
        "id": "paper_4",
        "task_type": "paper",
        "question_type": "closed",
        "prompt": "Show the three stages of a pipeline that reads, filters and "
        "writes, and explain each of them.",
        "text_ref": "The first stage reads, the second filters, and the third writes "
        "what is left.",
        "image_ref": ["img/filter.png"],
        "text_rubrics": [
            _criterion("Each of the three stages is explained.", "text", "content")
        ],
        "image_rubrics": [
            _criterion("There are three stages.", "image", "content"),
            _criterion("The stages stand in a row.", "image", "layout"),
        ],
    },
    {
        "id": "art_5",
        "task_type": "art",
        "question_type": "open",
        "prompt": "How do I draw a house out of two shapes? Show each step in words "
        "and pictures.",
        "text_ref": "1. Draw a yellow square. 2. Put a red triangle on it as the roof.",
        "image_ref": ["img/drawing_1.png", "img/drawing_2.png"],
        "text_rubrics": [
            _criterion("The steps come in an order that works.", "text", "sequence")
        ],
        "image_rubrics": [
            _criterion(
                "The second picture adds a roof to the first.", "image", "sequence"
            ),
            _criterion(
                "The walls have the same colour in all pictures.",
                "image",
                "consistency",
            ),
        ],
    },
    {
        "id": 6,
        "task": "Life",
        "prompt": "How do I fold a paper boat? Show every step in words and pictures.",
        "text_ref": "1. Begin with a square sheet. 2. Fold it to a triangle, which is "
        "the boat.",
        "image_ref": ["img/boat_1.png", "img/boat_2.png"],
        "text_rubrics": ["The answer begins with a sheet of paper."],
        "image_rubrics": ["The pictures show the sheet and the finished boat."],
    },
    {
        "id": 7,
        "task": "tech",
        "prompt": "How do I change a light bulb? Show every step in words and "
        "pictures.",
        "text_ref": "1. Switch off the power and take out the dark bulb. 2. Screw in "
        "a new one, which shines.",
        "image_ref": ["img/bulb_1.png", "img/bulb_2.png"],
        "text_rubrics": [
            "The answer switches off the power first.",
            "The answer says how the bulb is put in.",
        ],
        "image_rubrics": ["The bulb of the last picture shines."],
    },
    {
        "id": 8,
        "task": "exercise",
        "prompt": "How do I do a squat? Show every step in words and pictures.",
        "text_ref": "1. Stand upright. 2. Bend your knees until you nearly sit, with "
        "your back straight.",
        "image_ref": ["img/stretch_1.png", "img/stretch_2.png"],
        "text_rubrics": ["The answer says that the knees bend."],
        "image_rubrics": ["The person is lower in the last picture than in the first."],
    },
)


def ueval() -> dict[str, bytes]:
    """The rows and their pictures, by path from the root of the checkout."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
    pictures = {
        f"{FOLDER}/img/{name}.png": png(paint) for name, paint in PICTURES.items()
    }
    return {f"{FOLDER}/test.jsonl": lines.encode(), **pictures}
