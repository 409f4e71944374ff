from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.content.placeholders import DEFAULT_SPELLINGS, SPELLINGS, canonical_label, find, label_kind, render
from mmeval.errors import UnknownNameError
from tests.support.content_cases import near_grammar

ALL = tuple(SPELLINGS)


@pytest.mark.parametrize(
    ("text", "spelling", "expected"),
    [
        ("<<image1>>", "tag", ["image1"]),
        ("<image1>", "tag", ["image1"]),
        ("<<<image1>>>", "tag", ["image1"]),
        ("<threeD1> <<ThreeD2>> <<3d4>> <3D5>", "tag", ["3d1", "3d2", "3d4", "3d5"]),
        ("<< IMAGE_1 >> < audio\t2>", "tag", ["image1", "audio2"]),
        ("<image1: a red kite>", "tag", ["image1"]),
        ("<<image01>> <<image10>>", "tag", ["image1", "image10"]),
        ("<video1><document2><code3>", "tag", ["video1", "document2", "code3"]),
        ("<image> image1 <imagine1> <text1> <<table1>> <<image>>", "tag", []),
        ("<image\n1> <image1", "tag", []),
        ("```python\nprint(1)\n```", "tag", []),
        ("<image٣> <ımage1> <İmage1>", "tag", []),
        (f"<image{'9' * 10}> <image1> <image{'9' * 9}>", "tag", ["image1", "image" + "9" * 9]),
        ("a<image_start><image_0><image_end>b<audio_start><audio_12><audio_end>", "span", ["image0", "audio12"]),
        ("<image_start><audio_0><image_end> <image_begin><image_0><image_end>", "span", []),
        ("<query_text1><query_img2><gen_text1><gen_img3>", "block", ["text1", "image2", "text1", "image3"]),
        ("<gen_audio1> <gen_img>", "block", []),
        ("#image1# #image# image2#", "hash", ["image1"]),
        ("<GEN_0> <gen_0> <GEN_>", "generated", ["image0"]),
        ("<boi><eoi> and <boi> <eoi>", "pair", ["image"]),
    ],
)
def test_every_spelling_is_read_as_the_published_scorer_does(text: str, spelling: str, expected: list[str]) -> None:
    assert [tag.label for tag in find(text, (spelling,))] == expected


def test_an_answer_may_mix_spellings_and_plans_are_no_answers() -> None:
    text = (
        "<image_start><image_0><image_end> <image_start><image_0> <<gen_img1>> <<image2>> <boi><eoi> <GEN_0> #image1#"
    )
    assert [tag.spelling for tag in find(text)] == ["span", "tag", "block", "tag", "pair"]
    assert DEFAULT_SPELLINGS == ("span", "block", "pair", "tag")


@given(near_grammar, st.lists(st.sampled_from(ALL), max_size=7))
def test_placeholders_are_ordered_apart_and_stand_where_they_say(text: str, spellings: list[str]) -> None:
    end = 0
    for tag in find(text, spellings):
        assert end <= tag.start < tag.end
        assert text[tag.start : tag.end] == tag.raw
        end = tag.end


@given(st.sampled_from(ALL), st.integers(1, 10**6), st.data())
def test_what_is_rendered_is_read_back(spelling: str, ordinal: int, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(SPELLINGS[spelling].kinds)))
    (tag,) = find(render(kind, ordinal, spelling), (spelling,))  # type: ignore[arg-type]  # drawn from its kinds
    assert tag.kind == kind
    assert tag.index in (None, ordinal - 1 + SPELLINGS[spelling].first_index)


def test_the_first_of_a_kind_is_written_with_the_first_number_of_its_spelling() -> None:
    first: dict[tuple[Any, str], str] = {
        **{("image", "tag"): "<<image1>>", ("3d", "tag"): "<<3d1>>", ("image", "hash"): "#image1#"},
        **{("audio", "span"): "<audio_start><audio_0><audio_end>", ("image", "block"): "<gen_img1>"},
        **{("image", "generated"): "<GEN_0>", ("image", "pair"): "<boi><eoi>"},
    }
    assert {(kind, spelling): render(kind, 1, spelling) for kind, spelling in first} == first


@pytest.mark.parametrize(("kind", "spelling", "known"), [("video", "span", ("tag",)), ("image", "tags", ALL)])
def test_a_spelling_without_a_kind_names_those_with_it(kind: str, spelling: str, known: tuple[str, ...]) -> None:
    with pytest.raises(UnknownNameError) as caught:
        render(kind, 1, spelling)  # type: ignore[arg-type]  # one of the kinds
    assert (caught.value.name, caught.value.known) == (spelling, known)
    with pytest.raises(UnknownNameError, match="'spam'"):
        list(find("<image1>", ["spam"]))


def test_the_names_of_data_files_become_labels_which_begin_with_their_kind() -> None:
    labels = {
        **{"image1": "image1", "threeD1": "3d1", "3D 2": "3d2", "img_03": "image3", "": "", "picture1": "picture1"},
        **{"image": "image", "img" + "9" * 10: "img" + "9" * 10, "img" + "9" * 9: "image" + "9" * 9},
    }
    assert {name: canonical_label(name) for name in labels} == labels
    assert [*map(label_kind, ("audio2", "3d1", "thing1", ""))] == ["audio", "3d", None, None]
