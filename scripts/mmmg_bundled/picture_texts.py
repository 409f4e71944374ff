"""Samples with pictures in a row, changed pictures, and pictures with words."""

from __future__ import annotations

from scripts.mmmg_bundled.media import (
    BLUE_SQUARE,
    GREEN_SQUARE,
    RED_DISC,
    box,
    moved,
    sign,
    words,
)
from scripts.mmmg_bundled.row import PICTURE, Row
from scripts.synthetic_media import (
    BLACK,
    BLUE,
    GREEN,
    RED,
    SIDE,
    YELLOW,
    disc,
    over,
    png,
    square,
    triangle,
)

YELLOW_DISC = disc(16, 16, 10, YELLOW)
BLANK_SIGN = over(sign(4, 16, 60, 48), square(48, 52, 8, GREEN))
ALL_THREE = over(RED_DISC, BLUE_SQUARE, YELLOW_DISC)
ONE_DISC = "exactly one red disc and no other shape"
TWO_SHAPES = "exactly one red disc and exactly one blue square and no other shape"
THREE_SHAPES = (
    "exactly one red disc, exactly one blue square and exactly one yellow disc and no "
    "other shape"
)
HOUSE = over(
    square(20, 30, 26, RED), box(28, 44, 36, 56, BLACK), box(20, 22, 46, 30, BLUE)
)


def _seen(*shifts: int) -> list[bytes]:
    """The house seen from places further to the side."""
    return [png(moved(HOUSE, shift)) for shift in shifts]


def _turned(*widths: int) -> list[bytes]:
    """A turning board with two colours, which becomes narrower."""
    return [
        png(
            over(
                box(32 - width, 12, 32, 52, RED), box(32, 12, 32 + width // 2, 52, BLUE)
            )
        )
        for width in widths
    ]


PICTURE_TEXTS: tuple[Row, ...] = (
    Row(
        "i_consistency_semantic",
        "Draw three pictures of a traffic light, one lamp each: first stop, then get "
        "ready, then go.",
        {
            "object": [
                "exactly one red disc",
                "exactly one yellow disc",
                "exactly one green disc",
            ]
        },
        media=[png(disc(32, 32, 20, colour)) for colour in (RED, YELLOW, GREEN)],
    ),
    Row(
        "i_consistency_compose",
        "In three pictures, lay one shape after the other on a white table: a red "
        "disc, a blue square, a yellow disc. "
        "What lies there stays there.",
        {"object": [ONE_DISC, TWO_SHAPES, THREE_SHAPES]},
        media=[png(RED_DISC), png(over(RED_DISC, BLUE_SQUARE)), png(ALL_THREE)],
    ),
    Row(
        "i_consistency_decompose",
        "Begin with the picture. In three more, take away the yellow disc, then the "
        "blue square, then the red disc.",
        {"object": [TWO_SHAPES, ONE_DISC, "a white ground without any shape"]},
        given=[png(ALL_THREE)],
        media=[png(over(RED_DISC, BLUE_SQUARE)), png(RED_DISC), png(over())],
    ),
    Row(
        "i_consistency_3d_scene",
        "The picture shows a house from straight ahead. Draw it in four pictures as "
        "somebody sees it who stands two "
        "steps to the left, one to the left, one to the right, two to the right.",
        {},
        given=_seen(0),
        should_be=_seen(16, 8, -8, -16),
    ),
    Row(
        "i_consistency_3d_object",
        "The picture shows a board. Draw four pictures in which it is turned further "
        "and further away.",
        {},
        given=_turned(28),
        should_be=_turned(24, 20, 16, 12),
    ),
    Row(
        "i_edit_add",
        "Put the shape of <image_1> into the free corner at the top right of "
        "<image_0>, and change nothing else.",
        {"bbox": [40, 6, 60, 26]},
        given=[png(over(RED_DISC, BLUE_SQUARE)), png(square(22, 22, 20, GREEN))],
        should_be=[png(over(RED_DISC, BLUE_SQUARE, GREEN_SQUARE))],
    ),
    Row(
        "i_edit_color",
        "Give the square of <image_0> the colour of <image_1>. All else stays as it "
        "is.",
        {"bbox": [40, 38, 60, 58]},
        given=[png(over(RED_DISC, BLUE_SQUARE)), png(box(0, 0, SIDE, SIDE, YELLOW))],
        should_be=[png(over(RED_DISC, square(40, 38, 20, YELLOW)))],
    ),
    Row(
        "i_edit_text",
        "Write the word OPEN on the empty sign, and leave everything else as it is.",
        {"text": "OPEN", "bbox": [8, 22, 56, 42]},
        given=[png(BLANK_SIGN)],
        media=[png(over(words(9, 25, "OPEN", size=2), BLANK_SIGN))],
    ),
    Row(
        "i_edit_text",
        "Wipe the sign clean: its word has to go, and nothing else.",
        {"text": "", "bbox": [8, 22, 56, 42]},
        given=[png(over(words(9, 25, "OPEN", size=2), BLANK_SIGN))],
        media=[png(BLANK_SIGN)],
    ),
    Row(
        "i_edit_object_add",
        "Add a green square at the top right. Everything else stays.",
        {"bbox": [40, 6, 60, 26], "object": "exactly one green square"},
        given=[png(over(RED_DISC, BLUE_SQUARE))],
        media=[png(over(RED_DISC, BLUE_SQUARE, GREEN_SQUARE))],
    ),
    Row(
        "i_edit_object_remove",
        "Take the blue square away. Everything else stays.",
        {"bbox": [40, 38, 60, 58], "object": "a blue square"},
        given=[png(over(RED_DISC, BLUE_SQUARE))],
        media=[png(RED_DISC)],
    ),
    Row(
        "i_edit_object_modify",
        "Make a yellow disc of the blue square. Everything else stays.",
        {"bbox": [40, 38, 60, 58], "object": "a yellow disc"},
        given=[png(over(RED_DISC, BLUE_SQUARE))],
        media=[png(over(RED_DISC, disc(50, 48, 10, YELLOW)))],
    ),
    Row(
        "it_coherence_count",
        "Draw blue squares that do not touch, anything from three of them to six. "
        "Then say how many there are, and "
        "nothing else, as <count>N</count>.",
        {"object": "blue squares"},
        answer=f"{PICTURE}<count>4</count>",
        media=[png(over(*(square(x, y, 14, BLUE) for x in (8, 42) for y in (8, 42))))],
    ),
    Row(
        "it_coherence_color",
        "Draw a disc, a square and a bar. One of them is red, one green and one blue, "
        "as you like. Below, write "
        "which is "
        'which, as JSON and nothing else: {"disc": "[color]", "square": "[color]", '
        '"bar": "[color]"}',
        {"object": ["disc", "square", "bar"], "color": ["red", "green", "blue"]},
        answer=PICTURE + ' {"disc": "red", "square": "green", "bar": "blue"}',
        media=[png(over(RED_DISC, GREEN_SQUARE, box(34, 50, 62, 58, BLUE)))],
    ),
    Row(
        "it_coherence_size",
        "Draw a disc, a square and a triangle of three different sizes. Then rank "
        "them from the smallest to the "
        "largest "
        'as a list and nothing else, such as ["square", "disc", "triangle"].',
        {"object": ["disc", "square", "triangle"], "relation": "size"},
        answer=PICTURE + ' ["square", "disc", "triangle"]',
        media=[png(over(square(2, 2, 8, GREEN), disc(54, 12, 9, RED), triangle(BLUE)))],
    ),
    Row(
        "it_coherence_spacial_relative",
        "Draw a red disc, a blue square and a green square, each once. Then answer. "
        "1. The disc is ___ of the blue "
        "square: "
        "A. left B. right C. neither. 2. The green square is ___ than the disc: A. "
        "higher B. lower C. neither. Give "
        "a list "
        'of two letters and nothing else, such as ["B", "C"].',
        {"object": [["red disc", "blue square"], ["green square", "red disc"]]},
        answer=PICTURE + ' ["A", "A"]',
        media=[png(over(RED_DISC, BLUE_SQUARE, GREEN_SQUARE))],
    ),
    Row(
        "it_coherence_spacial_absolute",
        "Draw a red disc and a green square, each once and in a quarter of its own. "
        "Then say in which, the disc "
        "first: A is below on the left, B below on the right, C above on the left, D "
        "above on the right. Give a list "
        'of two letters and nothing else, such as ["B", "C"].',
        {"object": ["red disc", "green square"]},
        answer=PICTURE + ' ["A", "D"]',
        media=[png(over(RED_DISC, GREEN_SQUARE))],
    ),
    Row(
        "it_coherence_ocr",
        "Draw a board with a notice of five to ten words. Then repeat the words, and "
        "nothing else, as "
        "<text>words</text>.",
        {"object": "the board"},
        answer=f"{PICTURE}<text>we all go up at ten</text>",
        media=[png(over(words(6, 22, "WE ALL GO", "UP AT TEN"), sign(2, 14, 62, 48)))],
    ),
    Row(
        "it_coherence_math",
        "Each picture of the row has one square more than the one before. Think aloud "
        "about what comes next. "
        "Describe it "
        "and nothing else between double angle brackets, <<like this>>, and then draw "
        "it.",
        {"pattern": "A row of three filled squares."},
        given=[
            png(
                over(
                    square(4, 28, 8, BLACK),
                    square(24, 28, 8, BLACK),
                    square(34, 28, 8, BLACK),
                )
            )
        ],
        should_be=[png(over(*(square(x, 26, 12, BLACK) for x in (6, 26, 46))))],
        answer="One square, two squares, so three are next. <<a row of three filled "
        f"squares>>{PICTURE}",
        media=[png(over(*(square(x, 26, 12, BLACK) for x in (6, 26, 46))))],
    ),
    Row(
        "it_coherence_code",
        'What does this drawing show? <svg viewBox="0 0 64 64"><path fill="#3050d0" '
        'd="M32 8 56 56H8z"/></svg> Say '
        "it in a "
        "few words, and show it.",
        {"object": "a blue triangle"},
        should_be=[png(triangle(BLUE))],
        answer=f"A blue triangle: {PICTURE}",
        media=[png(triangle(BLUE))],
    ),
    Row(
        "i_structure",
        "Begin with a picture of a red disc. Below it, write one sentence about round "
        "things.",
        {"order": ["it"]},
        answer=f"{PICTURE} Wheels are round, and so is the sun.",
        media=[png(RED_DISC)],
    ),
    Row(
        "i_structure",
        "Name the colour of the shape in the picture, then draw the shape in another "
        "colour, and name that one too.",
        {"order": ["tit"]},
        given=[png(BLUE_SQUARE)],
        answer=f"The square is blue. {PICTURE} Now it is red.",
        media=[png(square(40, 38, 20, RED))],
    ),
)
