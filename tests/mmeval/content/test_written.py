from __future__ import annotations

from typing import Any

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import Part, text_part
from mmeval.content.written import ContentReader, normal_label
from mmeval.errors import UsageError

PNG = Media.from_bytes(b"\x89PNG\r\n\x1a\n")


def only_png(path: str, where: str) -> Media:
    if path != "a.png":
        raise UsageError(f'{where} "{path}" is missing')
    return PNG


def test_a_text_borrows_the_media_that_its_tags_name() -> None:
    reader = ContentReader(only_png, {"image1": "a.png", "image2": "a.png"})

    content = reader.read("see <<image1>> and <<audio1>>", "input")

    assert [(part.kind, part.media) for part in content.parts] == [
        ("text", None),
        ("image", PNG),
        ("text", None),
        ("audio", None),
    ]
    assert reader.unnamed() == ["image2"]


def test_media_of_the_content_itself_win_and_follow_the_text_when_it_has_no_tag() -> None:
    reader = ContentReader(only_png, {"code1": "shared"})

    content = reader.read({"text": "<<code1>>", "media": {"code1": "own", "image7": "a.png"}}, "input")

    assert content.parts == (
        Part("code", text="own", raw="<<code1>>", label="code1"),
        Part("image", media=PNG, label="image7"),
    )


def test_a_list_of_parts_is_taken_as_it_is() -> None:
    parts = [
        {"type": "text", "text": "<<image1>>"},
        {"type": "code", "text": "x = 1"},
        {"type": "image", "path": "a.png"},
    ]

    assert ContentReader(only_png).read(parts, "input").parts == (
        text_part("<<image1>>"),
        Part("code", text="x = 1", raw="x = 1"),
        Part("image", media=PNG),
    )


def test_nulls_that_parquet_fills_in_mean_absent() -> None:
    content = ContentReader(only_png).read({"text": "hi", "media": {"image1": None}}, "input")

    assert content.parts == (text_part("hi"),)


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("image1", "image1"),
        ("IMG_2", "image2"),
        ("threeD1", "3d1"),
        ("3d 4", "3d4"),
        ("audio01", "audio1"),
        ("image", None),
        ("x1", None),
    ],
)
def test_labels_are_read_in_their_usual_spellings(written: str, label: str | None) -> None:
    assert normal_label(written) == label


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (None, "input is missing"),
        (3, "input is a number"),
        ({"type": "text", "text": "x"}, "input is a single part; put it into a list"),
        ({"txt": "x"}, 'did you mean "text"'),
        ({"text": ["x"]}, "input.text is a list, not a text"),
        ({"text": "x", "media": ["a.png"]}, "input.media is a list"),
        ({"text": "x", "media": {"picture": "a.png"}}, "input.media 'picture' is no label"),
        ({"text": "x", "media": {"image1": 1}}, "input.media image1 is a number, not a path"),
        ({"text": "x", "media": {"image1": "b.png"}}, 'input.media image1 "b.png" is missing'),
        (["x"], r"input\[0\] is a text, not a part"),
        ([{"type": "imagee", "path": "a.png"}], 'did you mean "image"'),
        ([{"type": "image"}], r'input\[0\] needs "path", which is missing'),
        ([{"type": "text"}], r'input\[0\] needs "text", which is missing'),
        ([{"type": "text", "text": "x"}, {"type": "image", "path": "b.png"}], r'input\[1\] "b.png" is missing'),
    ],
)
def test_what_is_wrong_is_said_with_its_place(written: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ContentReader(only_png).read(written, "input")
