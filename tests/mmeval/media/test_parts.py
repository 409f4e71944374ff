import json
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mmeval.media.media import Media
from mmeval.media.parts import (
    Interleaved,
    Part,
    media_part,
    split_reasoning,
    text_part,
)
from mmeval.media.placeholders import SPELLINGS
from tests.support import tiny_media as tiny

PICTURE = Media.from_bytes(tiny.picture(), "a.png")
OTHER = Media.from_bytes(tiny.picture(colour=(9, 9, 9)))
SOUND = Media.from_bytes(tiny.wav(8))
SOME_SPELLINGS = st.sampled_from([(), ("hash",), ("tag",), tuple(SPELLINGS)])

SHARDS = (
    "<",
    "<<",
    ">",
    ">>",
    "#",
    ":",
    " ",
    "_",
    "\n",
    "1",
    "007",
    "9" * 12,
    "image",
    "Image",
    "img",
    "3d",
    "threeD",
    "<image1>",
    "<<audio 2>>",
    "<code_3:",
    "<image_start>",
    "<image_0>",
    "<image_end>",
    "<gen_img1>",
    "<query_text2>",
    "#image1#",
    "<GEN_0>",
    "<boi>",
    "<eoi>",
    "<boi><eoi>",
    "<think>",
    "</think>",
    "ı",
    "İ",
    "١",
    "\ud800",
    "é",
)
near_grammar = st.lists(st.sampled_from(SHARDS) | st.text(max_size=3), max_size=12).map(
    "".join
)
"""Texts made of pieces of placeholders, whole ones, and anything else."""

plain_words = st.text(
    st.characters(codec="utf-8", exclude_characters="<>#"), min_size=1, max_size=8
)
"""Words that can neither be nor complete a placeholder."""

CASES = (
    ("a.png", tiny.picture()),
    ("", tiny.wav(8)),
    ("a.obj", tiny.PLAIN_OBJ),
    ("a.csv", b"a,b\n"),
)
media = st.sampled_from([Media.from_bytes(data, name) for name, data in CASES])
parts: st.SearchStrategy[Part] = st.one_of(
    near_grammar.map(text_part),
    media.map(media_part),
    near_grammar.map(lambda text: Part("code", text=text, label="code1")),
    near_grammar.map(
        lambda text: Part("reasoning", text=text.strip(), raw=f"<think>{text}</think>")
    ),
    st.just(Part("image", raw="<<image1>>", label="image1")),
)
answers: st.SearchStrategy[Interleaved] = st.lists(parts, max_size=5).map(
    lambda found: Interleaved(tuple(found))
)


def kinds(answer: Interleaved) -> list[str]:
    return [part.kind for part in answer.parts]


def held(answer: Interleaved) -> list[Media | None]:
    return [part.media for part in answer.parts if part.kind != "text"]


def codes(answer: Interleaved) -> list[str]:
    return sorted(
        part.text or ""
        for part in answer.parts
        if part.kind == "code" and not part.dangling
    )


@given(st.sampled_from(sorted(SPELLINGS)), st.data())
def test_rendered_parts_are_read_back_in_kind_and_order(
    spelling: str, data: st.DataObject
) -> None:
    able = sorted(SPELLINGS[spelling].kinds - {"text"})
    media = st.sampled_from(able).map(lambda kind: Part(kind, raw="x"))  # type: ignore[arg-type]  # its kinds
    parts = data.draw(st.lists(plain_words.map(text_part) | media, max_size=8))
    answer = Interleaved(tuple(parts))
    parsed = Interleaved.from_text(answer.rendered(spelling), spellings=(spelling,))
    assert [kind for kind in kinds(parsed) if kind != "text"] == [
        kind for kind in kinds(answer) if kind != "text"
    ]
    assert parsed.words == answer.words


def test_media_take_the_place_of_their_placeholders_and_one_without_its_medium_dangles() -> (
    None
):
    answer = Interleaved.from_text(
        "a <<image1>> b <code1><<image2>>", {"image1": PICTURE, "code1": "print(1)"}
    )
    assert answer.parts == (
        text_part("a "),
        Part("image", media=PICTURE, raw="<<image1>>", label="image1"),
        text_part(" b "),
        Part("code", text="print(1)", raw="<code1>", label="code1"),
        Part("image", raw="<<image2>>", label="image2"),
    )
    assert [part.dangling for part in answer.parts] == [False] * 4 + [True]
    assert answer.media() == answer.media("image") == (PICTURE,)
    assert answer.media("audio") == ()


def test_media_follow_the_text_or_stand_where_pairs_and_blocks_are() -> None:
    answer = Interleaved.from_text(
        "words",
        {"audio1": "a bell rings", "threeD1": Media.from_bytes(b"x"), "b": SOUND},
    )
    parts = [(part.kind, part.label, part.raw) for part in answer.parts[1:]]
    assert parts == [("audio", "audio1", ""), ("3d", "3d1", ""), ("audio", "b", "")]
    assert Interleaved.from_text("<threeD1>", {"threeD1": SOUND}).media("3d") == (
        SOUND,
    )
    media = {"image1": PICTURE, "image2": OTHER}
    answer = Interleaved.from_text(
        "<boi><eoi> then <boi><eoi>", media, spellings=("pair",)
    )
    assert (held(answer), kinds(answer)) == (
        [PICTURE, OTHER],
        ["image", "text", "image"],
    )
    block = Interleaved.from_text("<gen_text1> and <gen_img1>", spellings=("block",))
    assert [(part.kind, part.raw) for part in block.parts] == [
        ("text", "<gen_text1> and "),
        ("image", "<gen_img1>"),
    ]


def test_media_without_labels_fill_the_placeholders_of_their_kind_in_order() -> None:
    answer = Interleaved.from_reply(
        "<image3> <audio1> <image1> <image3>", [PICTURE, OTHER, SOUND]
    )
    assert held(answer) == [PICTURE, SOUND, OTHER, PICTURE]
    more = Interleaved.from_reply("<image1>", [SOUND, PICTURE, PICTURE, OTHER])
    assert (more.media(), more.raw) == ((PICTURE, SOUND, PICTURE, OTHER), "<image1>")
    text = Interleaved.from_text(
        "<image2> <audio1> <image1> <image2>", {"audio1": SOUND}
    )
    assert held(text.filled([PICTURE, OTHER, SOUND])) == [
        PICTURE,
        SOUND,
        OTHER,
        PICTURE,
        SOUND,
    ]
    assert Interleaved.from_text("<boi><eoi><boi><eoi>").filled(
        [PICTURE, OTHER]
    ).media() == (PICTURE, OTHER)
    full = Interleaved.from_text(
        "<<code1>> <<image1>>", {"code1": "print(1)", "image1": PICTURE}
    )
    assert full.filled([OTHER]).parts == (*full.parts, media_part(OTHER))


def test_words_leave_out_placeholders_code_and_reasoning_and_without_any_an_answer_is_empty() -> (
    None
):
    answer = Interleaved(
        (
            Part("reasoning", "hm", raw="<t>hm</t>"),
            *Interleaved.from_text("a <image1> b").parts,
        )
    )
    assert (answer.words, answer.text, answer.raw) == (
        "a  b",
        "a <image1> b",
        "<t>hm</t>a <image1> b",
    )
    assert Interleaved((text_part("on"), text_part(""), text_part("e"))).words == "one"
    for text, words in {
        "one<<image1>>two": "one two",
        "one\n<<image1>>two": "one\ntwo",
        "one<<image1>> two": "one two",
        "one<<image1>><<audio1>>two": "one two",
        "<<image1>>two<<image2>>": "two",
    }.items():
        assert Interleaved.from_text(text).words == words
    nothing = (
        Interleaved(),
        Interleaved.from_text(" \n"),
        Interleaved((Part("reasoning", "much"),)),
    )
    something = (
        Interleaved.from_text("."),
        Interleaved.from_text("<image1>"),
        Interleaved((media_part(PICTURE),)),
    )
    assert [answer.empty for answer in (*nothing, *something)] == [True] * 3 + [
        False
    ] * 3


def test_blocks_are_stripped_joined_and_never_blank() -> None:
    picture = Part("image", raw="<image1>", label="image1")
    thought = Part("reasoning", text="hm")
    code = Part("code", "x")
    texts = [text_part(text) for text in (" \n", " A", "hare ", "\nruns.\n", "")]
    answer = Interleaved(
        (
            texts[0],
            picture,
            *texts[1:3],
            thought,
            *texts[3:],
            code,
            texts[0],
            picture,
            texts[4],
        )
    )
    blocks = answer.blocks()
    assert blocks.parts == (
        picture,
        thought,
        text_part("A\nhare \nruns."),
        code,
        picture,
    )
    assert blocks.blocks() is blocks
    assert Interleaved((texts[0],)).blocks().parts == ()
    many = Interleaved(tuple(text_part("word ") for _ in range(20_000)))
    assert len(many.blocks().parts) == 1


def test_reasoning_is_cut_out_of_a_text() -> None:
    cut = {
        "x<t>a</t>b<t> c </t>d": (["a", "c"], "xbd"),
        "x<t>a": (["a"], "x"),
        "<t>": ([""], ""),
        "": ([], ""),
        "a</t>b<t>c</t>d": (["a", "c"], "bd"),
        "<t>a<t>b</t>c</t>d": (["a<t>b</t>c"], "d"),
        "<t>use <t> here</t>answer": (["use <t> here"], "answer"),
        "<t>a</t>b</t>c": (["a"], "b</t>c"),
    }
    for text, (thoughts, answer) in cut.items():
        parts = split_reasoning(text, "<t>", "</t>")
        assert [part.text for part in parts if part.kind == "reasoning"] == thoughts
        assert Interleaved(tuple(parts)).text == answer
    assert (
        split_reasoning("a<t>", "", "<t>")
        == split_reasoning("a<t>", "<t>", "")
        == [text_part("a<t>")]
    )


def test_another_spelling_gives_media_to_the_placeholders_that_it_knows() -> None:
    respelled = Interleaved.from_reply(
        "#image1# and <<image1>>", [PICTURE, OTHER]
    ).respelled(["hash"])
    parts = [(part.kind, part.raw, part.media) for part in respelled.parts]
    assert parts == [
        ("image", "#image1#", PICTURE),
        ("text", " and <<image1>>", None),
        ("image", "", OTHER),
    ]
    code = Interleaved.from_text("see <<code1>>", {"code1": "print(1)"})
    hashed = code.respelled(["hash"])
    assert [(part.kind, part.text) for part in hashed.parts] == [
        ("text", "see <<code1>>"),
        ("code", "print(1)"),
    ]
    assert hashed.respelled(["tag"]).parts[1].text == "print(1)"
    between = (media_part(PICTURE), Part("reasoning", "hm", raw="<t>hm</t>"))
    labelled = Interleaved.from_text("#image2# <<image1>>", {"image2": OTHER})
    for same in (
        code,
        labelled,
        Interleaved((text_part("a <b> "), *between, text_part("c"))),
    ):
        assert same.respelled(["tag"]) is same
    assert labelled.respelled(["hash"]).parts[0].media == OTHER


@given(st.one_of(answers, near_grammar.map(Interleaved.from_text)), SOME_SPELLINGS)
def test_another_spelling_changes_no_character_and_loses_nothing(
    answer: Interleaved, spellings: list[str]
) -> None:
    respelled = answer.respelled(spellings)
    assert (respelled.raw, respelled.text, codes(respelled)) == (
        answer.raw,
        answer.text,
        codes(answer),
    )
    assert Counter(respelled.media()) >= Counter(answer.media())
    assert respelled.respelled(spellings) is respelled


@given(parts, answers)
def test_a_part_and_an_answer_survive_json(part: Part, answer: Interleaved) -> None:
    row = json.loads(json.dumps(part.to_json() | {"from_the_future": 1}))
    restored = Interleaved.from_json(
        json.loads(json.dumps(answer.to_json())), Path("media")
    )
    assert Part.from_json(row, Path("media")) == part
    assert (restored, restored.raw) == (answer, answer.raw)
