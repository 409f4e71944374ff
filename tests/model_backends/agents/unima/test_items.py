import pytest

from mmeval.media import Interleaved, Media, Part, media_part
from mmeval.model_backends.agents.unima.items import read_question
from mmeval.records import Message, Request, message, user
from tests.support.tiny_media import picture

ONE, OTHER = (Media.from_bytes(picture(size=size)) for size in ((8, 4), (4, 8)))


@pytest.mark.parametrize(
    ("messages", "words", "labels", "first"),
    [
        ([user("Draw.")], "Draw.", [], "image1"),
        (
            [user("Draw.", ONE, OTHER)],
            "Draw.<<image1>><<image2>>",
            ["image1", "image2"],
            "image3",
        ),
        (
            [user("Is <image7> it?", ONE)],
            "Is <image7> it?<<image1>>",
            ["image1"],
            "image2",
        ),
        (
            [user("Is <<image2>> it?", ONE)],
            "Is <<image2>> it?<<image1>>",
            ["image1"],
            "image3",
        ),
        (
            [user("Is <<image999999999>> it?")],
            "Is <<image999999999>> it?",
            [],
            "image1",
        ),
        (
            [message("system", "Write <<image2>>."), user("A ", ONE)],
            "Write <<image2>>.\n\nA <<image1>>",
            ["image1"],
            "image2",
        ),
    ],
    ids=[
        "no items",
        "two",
        "a tag without an item",
        "a tag that is taken",
        "a huge number",
        "an example",
    ],
)
def test_items_have_the_first_labels_that_are_free(
    messages: list[Message], words: str, labels: list[str], first: str
) -> None:
    found = read_question(Request(tuple(messages)))
    assert found.words == words
    assert list(found.items) == labels
    assert found.next_label("image") == first


def test_items_keep_their_own_labels_and_one_that_is_named_twice_is_one() -> None:
    content = Interleaved.from_text(
        "<image2>, <image2> and <image1>", {"image2": ONE, "image1": OTHER}
    )
    found = read_question(Request((Message("user", content),)))
    assert found.words == "<<image2>>, <<image2>> and <<image1>>"
    assert {label: part.media for label, part in found.items.items()} == {
        "image2": ONE,
        "image1": OTHER,
    }


def test_two_items_of_one_label_are_two() -> None:
    first, second = (
        Message("user", Interleaved.from_text("<image1>", {"image1": media}))
        for media in (ONE, OTHER)
    )
    found = read_question(Request((first, second)))
    assert list(found.items) == ["image1", "image2"]


def test_code_is_an_item_and_reasoning_is_not() -> None:
    parts = (
        Part("reasoning", text="hm", raw="<think>hm</think>"),
        Part("code", text="1", raw="1"),
        media_part(ONE),
    )
    found = read_question(Request((Message("user", Interleaved(parts)),)))
    assert found.words == "<<code1>><<image1>>"
