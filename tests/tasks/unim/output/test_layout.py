import json

import pytest

from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.records import Sample, user
from mmeval.tasks.unim.output.layout import (
    AnswerKey,
    key_of_sample,
    read_record_answer,
    record_answer_of,
    tag_of,
    to_text,
)
from tests.support.tiny_media import picture
from tests.support.unim import (
    HARE,
    SOLID,
    TONE,
    by_counted_braces,
    by_gathered_lines,
    tagged,
    unim_sample,
)

FOX, SCRIPT = Media.from_bytes(picture(colour=9)), Media.from_bytes(b"x = 1")


@pytest.mark.parametrize(
    "output",
    [
        Interleaved(),
        tagged("a <<image2>> b <audio1>", image2=HARE, audio1=TONE),
        tagged("<image1>, and missing <image2>", image1=HARE),
        tagged("code <<code1>>", code1="if (x) {"),
        tagged("no code: <<code1>>", code1=""),
        tagged("beside the text", image1=HARE),
        tagged("  blanks\n<image1>\n\n", image1=HARE),
    ],
)
def test_an_answer_in_the_scripts_own_tags_comes_back_from_its_record_alone(
    output: Interleaved,
) -> None:
    record_answer = record_answer_of(output)
    assert (record_answer.content, read_record_answer(record_answer)) == (
        output.text,
        output,
    )


NUMBERED = [
    Part("image", None, medium, raw="<image1>", label="image1")
    for medium in (HARE, FOX)
]


@pytest.mark.parametrize(
    ("output", "content", "modal"),
    [
        (tagged("<<3d1>>", **{"3d1": SOLID}), "<threeD1>", {"threeD1": SOLID}),
        (tagged("<image02>", image2=HARE), "<image2>", {"image2": HARE}),
        (tagged("<audio1: a tone>", audio1=TONE), "<audio1> a tone>", {"audio1": TONE}),
        (
            Interleaved((text_part("a"), media_part(HARE), text_part("b"))),
            "ab",
            {"image1": HARE},
        ),
        # A tag without a medium keeps its number, and so does another part with the
        # same one.
        (
            Interleaved((text_part("<image1>"), media_part(HARE))),
            "<image1>",
            {"image2": HARE},
        ),
        (
            Interleaved(
                (
                    Part("image", raw="<image1>", label="image1"),
                    Part("image", media=HARE, label="image1"),
                )
            ),
            "<image1>",
            {"image2": HARE},
        ),
        (
            Interleaved(tuple(NUMBERED)),
            "<image1><image2>",
            {"image1": HARE, "image2": FOX},
        ),
        (
            Interleaved(
                (Part("reasoning", "hm", raw="<think>hm</think>"), text_part("a"))
            ),
            "a",
            {},
        ),
        (Interleaved((Part("code", "x = 1", raw="x = 1"),)), "x = 1", {}),
        (Interleaved((Part("code", "x = 1"),)), "", {"code1": "x = 1"}),
        (
            Interleaved((Part("code", None, SCRIPT, "<code1>", "code1"),)),
            "<code1>",
            {"code1": "x = 1"},
        ),
        (
            tagged("half \ud83d <code1>", code1="\udc00"),
            "half \ufffd <code1>",
            {"code1": "\ufffd"},
        ),
    ],
)
def test_any_other_answer_in_the_scripts_form(
    output: Interleaved, content: str, modal: dict[str, Media | str]
) -> None:
    record_answer = record_answer_of(output)
    assert (record_answer.content, dict(record_answer.modal)) == (content, modal)


def test_what_is_lost_is_a_part_without_a_medium_at_its_tag_or_behind_the_text() -> (
    None
):
    output = read_record_answer(
        record_answer_of(tagged("see <image1>")), {"image1": "image", "audio1": "audio"}
    )
    found = [(part.kind, part.raw, part.dangling) for part in output.parts]
    assert found == [
        ("text", "see ", False),
        ("image", "<image1>", True),
        ("audio", "", True),
    ]


def test_a_key_may_be_spelled_like_any_tag() -> None:
    tags = [tag_of(key) for key in ("image2", "<<image2>>", "Image_2", " image2 ")]
    assert [(tag.kind, tag.label) for tag in tags if tag] == [("image", "image2")] * 4
    assert {
        tag_of(key) for key in ("doc1", "image", "", "image1 and more", "image1>x")
    } == {None}


@pytest.mark.parametrize(
    "words", ["{", '\\"}', "a\u2028b\x85c", "hare \U0001f407 {", "\x00\r\n"]
)
def test_no_words_keep_a_released_reader_from_the_records_behind_them(
    words: str,
) -> None:
    rows: list[dict[str, object]] = [{"content": words, words: [words]}, {"next": 1}]
    text = b"".join([to_text(row) for row in rows]).decode("ascii")
    plain = [json.loads(line) for line in text.splitlines()]
    assert plain == by_counted_braces(text) == by_gathered_lines(text) == rows


@pytest.mark.parametrize(
    ("sample", "key"),
    [
        (unim_sample("501"), AnswerKey("natural_science", "math", "501")),
        (unim_sample("5", "mathematics"), AnswerKey("natural_science", "math", "5")),
        (
            unim_sample("a/b#2", "our_own_domain"),
            AnswerKey("natural_science", "our_own_domain", "a/b#2"),
        ),
        (unim_sample("5", "../.."), None),
        (unim_sample("5", field="history"), None),
        (
            Sample(
                "5",
                (user("?"),),
                metadata={"field": "natural_science", "domain": "math"},
            ),
            None,
        ),
    ],
)
def test_a_sample_is_known_by_field_domain_and_id(
    sample: Sample, key: AnswerKey | None
) -> None:
    assert key_of_sample(sample) == key
