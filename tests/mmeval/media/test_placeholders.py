from typing import Any

import pytest

from mmeval.errors import UnknownNameError
from mmeval.media.placeholders import (
    DEFAULT_SPELLINGS,
    SPELLINGS,
    canonical_label,
    find,
    label_kind,
    render,
)

ALL = tuple(SPELLINGS)


def test_every_spelling_is_read_as_the_published_scorer_does() -> None:
    tags = {
        "<<image1>>": ["image1"],
        "<image1>": ["image1"],
        "<<<image1>>>": ["image1"],
        "<image\n1> <image1": [],
        "<threeD1> <<ThreeD2>> <<3d4>> <3D5>": ["3d1", "3d2", "3d4", "3d5"],
        "<image1: a red kite>": ["image1"],
        "<< IMAGE_1 >> < audio\t2>": ["image1", "audio2"],
        "<<image01>> <<image10>>": ["image1", "image10"],
        "<video1><document2><code3>": ["video1", "document2", "code3"],
        "```python\nprint(1)\n```": [],
        "<image> image1 <imagine1> <text1> <<table1>> <<image>>": [],
        "<image٣> <ımage1> <İmage1>": [],
        f"<image{'9' * 10}> <image1> <image{'9' * 9}>": ["image1", "image" + "9" * 9],
    }
    spans = {
        "a<image_start><image_0><image_end>b<audio_start><audio_12><audio_end>": [
            "image0",
            "audio12",
        ],
        "<image_start><audio_0><image_end> <image_begin><image_0><image_end>": [],
    }
    blocks = {
        "<query_text1><query_img2><gen_text1><gen_img3>": [
            "text1",
            "image2",
            "text1",
            "image3",
        ],
        "<gen_audio1> <gen_img>": [],
    }
    read: dict[str, dict[str, list[str]]] = {
        "tag": tags,
        "span": spans,
        "block": blocks,
        "hash": {"#image1# #image# image2#": ["image1"]},
        "generated": {"<GEN_0> <gen_0> <GEN_>": ["image0"]},
        "pair": {"<boi><eoi> and <boi> <eoi>": ["image"]},
    }
    for spelling, texts in read.items():
        assert {
            text: [tag.label for tag in find(text, (spelling,))] for text in texts
        } == texts


def test_an_answer_may_mix_spellings_and_each_begins_with_its_first_number() -> None:
    text = (
        "<image_start><image_0><image_end> <image_start><image_0> <<gen_img1>> "
        "<<image2>> <boi><eoi> <GEN_0> #image1#"
    )
    assert [tag.spelling for tag in find(text)] == [
        "span",
        "tag",
        "block",
        "tag",
        "pair",
    ]
    assert DEFAULT_SPELLINGS == ("span", "block", "pair", "tag")
    first: dict[tuple[Any, str], str] = {
        ("image", "tag"): "<<image1>>",
        ("3d", "tag"): "<<3d1>>",
        ("image", "hash"): "#image1#",
        ("audio", "span"): "<audio_start><audio_0><audio_end>",
        ("image", "block"): "<gen_img1>",
        ("image", "generated"): "<GEN_0>",
        ("image", "pair"): "<boi><eoi>",
    }
    assert {
        (kind, spelling): render(kind, 1, spelling) for kind, spelling in first
    } == first


def test_a_spelling_without_a_kind_names_those_with_it() -> None:
    cases: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
        ("video", "span", ("tag",)),
        ("image", "tags", ALL),
    )
    for kind, spelling, suitable in cases:
        with pytest.raises(UnknownNameError) as caught:
            render(kind, 1, spelling)
        assert (caught.value.name, caught.value.known) == (spelling, suitable)
    with pytest.raises(UnknownNameError, match="'spam'"):
        list(find("<image1>", ["spam"]))


def test_the_names_of_data_files_become_labels_which_begin_with_their_kind() -> None:
    labels = {
        "image1": "image1",
        "threeD1": "3d1",
        "3D 2": "3d2",
        "img_03": "image3",
        "": "",
        "picture1": "picture1",
        "image": "image",
        "img" + "9" * 10: "img" + "9" * 10,
        "img" + "9" * 9: "image" + "9" * 9,
    }
    assert {name: canonical_label(name) for name in labels} == labels
    assert [*map(label_kind, ("audio2", "3d1", "thing1", ""))] == [
        "audio",
        "3d",
        None,
        None,
    ]
