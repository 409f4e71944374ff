"""The bundled samples of ISG-Bench: a row for each subtask, with questions made by
rule, and a judge file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from mmeval.tasks.isg.graph.stages import plain_name
from scripts.synthetic_media import (
    BLACK,
    BLUE,
    GREEN,
    RED,
    YELLOW,
    disc,
    over,
    png,
    square,
    triangle,
)

FOLDER = "tasks/isg/bundled"
PICTURES = {
    "lamp": over(disc(32, 20, 12, RED), square(26, 32, 12, BLACK)),
    "sketch": over(disc(32, 20, 12, BLACK), square(26, 32, 12, BLACK)),
    "house": over(triangle(RED), square(20, 40, 20, YELLOW)),
    "hill": triangle(GREEN),
    "sun": disc(44, 16, 10, YELLOW),
    "box": square(16, 16, 32, BLUE),
}


class Row(NamedTuple):
    """A row: its subtask, the blocks of both sides, and what relates and shows them.

    A block that is the name of a picture is that picture. ``relations`` are such as
    ``t1 describes i1``, where q1 is the first picture of the query. ``shown`` are an
    entity (``i1 lamp``), an attribute (``i1 lamp=red``), or a relation (``i1
    lamp>on>desk``).
    """

    subtask: str
    query: Sequence[str]
    golden: Sequence[str]
    relations: Sequence[str]
    shown: Sequence[str] = ()


CAPTIONS = ("t1 describes i1", "t2 describes i2")
ROWS = (
    Row(
        "Art Style Transfer",
        (
            "lamp",
            "Repaint this red lamp in two styles, pencil and watercolour, each "
            "followed by one sentence.",
        ),
        ("sketch", "A pencil sketch.", "box", "A watercolour."),
        (*CAPTIONS, "i1 is a pencil sketch of q1", "i2 is a watercolour of q1"),
        ("i1 lamp", "i1 lamp=black", "i2 lamp"),
    ),
    Row(
        "Scene Attribute Transfer",
        (
            "hill",
            "Show this hill first at sunrise, then at night. Write a short note after "
            "each picture.",
        ),
        ("sun", "The hill at sunrise.", "house", "The hill by night."),
        (*CAPTIONS, "i1 is a sunrise version of q1"),
        ("i1 sun", "i1 sun=yellow", "i2 hill"),
    ),
    Row(
        "Photo Variation",
        (
            "house",
            "Make two edits of the photo: darker, then with stronger colours. "
            "Describe each after its picture.",
        ),
        ("box", "Darker.", "house", "Stronger colours."),
        (
            *CAPTIONS,
            "i1 is a darker version of q1",
            "i2 is a more colourful version of q1",
        ),
        ("i1 house", "i2 house", "i2 roof", "i2 roof>on>house"),
    ),
    Row(
        "Portrait Variation",
        (
            "lamp",
            "Make two new portraits of this lamp: in blue, in black. Add a caption "
            "after each.",
        ),
        ("box", "Now in blue.", "sketch", "Now in black."),
        (*CAPTIONS, "i1 shows the same lamp as q1", "i2 shows the same lamp as q1"),
        ("i1 lamp", "i1 lamp=blue", "i2 lamp", "i2 lamp=black"),
    ),
    Row(
        "Animation Text-Image",
        (
            "sun",
            "Let the sun set step by step in two pictures, with one line after each.",
        ),
        ("sun", "It sinks.", "hill", "It is behind the hill."),
        (*CAPTIONS, "i2 follows i1"),
        ("i1 sun", "i2 hill"),
    ),
    Row(
        "Animation Images",
        (
            "lamp",
            "box",
            "The first is the start, the second the end. Give two pictures in "
            "between, each with a line.",
        ),
        ("sketch", "The colour begins to go.", "box", "Almost at the end."),
        (*CAPTIONS, "i2 is the next stage after i1"),
    ),
    Row(
        "Attribute Transfer",
        (
            "box",
            "Show in three pictures how the box fills. Write a caption after each.",
        ),
        (
            "house",
            "A little is in it.",
            "box",
            "Half of it is full.",
            "house",
            "It is full.",
        ),
        (*CAPTIONS, "t3 describes i3", "i3 is a fuller state after i2"),
        ("i1 box", "i2 box", "i3 box", "i3 box=full"),
    ),
    Row(
        "multi-Perspective Scene Generation",
        (
            "house",
            "Show this house from 30 degrees left and from 30 degrees right, each "
            "followed by the angle.",
        ),
        ("house", "30 degrees left", "house", "30 degrees right"),
        (
            "t1 names the angle of i1",
            "t2 names the angle of i2",
            "i1 is the view from 30 degrees left of q1",
        ),
        ("i1 house", "i1 roof", "i1 roof>on>house", "i2 house"),
    ),
    Row(
        "3D_object",
        (
            "box",
            "Turn this box by 60 degrees left and 60 degrees right. Write the angle "
            "before each picture.",
        ),
        ("60 degrees left:", "box", "60 degrees right:", "box"),
        (
            "t1 names the angle of i1",
            "t2 names the angle of i2",
            "i2 is the view from 60 degrees right of q1",
        ),
        ("i1 box", "i1 box=blue", "i2 box", "i2 box=blue"),
    ),
    Row(
        "Realistic Object Detection",
        (
            "lamp",
            "Extract [shade, foot] from the photo. Describe the photo first, then "
            "each part with its caption.",
        ),
        ("A lamp with a red shade.", "sun", "A round shade.", "box", "A square foot."),
        ("t1 sums up q1", "t2 is a caption for i1", "i1 is the shade taken from q1"),
        ("i1 shade", "i1 shade=round", "i2 foot"),
    ),
    Row(
        "Imaginary Object Detection",
        (
            "house",
            "Extract [roof] from the painting. First describe the painting, then show "
            "the roof and its caption.",
        ),
        ("A yellow house with a red roof.", "hill", "A pointed roof."),
        ("t1 sums up q1", "t2 is a caption for i1"),
        ("i1 roof", "i1 roof=pointed"),
    ),
    Row(
        "Semantic Segmentation",
        (
            "lamp",
            "Split the picture into [shade, foot]. Describe it first, then each "
            "region with its caption.",
        ),
        ("A lamp.", "sun", "The shade.", "box", "The foot."),
        (
            "t1 sums up q1",
            "i1 is the shade region of q1",
            "i2 is the foot region of q1",
        ),
        ("i1 shade", "i2 foot"),
    ),
    Row(
        "HowTo",
        (
            "box",
            "This is the first step of building a house of blocks. Show the next two, "
            "a picture and a sentence each.",
        ),
        ("box", "Put down the walls.", "house", "Put the roof on them."),
        (*CAPTIONS, "i2 is the next step after i1"),
        ("i1 wall", "i2 roof", "i2 wall", "i2 roof>on>wall"),
    ),
    Row(
        "Scientific",
        (
            "hill",
            "What makes this shape? Begin with a text, alternate with two pictures, "
            "and end with a picture.",
        ),
        ("Wind piles up sand.", "house", "On the other side it slides down.", "hill"),
        ("t1 gives an overview of all", "t2 is related to i2"),
    ),
    Row(
        "Prediction",
        (
            "lamp",
            "The lamp is switched off. Show what happens: one description, then three "
            "pictures in a row.",
        ),
        ("The lamp goes dark.", "lamp", "box", "sketch"),
        ("t1 is a prediction from q1", "i2 happens after i1", "i3 happens after i2"),
        ("i1 lamp", "i2 lamp", "i3 lamp", "i3 lamp=dark"),
    ),
    Row(
        "painting",
        ("hill", "Show in two steps how to paint this hill, each with a sentence."),
        ("house", "Draw its height.", "hill", "Fill in the colour."),
        (*CAPTIONS, "i2 is the next stage after i1"),
        ("i1 hill", "i2 hill", "i2 hill=green"),
    ),
    Row(
        "visual storytelling image",
        (
            "sun",
            "hill",
            "house",
            "Go on with the story of the three pictures in two new ones, each "
            "followed by text.",
        ),
        ("lamp", "In the evening a lamp is lit.", "sketch", "Then all is dark."),
        (
            *CAPTIONS,
            "i1 continues the story of q3",
            "i2 is the next part of the story after i1",
        ),
        ("i1 lamp", "i2 lamp"),
    ),
    Row(
        "visual storytelling text",
        (
            "A box stands on a hill. Go on with the story in two pictures, each "
            "followed by text.",
        ),
        ("box", "It is opened.", "sun", "A sun comes out."),
        (*CAPTIONS, "i2 is the next part of the story after i1"),
        ("i1 box", "i2 sun"),
    ),
    Row(
        "visual storytelling text-image",
        (
            "hill",
            "Two friends want to see the sun. Use the picture and go on in two "
            "pictures, each followed by text.",
        ),
        ("hill", "They climb the hill.", "sun", "They see it rise."),
        (*CAPTIONS, "i1 continues the story of q1"),
        ("i1 hill", "i2 sun", "i2 sun=yellow"),
    ),
    Row(
        "Object_VQA",
        (
            "lamp",
            "What is this? Begin with a text, alternate with two pictures, and end "
            "with a picture.",
        ),
        ("This is a lamp.", "lamp", "It gives light.", "sun"),
        ("t1 gives an overview of all", "t1 is related to i1", "t2 is related to i2"),
    ),
    Row(
        "Historical",
        (
            "house",
            "Which building is this, and why does it matter? Begin with a text, "
            "alternate with two pictures.",
        ),
        (
            "This is the first house of the town.",
            "house",
            "The town grew around it.",
            "house",
        ),
        ("t1 is related to i1", "t2 is related to i2"),
    ),
)
_TOKENS = {"t": "<gen_text{}>", "i": "<gen_img{}>", "q": "<query_img{}>"}


def row_of(number: int, row: Row) -> dict[str, Any]:
    """A row in the published form; some have the irregular shapes that the published
    data have, too."""
    relations = [_triple(relation) for relation in row.relations]
    image_tuples = list(map(_image_tuple, row.shown))
    questions: Any = {"questions": image_questions(image_tuples)}
    if number % 7 == 3:
        questions = {"Questions": questions["questions"]}
    if number % 7 == 5:
        questions = questions["questions"]
    structure = {
        "Query": _structure("query", row.query),
        "Answer": _structure("gen", row.golden),
    }
    return {
        "id": f"{number:04}",
        "Category": row.subtask,
        "Query": [_block(one) for one in row.query],
        "Golden": [_block(one) for one in row.golden],
        "predict": {
            "structural" if number % 7 == 6 else "structure": structure,
            "block_tuple": {"relation": [list(one) for one in relations]},
            "block_qa": {"questions": block_questions(relations)},
            "image_tuple": image_tuples,
            "image_qa": questions,
        },
    }


def block_questions(relations: Sequence[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Stage 3 of the question generation by rule: a question for each relation between
    two blocks."""
    return [
        {
            "subject": one,
            "object": other,
            "relation": relation,
            "Question": _asked(one, other, relation),
        }
        for one, other, relation in relations
    ]


def image_questions(tuples: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Stage 5 by rule: a question for each tuple, below those of its entities."""
    entities: dict[tuple[str, str], int] = {}
    questions: list[dict[str, Any]] = []
    for number, (kind, *words, picture) in enumerate(tuples):
        if kind == "entity":
            entities[picture, plain_name(words[0])] = number
            about: list[str] = []
            asked = (
                f"Is there {'an' if words[0][0] in 'aeiou' else 'a'} {words[0]} in "
                "this image?"
            )
        elif kind == "attribute":
            about, asked = words[1:], f"Is the {words[1]} {words[0]} in this image?"
        else:
            about = words[1:]
            asked = f"Is the {words[1]} {words[0]} the {words[2]} in this image?"
        parents = [
            entities[picture, plain_name(name)]
            for name in about
            if (picture, plain_name(name)) in entities
        ]
        questions.append(
            {"image": picture, "Question": asked, "id": number, "Preliminary": parents}
        )
    return questions


def isg() -> dict[str, bytes]:
    """The rows, their pictures and the judge file, by path from the root of the
    checkout."""
    rows = [row_of(number, row) for number, row in enumerate(ROWS)]
    pictures = {
        f"{FOLDER}/images/{name}.png": png(paint, 32)
        for name, paint in PICTURES.items()
    }
    data, judged = rows, [_judged(row) for row in rows]
    return {
        f"{FOLDER}/ISG-Bench.jsonl": _lines(data),
        f"{FOLDER}/golden_0_21_judge.jsonl": _lines(judged),
        **pictures,
    }


def _judged(row: dict[str, Any]) -> dict[str, Any]:
    """The golden answer with kind verdicts, as the released judge script writes
    them."""
    asked = row["predict"]["image_qa"]
    asked = asked if isinstance(asked, list) else next(iter(asked.values()))
    block = [
        question
        if "<all>" in question.values()
        else {**question, "VQA_judge_Score": {"Judge": 9, "Reason": ""}}
        for question in row["predict"]["block_qa"]["questions"]
    ]
    image = [
        {**question, "judge": {"Judge": "Yes", "Reason": ""}} for question in asked
    ]
    result = {
        "structure": True,
        "image": image,
        "block": block,
        "holistic": {"overall_score": 8},
    }
    return {
        "id": row["id"],
        "Category": row["Category"],
        "output": row["Golden"],
        "result": result,
    }


def _asked(one: str, other: str, relation: str) -> str:
    pictures = [token for token in (one, other) if "_img" in token]
    words = ("the first image", "the second image") if pictures[1:] else ("this image",)
    names = dict(zip(pictures, words, strict=False))
    subject, object_ = (names.get(token, token) for token in (one, other))
    return f"Is it right to say of {subject} that it {relation} {object_}?"


def _triple(relation: str) -> tuple[str, str, str]:
    one, *words, other = relation.split()
    return _token(one), "<all>" if other == "all" else _token(other), " ".join(words)


def _image_tuple(shown: str) -> list[str]:
    at, words = shown.split(" ", 1)
    if ">" in words:
        one, relation, other = words.split(">")
        return ["relation", relation, one, other, _token(at)]
    entity, _, attribute = words.partition("=")
    return (
        ["attribute", attribute, entity, _token(at)]
        if attribute
        else ["entity", entity, _token(at)]
    )


def _token(short: str) -> str:
    return _TOKENS[short[0]].format(short[1:])


def _structure(side: str, blocks: Sequence[str]) -> list[str]:
    kinds = ["img" if block in PICTURES else "text" for block in blocks]
    return [
        f"<{side}_{kind}{kinds[: at + 1].count(kind)}>" for at, kind in enumerate(kinds)
    ]


def _block(one: str) -> dict[str, str]:
    return (
        {"type": "image", "content": f"images/{one}.png"}
        if one in PICTURES
        else {"type": "text", "content": one}
    )


def _lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
