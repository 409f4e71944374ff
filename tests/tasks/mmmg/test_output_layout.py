"""Answers as lines of the authors' layout say them."""

import pytest

from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.records.sample import Sample, user
from mmeval.tasks.mmmg.output_layout import (
    LineAnswer,
    line_answer_of,
    place_of,
    read_line_answer,
)
from tests.support.tiny_media import picture, wav
from tests.support.toy import picture as numbered_picture

HARE, TONE = Media.from_bytes(picture()), Media.from_bytes(wav())
FIRST, SECOND = "<image_start><image_0><image_end>", "<image_start><image_1><image_end>"

HEARD = "<audio_start><audio_0><audio_end>"


def spanned(text: str, **media: Media) -> Interleaved:
    return Interleaved.from_text(text, media, spellings=("span",))


@pytest.mark.parametrize(
    "output",
    [
        Interleaved(),
        Interleaved((text_part("no picture"),)),
        spanned(f"a {FIRST} b", image0=HARE),
        spanned(f"{SECOND} before {FIRST}", image0=HARE, image1=numbered_picture(1)),
        spanned(f"the same twice {FIRST}{FIRST}", image0=HARE),
        spanned("not announced", image0=HARE),
        spanned(f"{HEARD}{FIRST}", image0=HARE, audio0=TONE),
        spanned(f"one {FIRST} and no {SECOND}", image0=HARE),
        spanned("  blanks\n" + FIRST + "\n\n", image0=HARE),
    ],
    ids=[
        "nothing",
        "words",
        "one",
        "order",
        "twice",
        "beside",
        "both kinds",
        "dangling",
        "blanks",
    ],
)
def test_an_answer_in_the_layouts_own_words_comes_back_from_its_line_alone(
    output: Interleaved,
) -> None:
    flat = line_answer_of(output)
    assert flat.response == output.text
    assert read_line_answer(flat) == output


@pytest.mark.parametrize(
    ("output", "response"),
    [
        (Interleaved((media_part(HARE),)), FIRST),
        (Interleaved.from_text("see <<image1>>.", {"image1": HARE}), f"see {FIRST}."),
        (Interleaved((text_part("a"), media_part(HARE), text_part("b"))), f"a{FIRST}b"),
        (spanned(f"{SECOND} alone", image1=HARE), f"{FIRST} alone"),
        (
            spanned(f"lost {FIRST}, there {SECOND}", image1=HARE),
            f"lost {SECOND}, there {FIRST}",
        ),
        (
            Interleaved(
                (Part("reasoning", "hm", raw="<think>hm</think>"), text_part("a"))
            ),
            "a",
        ),
        (
            Interleaved((text_part("a"), media_part(HARE), media_part(HARE))),
            f"a{FIRST}{SECOND}",
        ),
    ],
    ids=[
        "picture alone",
        "other spelling",
        "no placeholder",
        "from 1",
        "dangling",
        "reasoning",
        "unlabelled twins",
    ],
)
def test_any_other_answer_is_numbered_as_the_layout_counts(
    output: Interleaved, response: str
) -> None:
    flat = line_answer_of(output)
    assert flat.response == response
    assert [m.sha256 for m in read_line_answer(flat).media()] == [
        m.sha256 for m in output.media()
    ]


def test_a_placeholder_that_had_no_medium_gets_no_other_and_other_kinds_stay_out_of_the_lists() -> (
    None
):
    output = spanned(f"{FIRST} lost, {SECOND} there", image1=HARE)
    kinds = [
        (part.kind, part.dangling)
        for part in read_line_answer(line_answer_of(output)).parts
        if part.kind == "image"
    ]
    assert kinds == [("image", True), ("image", False)]
    film = Media.from_bytes(b"\x00\x00\x00\x18ftypmp42")
    flat = line_answer_of(Interleaved((text_part("see "), media_part(film))))
    assert flat == LineAnswer("see ", {"image": [], "audio": []})


def test_only_rows_of_instruction_files_have_a_place() -> None:
    rows = [
        ("i_tiny/3", "i_tiny"),
        ("i_tiny/3", "other"),
        ("row 3", "row"),
        ("../x/3", "../x"),
    ]
    found = [
        place_of(Sample(id, (user("?"),), metadata={"file": file})) for id, file in rows
    ]
    assert found == [("i_tiny", 3), None, None, None]
    places = [
        place_of(Sample(f"i/{'3' * n}", (user("?"),), metadata={"file": "i"}))
        for n in (9, 10)
    ]
    assert places == [("i", 333333333), None]
