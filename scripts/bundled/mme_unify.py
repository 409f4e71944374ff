"""The bundled samples of MME-Unify: rows for each of its 14 tasks, in the form and with
the oddities of the data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.synthetic_media import (
    BLACK,
    BLUE,
    GREEN,
    RED,
    SIDE,
    WHITE,
    YELLOW,
    Painter,
    bars,
    clip,
    disc,
    moving,
    over,
    png,
    square,
    triangle,
)

FOLDER = "tasks/mme_unify/bundled"


def maze(
    size: int,
    start: tuple[int, int],
    goal: tuple[int, int],
    holes: Sequence[tuple[int, int]],
) -> Painter:
    """A maze of square cells, each (row, column) from 0: black holes, a green goal and
    a red start."""
    colours = {**dict.fromkeys(holes, BLACK), goal: GREEN, start: RED}
    side = SIDE // size

    def paint(x: int, y: int) -> int:
        inside = x % side and y % side and max(x, y) < side * size
        return colours.get((y // side, x // side), WHITE) if inside else BLUE

    return paint


_HOUSE = over(triangle(RED), square(20, 40, 20, YELLOW))
_TWINS = over(disc(16, 16, 8, RED), disc(48, 16, 8, BLUE))
_TRIANGLE = triangle(BLACK)
LARGE: Mapping[str, Painter] = {
    "house": _HOUSE,
    "house_in_blue": over(triangle(BLUE), square(20, 40, 20, YELLOW)),
    "roof": triangle(BLACK),
    "chart": bars(16, 32, 48),
}
"""Pictures that a network compares, 64 pixels wide."""
SMALL: Mapping[str, Painter] = {
    "sun": disc(32, 32, 20, YELLOW),
    "lake": square(0, 32, 64, BLUE),
    "box_red": square(16, 16, 32, RED),
    "box_green": square(16, 16, 32, GREEN),
    "box_blue": square(16, 16, 32, BLUE),
    "box_black": square(16, 16, 32, BLACK),
    "figure": _TRIANGLE,
    "figure_line": over(
        square(30, 8, 4, RED), square(30, 24, 4, RED), square(30, 40, 4, RED), _TRIANGLE
    ),
    "figure_left": over(square(16, 44, 8, RED), _TRIANGLE),
    "figure_right": over(square(40, 44, 8, RED), _TRIANGLE),
    "figure_top": over(square(28, 8, 8, RED), _TRIANGLE),
    "twins_a": over(square(24, 40, 16, GREEN), _TWINS),
    "twins_b": _TWINS,
    "twins_difference": square(24, 40, 16, GREEN),
    "twins_left": square(8, 8, 16, RED),
    "twins_right": square(40, 8, 16, BLUE),
    "twins_none": square(0, 0, 0, WHITE),
    "maze_3_0": maze(3, (0, 0), (1, 1), [(2, 2)]),
    "maze_3_1": maze(3, (0, 1), (1, 1), [(2, 2)]),
    "maze_4_0": maze(4, (3, 0), (1, 1), [(0, 0), (3, 2)]),
    "maze_4_1": maze(4, (2, 0), (1, 1), [(0, 0), (3, 2)]),
    "maze_4_2": maze(4, (1, 0), (1, 1), [(0, 0), (3, 2)]),
}
_ROLLING = moving(lambda at: disc(at, 32, 10, RED))
_FALLING = moving(lambda at: square(24, at, 16, BLUE))
CLIPS: Mapping[str, Sequence[Painter]] = {"rolling": _ROLLING, "falling": _FALLING}
FIRST_FRAMES: Mapping[str, Painter] = {
    "rolling_start": _ROLLING[0],
    "falling_start": _FALLING[0],
}


def _picture(name: str) -> str:
    return f"media/{name}.png"


def _asked(category: str, source: str, subcategory: str, **row: Any) -> dict[str, Any]:
    return {"category": category, "source": source, "subcategory": subcategory, **row}


_SINGLE = "Single_Image_Perception_and_Understanding"
_SEVERAL = "Multiple_Images_and_Text_Interlaced"
_CLIP = "Video_Perception_and_Understanding"
QUESTIONS = (
    _asked(
        _SINGLE,
        "MME",
        "color",
        question="Is there a red roof in the picture?",
        image=[_picture("house")],
        choice=["A. Yes", "B. No"],
        answer="A",
    ),
    _asked(
        _SINGLE,
        "MMBench",
        "image_topic",
        question="What does the picture show?",
        image=[_picture("chart")],
        choice=["A. a tree", "B. a chart", "C. a boat", "D. a hand"],
        answer="B",
    ),
    _asked(
        _SINGLE,
        "MME_RealWorld",
        "Perception/ OCR with Complex Context",
        question="图中的圆是什么颜色？",
        image=[_picture("sun")],
        choice=["（A）红色", "（B）绿色", "（C）黄色", "（D）蓝色", "（E）黑色"],
        answer="C",
    ),
    _asked(
        _SEVERAL,
        "SEED-Bench_v2",
        "Multiple-Images & Text Comprehension",
        data_type="Multiple Images",
        level="L1",
        question="Which colour has the shape in the second picture?",
        image=[_picture("box_red"), _picture("box_blue")],
        choice=["A: red", "B: green", "C: black", "D: blue"],
        answer="D",
    ),
    _asked(
        _SEVERAL,
        "SEED-Bench_v2",
        "Interleaved Image & Text Comprehension",
        data_type="Interleaved Image",
        level="L2",
        question="By day there is <img> above the water <img>. What is missing at "
        "night?",
        image=[_picture("sun"), _picture("lake")],
        choice=["A: the sun", "B: the water", "C: both", "D: nothing"],
        answer="A",
    ),
    _asked(
        _CLIP,
        "Video-MME",
        "Action Recognition",
        question="What does the disc do?",
        image=["media/rolling.mp4"],
        choice=[
            "A. It stands.",
            "B. It rolls to the right.",
            "C. It falls.",
            "D. It grows.",
        ],
        answer="B",
    ),
    _asked(
        _CLIP,
        "Video-MME",
        "Object Recognition",
        question="What is falling?",
        image=["media/falling.mp4"],
        choice=["A. a disc", "B. a triangle", "C. a square", "D. nothing"],
        answer="C",
    ),
)
GENERATION = (
    _asked(
        "Conditional_Image_to_Video_Generation",
        "TIP-I2V",
        "shapes",
        Text_Prompt="The red disc rolls to the right. --motion 1",
        data={"image": _picture("rolling_start"), "video": "media/rolling.mp4"},
    ),
    _asked(
        "Fine-Grained_Image_Reconstruction",
        "ImageNet",
        " ",
        Text_Prompt=" ",
        data={"image": _picture("house")},
    ),
    _asked(
        "Text-Image_Editing",
        "Imagenhub",
        "Mask guided image editing",
        Text_Prompt="turn the red roof into a blue one",
        data={
            "image": _picture("house"),
            "mask_img": _picture("roof"),
            "edited_image": _picture("house_in_blue"),
        },
    ),
    _asked(
        "Text-Image_Editing",
        "Emu_Edit",
        "color",
        Text_Prompt="Paint the roof red.",
        data={"image": _picture("house_in_blue"), "edited_image": _picture("house")},
    ),
    _asked(
        "Text-Image_Generation",
        "COCO",
        " ",
        Text_Prompt="a chart of three blue bars, each higher than the one before",
        data={"image": _picture("chart")},
    ),
    _asked(
        "Text-to-Video_Generation",
        "MSR-VTT",
        " ",
        Text_Prompt="a blue square is falling",
        data={"image": "media/falling.mp4"},
    ),
    _asked(
        "Text-to-Video_Generation",
        "MSR-VTT",
        " ",
        Text_Prompt="a person walks in the rain",
        data={},
    ),
    _asked(
        "Video prediction",
        "Pexel Videos",
        " ",
        Text_Prompt="The square goes on falling.",
        data={"image": _picture("falling_start"), "video": "media/falling.mp4"},
    ),
)
_EDITED = {
    "image": _picture("box_black"),
    "edited_image": _picture("box_red"),
    "fake_image1": _picture("box_blue"),
    "fake_image2": _picture("box_green"),
    "fake_image3": _picture("house"),
}
IEE = (
    {
        "question_id": 1,
        "category": "Text-Image_Editing",
        "subcategory": "color",
        "question": "Paint the box red.",
        # As in the data, the right option stands first and the letters are out of
        # order.
        "choice": [
            "D: A black box on a white ground; the box becomes red.",
            "B: A black box on a white ground; the box becomes blue.",
            "A: A black box on a white ground; the box becomes green.",
            "C: A black box on a white ground; a house takes its place.",
        ],
        "answer": "D",
        "data": _EDITED,
    },
)
_UNIFIED = "Uinfy_capability"
CSQ = (
    {
        "id": 1,
        "category": _UNIFIED,
        "subcategory": "Common_Sense_Question",
        "question": "What gives light by day?",
        "choice": ["A: a box", "B: a lake", "C: the sun", "D: a roof"],
        "answer": "C",
        # The stored files have other endings than the rows say.
        "data": {
            "image": "media/sun.jpg",
            "fake_image1": "media/box_green.jpg",
            "fake_image2": "media/lake.jpg",
            "fake_image3": "media/roof.jpg",
        },
    },
)
AL = (
    {
        "id": 1,
        "category": _UNIFIED,
        "subcategory": "Math_Reasoning",
        "question": "Two sides of the triangle are equal. How many axes of symmetry "
        "has it at least?",
        "choice": ["A: 0", "B: 1", "C: 2", "D: 3"],
        "answer": "B",
        "data": {
            "image": _picture("figure"),
            "image_Auxiliary_lines": _picture("figure_line"),
            "image_Auxiliary_lines_negative1": _picture("figure_left"),
            "image_Auxiliary_lines_negative2": _picture("figure_right"),
            "image_Auxiliary_lines_negative3": _picture("figure_top"),
        },
    },
)
SD = (
    {
        "id": 1,
        "category": _UNIFIED,
        "subcategory": "SpotDiff",
        "choice": ["A: 1", "B: 2", "C: 4", "D: 6"],
        "answer": "A",
        "data": {
            "img_a": _picture("twins_a"),
            "img_b": _picture("twins_b"),
            "img_diff_a": _picture("twins_difference"),
            "img_diff_a_negative1": _picture("twins_left"),
            "img_diff_a_negative2": _picture("twins_right"),
            "img_diff_a_negative3": _picture("twins_none"),
        },
    },
)
VCOT = (
    {
        "id": 1,
        "category": "Visual CoT",
        "subcategory": "data_3x3",
        "data": {
            "Action": ["Right", "Down", "Finish"],
            "Coordinate": [[1, 1], [1, 2], [2, 2]],
            "Step_0": _picture("maze_3_0"),
            "Step_1": _picture("maze_3_1"),
        },
    },
    {
        "id": 2,
        "category": "Visual CoT",
        "subcategory": "data_4x4",
        "data": {
            "Action": ["Up", "Up", "Right", "Finish"],
            # The second one is mistyped, as some of the data are.
            "Coordinate": [[4, 1], [3.1], [2, 1], [2, 2]],
            "Step_0": _picture("maze_4_0"),
            "Step_1": _picture("maze_4_1"),
            "Step_2": _picture("maze_4_2"),
        },
    },
)
FILES: Mapping[str, Sequence[dict[str, Any]]] = {
    # Every question stands twice, as in the data.
    "Understanding/Understanding_Unified": [
        {"question_id": number, **row}
        for number, row in enumerate((*QUESTIONS, *QUESTIONS))
    ],
    "Generation/Generation_Unified": [
        {"id": number, **row} for number, row in enumerate(GENERATION)
    ],
    f"{_UNIFIED}/Image_Editing_and_Explaning/Unified_Explanation": IEE,
    f"{_UNIFIED}/Common_Sense_Question/Common_Sense_Question": CSQ,
    f"{_UNIFIED}/Auxiliary_Lines/Auxiliary_Lines.": AL,
    f"{_UNIFIED}/SpotDiff/Spot_Diff": SD,
    f"{_UNIFIED}/Visual_CoT/Visual_CoT": VCOT,
}


def mme_unify() -> dict[str, bytes]:
    """The question files and their media, by path from the root of the checkout."""
    files = {
        f"{FOLDER}/{name}.json": (
            json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
        ).encode()
        for name, rows in FILES.items()
    }
    for pictures, side in ((LARGE, SIDE), (SMALL, SIDE // 2), (FIRST_FRAMES, SIDE)):
        files |= {
            f"{FOLDER}/media/{name}.png": png(paint, side)
            for name, paint in pictures.items()
        }
    return files | {
        f"{FOLDER}/media/{name}.mp4": clip(frames) for name, frames in CLIPS.items()
    }
