"""Samples whose answer is one picture, made from words."""

from __future__ import annotations

from scripts.mmmg_bundled.media import (
    BLUE_SQUARE,
    GREEN_SQUARE,
    RED_DISC,
    box,
    frame,
    sign,
    words,
)
from scripts.mmmg_bundled.row import Row
from scripts.synthetic_media import (
    BLACK,
    BLUE,
    GREEN,
    RED,
    SIDE,
    bars,
    disc,
    over,
    png,
    square,
    triangle,
)

PICTURES: tuple[Row, ...] = (
    Row(
        "i_object_include",
        "Draw a plain white sheet. On it there shall be a single red disc and a "
        "single green square.",
        {
            "object": [
                "a plain white sheet",
                "exactly one red disc and exactly one green square",
            ]
        },
        media=[png(over(RED_DISC, GREEN_SQUARE))],
    ),
    Row(
        "i_object_exclude",
        "Draw the lamps of a traffic light one above the other, and leave the yellow "
        "one out.",
        {"object": ["a red disc above a green disc", "yellow disc"]},
        media=[png(over(disc(32, 12, 9, RED), disc(32, 52, 9, GREEN)))],
    ),
    Row(
        "i_object_count",
        "Draw four blue squares of one size that do not touch.",
        {"object": "blue squares", "count": 4},
        media=[png(over(*(square(x, y, 14, BLUE) for x in (8, 42) for y in (8, 42))))],
    ),
    Row(
        "i_object_cot",
        "Of all shapes with straight sides, draw the one with the fewest corners, "
        "once, in blue, and nothing beside "
        "it.",
        {"object": "exactly one blue triangle without other shapes"},
        media=[png(triangle(BLUE))],
    ),
    Row(
        "i_object_attribute",
        "Draw a red square that has one black dot right in its middle.",
        {
            "object": "exactly one red square with exactly one black dot in its "
            "middle and no other dots"
        },
        media=[png(over(disc(32, 32, 4, BLACK), square(14, 14, 36, RED)))],
    ),
    Row(
        "i_relation_two",
        "Draw one red disc and one blue square. The disc has to be far larger than "
        "the square.",
        {
            "object": "exactly one red disc and exactly one blue square and the disc "
            "being much larger than the square"
        },
        media=[png(over(square(52, 52, 8, BLUE), disc(26, 26, 22, RED)))],
    ),
    Row(
        "i_relation_all",
        "Draw four blue bars in a row. All of them are equally high but one.",
        {"object": "four blue bars, all of them equally high except only one"},
        media=[png(bars(40, 40, 16, 40))],
    ),
    Row(
        "i_spacial_relative",
        "Draw a red disc and a blue square on white, with the disc to the left of the "
        "square.",
        {"constraint": [["red disc", "blue square", "left"]]},
        media=[png(over(RED_DISC, BLUE_SQUARE))],
    ),
    Row(
        "i_spacial_absolute",
        "Draw a green square in the top right quarter of a white sheet.",
        {"constraint": [["green square", "up right"]]},
        media=[png(GREEN_SQUARE)],
    ),
    Row(
        "i_spacial_absolute",
        "Draw a red disc in the bottom left quarter of a white sheet and a green "
        "square in the top right one.",
        {"constraint": [["red disc", "bottom left"], ["green square", "up right"]]},
        media=[png(over(RED_DISC, GREEN_SQUARE))],
    ),
    Row(
        "i_format_background",
        "Draw a red disc on white. The left half of the picture has to be plain green "
        "and nothing else.",
        {"region": "left half", "color": "green"},
        media=[png(over(box(0, 0, SIDE // 2, SIDE, GREEN), disc(48, 32, 10, RED)))],
    ),
    Row(
        "i_format_background",
        "Draw a blue square on white, and keep the lower quarter of the picture plain "
        "red.",
        {"region": "lower quarter", "color": "red"},
        media=[png(over(box(0, 48, SIDE, SIDE, RED), square(22, 12, 20, BLUE)))],
    ),
    Row(
        "i_format_border",
        "Draw a red disc on white, framed on all four sides by a plain blue band a "
        "tenth of the picture wide.",
        {"color": "blue"},
        media=[png(over(disc(32, 32, 14, RED), frame(6, BLUE)))],
    ),
    Row(
        "i_ocr",
        "Draw a sign that says OPEN and nothing else.",
        {"object": "the sign", "text": "OPEN"},
        media=[png(over(words(9, 25, "OPEN", size=2), sign(4, 16, 60, 48)))],
    ),
    Row(
        "i_ocr_two",
        "Draw two signs side by side. The left one says IN, the right one says OUT.",
        {
            "object": "exactly one sign on the left and exactly one sign on the right",
            "text": {"the sign on the left": "IN", "the sign on the right": "OUT"},
        },
        media=[
            png(
                over(
                    words(9, 28, "IN"),
                    words(38, 28, "OUT"),
                    sign(4, 20, 26, 42),
                    sign(34, 20, 60, 42),
                )
            )
        ],
    ),
    Row(
        "i_ocr_chinese",
        "Draw a sign with the Chinese number thirty, 三十, and nothing else.",
        {"text": "三十"},
        media=[png(over(words(10, 22, "三十", size=3), sign(4, 14, 60, 52)))],
    ),
    Row(
        "i_ocr_german",
        "Draw a board above a door. It has the German word for door on it, TÜR, and "
        "no other word.",
        {"text": "Tür", "object": "the board above the door"},
        media=[png(over(words(15, 24, "TÜR", size=2), sign(4, 16, 60, 48)))],
    ),
)
