from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.media.media import Media
from mmeval.media.parts import Part, text_part
from mmeval.media.written import ContentReader

PNG = Media.from_bytes(b"\x89PNG\r\n\x1a\n")


def only_png(path: str, where: str) -> Media:
    if path != "a.png":
        raise UsageError(f'{where} "{path}" is missing', name=where)
    return PNG


def test_a_text_borrows_media_by_its_tags_and_those_of_the_content_itself_win() -> None:
    reader = ContentReader(only_png, {"image1": "a.png", "image2": PNG})
    content = reader.read("see <<image1>> and <<audio1>>", "input")
    parts = [(part.kind, part.media) for part in content.parts]
    assert parts == [("text", None), ("image", PNG), ("text", None), ("audio", None)]
    assert reader.unnamed() == ["image2"]
    with pytest.raises(
        UsageError, match='no text contains a tag for the medium "image2"'
    ):
        reader.check_all_named()
    reader = ContentReader(only_png, {"code1": "shared"})
    content = reader.read(
        {"text": "<<code1>>", "media": {"code1": "own", "image7": "a.png"}}, "input"
    )
    code = Part("code", text="own", raw="<<code1>>", label="code1")
    assert content.parts == (code, Part("image", media=PNG, label="image7"))


def test_a_list_of_parts_is_taken_as_it_is_and_labels_in_their_usual_spellings() -> (
    None
):
    code = {"type": "code", "text": "x = 1"}
    picture = {"type": "image", "path": "a.png"}
    parts = [{"type": "text", "text": "<<image1>>"}, code, picture]
    read = (
        text_part("<<image1>>"),
        Part("code", text="x = 1", raw="x = 1"),
        Part("image", media=PNG),
    )
    assert ContentReader(only_png).read(parts, "input").parts == read
    # as Parquet writes what is absent
    filled = {"text": "hi", "media": {"image1": None}}
    assert ContentReader(only_png).read(filled, "input").parts == (text_part("hi"),)
    reader = ContentReader(
        only_png, dict.fromkeys(("image1", "IMG_2", "threeD1", "3d 4", "audio01"), PNG)
    )
    assert reader.unnamed() == ["image1", "image2", "3d1", "3d4", "audio1"]


@pytest.mark.parametrize(
    ("value", "name", "word"),
    [
        (None, "input", "missing"),
        (3, "input", "a number"),
        ({"type": "text", "text": "x"}, "input", "list"),
        ({"txt": "x"}, "txt", '"text"'),
        ({"text": ["x"]}, "input.text", "a list"),
        ({"text": "x", "media": ["a.png"]}, "input.media", "a list"),
        ({"text": "x", "media": {"picture": "a.png"}}, "input.media", "'picture'"),
        ({"text": "x", "media": {"image": "a.png"}}, "input.media", "'image'"),
        ({"text": "x", "media": {"image1": "b.png"}}, "input.media image1", "b.png"),
        (["x"], "input[0]", "a text"),
        ({"text": "x", "media": {"image1": 1}}, "input.media image1", "a number"),
        ([{"type": "imagee", "path": "a.png"}], "imagee", '"image"'),
        ([{"type": "image"}], "input[0]", '"path", which is missing'),
        (
            [{"type": "text", "text": "x"}, {"type": "image", "path": "b.png"}],
            "input[1]",
            "b.png",
        ),
    ],
)
def test_wrong_content_is_refused_with_its_place(
    value: Any, name: str, word: str
) -> None:
    with pytest.raises(UsageError) as caught:
        ContentReader(only_png).read(value, "input")
    assert caught.value.name == name
    assert word in str(caught.value)
