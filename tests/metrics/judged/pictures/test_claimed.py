from typing import Any

import pytest

from mmeval.records import Trial
from tests.support.judging import (
    BLUE,
    LOST,
    RED,
    Says,
    answer,
    judged_by_words,
    trial_of,
)

YES, NO = answer("yes"), answer("no")
ONCE = "shows this: exactly one"
IMAGE = "<image_start><image_0><image_end>"
PAIRS = [["cup", "pen"], ["rug", "cup"]]
WORDS, DRAWN = "describe a geometric pattern", "Does the picture show"
ROWS: dict[str, dict[str, Any]] = {
    "judge_self_count": {"object": "kites"},
    "judge_self_color": {
        "object": ["cup", "ball", "rug"],
        "color": ["red", "blue", "green"],
    },
    "judge_self_size": {"object": ["rug", "pea", "cup"], "relation": "size"},
    "judge_self_position": {"object": PAIRS},
    "judge_self_text": {"object": "the board"},
    "judge_pattern": {"pattern": "a row of two squares"},
}
COLORS = '{"cup": "blue", "rug": "red", "ball": "green"}'
NO_CLAIMS = [
    ("judge_self_count", "<count>7</count>"),
    ("judge_self_count", "<count>2</count>"),
]
NO_CLAIMS += [
    ("judge_self_color", '{"cup": "red", "rug": "red", "ball": "green"}'),
    ("judge_pattern", "<one>"),
]
NO_CLAIMS += [("judge_self_size", '["pea", "rug"]'), ("judge_self_position", "[A, B]")]
NO_CLAIMS += [
    ("judge_self_position", '["A", "D"]'),
    ("judge_self_text", "<text>one two three four</text>"),
]
PLACES: list[Any] = [
    None,
    [["cup", "pen"]],
    [["cup"], ["pen"]],
    ["cup", ["a", "b"]],
    ["cup", ""],
]
NO_ROWS: dict[str, list[dict[str, Any]]] = {
    "judge_self_count": [{"object": None}],
    "judge_self_color": [{"object": None}, {"color": [1]}],
    "judge_self_size": [{"object": ["a"]}, {"relation": "age"}, {"text": 3}],
    "judge_self_position": [{"object": label} for label in PLACES],
    "judge_pattern": [{"pattern": None}],
}


def claim(metric: str, words: str, **labels: Any) -> Trial:
    return trial_of(f"{IMAGE} {words}", RED, **{**ROWS[metric], **labels})


@pytest.mark.parametrize(("metric", "words"), NO_CLAIMS)
def test_an_answer_without_the_claim_is_0_with_a_reason_and_no_judge_is_asked(
    metric: str, words: str
) -> None:
    for profile in ("standard", "official"):
        done = judged_by_words(metric, claim(metric, words), "yes", profile)
        assert done.score.value == 0.0
        assert done.calls == []
        assert done.score.evidence["reason"]


@pytest.mark.parametrize(
    ("metric", "labels"),
    [(name, one) for name, every in NO_ROWS.items() for one in every],
)
def test_a_row_without_the_labels_of_the_claim_is_unscored(
    metric: str, labels: dict[str, Any]
) -> None:
    done = judged_by_words(metric, claim(metric, "", **labels), YES)
    assert done.score.status == "unscored"
    assert done.calls == []


def test_the_judge_must_count_what_the_answer_says_of_which_the_release_reads_the_last_digit() -> (
    None
):
    for letter, value in {"C": 1.0, "B": 0.0}.items():
        done = judged_by_words(
            "judge_self_count",
            claim("judge_self_count", "<count>4</count>"),
            answer(letter),
        )
        assert done.score.value == value
        assert done.score.evidence["claimed"] == 4
        assert done.pictures() == (RED,)
    for words, values in {
        "<count>14</count>": [0, 1],
        "<count> 4 </count>": [1, 0],
    }.items():
        trial = claim("judge_self_count", words)
        assert [
            judged_by_words("judge_self_count", trial, "C", it).score.value
            for it in ("standard", "official")
        ] == values
    assert (
        judged_by_words(
            "judge_self_count",
            claim("judge_self_count", "<count>7</count>"),
            "F",
            most=8,
        ).score.value
        == 1.0
    )
    assert (
        judged_by_words(
            "judge_self_count", claim("judge_self_count", ""), "F", most=24
        ).score.status
        == "unscored"
    )


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_an_answer_without_one_picture_in_one_place_is_0(profile: str) -> None:
    claimed, places = "<count>4</count>", f"{IMAGE}<image_start><image_1><image_end>"
    for said, pictures in (
        (claimed, []),
        (f"{places}{claimed}", [RED, BLUE]),
        (f"{places}{claimed}", [RED]),
    ):
        done = judged_by_words(
            "judge_self_count", trial_of(said, *pictures, object="kites"), "C", profile
        )
        assert done.score.value == 0.0
        assert done.calls == []
    done = judged_by_words(
        "judge_pattern", trial_of("<<two squares>>", pattern="p"), YES, profile
    )
    assert done.score.value == 0.0
    assert done.calls == []


def test_each_thing_must_have_its_colour() -> None:
    trial = claim("judge_self_color", COLORS)
    right = judged_by_words("judge_self_color", trial, YES)
    wrong = judged_by_words("judge_self_color", trial, {"rug": NO, "": YES})
    assert right.score.value == 1.0
    assert wrong.score.value == 0.0
    assert len(right.calls) == 3
    assert right.score.evidence["claimed"] == {
        "cup": "blue",
        "rug": "red",
        "ball": "green",
    }
    # a ball has several colours by nature
    only = [" no other " in asked for asked in right.questions]
    assert "exactly one cup" in right.questions[0]
    assert only == [True, True, False]
    rugs = judged_by_words(
        "judge_self_color", trial, YES, many_colored=["rug"]
    ).questions
    assert [" no other " in asked for asked in rugs] == [True, False, True]


def test_every_two_things_must_be_in_the_claimed_order() -> None:
    trial = claim(
        "judge_self_size",
        '["pea", "cup", "rug"]',
        relation="height",
        text="Mind the handle.",
    )
    says = {"rug is obviously": NO, "": YES}
    right, wrong = (
        judged_by_words("judge_self_size", trial, said) for said in (YES, says)
    )
    assert right.score.value == 1.0
    assert wrong.score.value == 0.0
    assert len(right.calls) == 3
    assert " higher than the cup. Mind the handle." in right.questions[2]
    trial = claim("judge_self_size", '["pea", "pea", "cup", "rug"]')
    standard, official = (
        judged_by_words("judge_self_size", trial, "yes", profile)
        for profile in ("standard", "official")
    )
    assert standard.score.value == 0.0
    assert standard.calls == []
    assert official.score.value == 1.0
    assert official.score.evidence["claimed"] == ["pea", "pea", "cup"]


@pytest.mark.parametrize(
    ("things", "words", "profile", "says", "value", "claimed", "calls"),
    [
        (
            PAIRS,
            '["A", "c"]',
            "standard",
            {ONCE: YES, "seen from": answer("A"), "": answer("C")},
            1.0,
            ["A", "C"],
            4,
        ),
        (
            PAIRS,
            '["A", "c"]',
            "standard",
            {ONCE: YES, "seen from": answer("A"), "": answer("B")},
            0.0,
            ["A", "C"],
            4,
        ),
        (
            PAIRS,
            '["A", "A"]',
            "standard",
            {"one rug": NO, ONCE: YES, "": answer("A")},
            0.0,
            ["A", "A"],
            2,
        ),
        (
            ["cup", "pen"],
            '["B", "D"]',
            "official",
            {ONCE: "Yes", "this: cup": "Answer: B", "": "Answer: D"},
            1.0,
            ["B", "D"],
            4,
        ),
    ],
    ids=[
        "right",
        "wrong height",
        "not there",
        "quarters",
    ],
)
def test_the_claimed_sides_heights_or_quarters_must_be_right(
    things: Any,
    words: str,
    profile: str,
    says: Says,
    value: float,
    claimed: Any,
    calls: int,
) -> None:
    done = judged_by_words(
        "judge_self_position",
        claim("judge_self_position", words, object=things),
        says,
        profile,
    )
    assert done.score.value == value
    assert done.score.evidence.get("claimed") == claimed
    assert len(done.calls) == calls
    if things is PAIRS and calls == 4:
        assert "cup, and pen" in done.questions[2]
        assert "height" in done.questions[3]


def test_the_reading_is_compared_with_the_claim_of_a_wanted_length() -> None:
    trial = claim("judge_self_text", "<text>One two, three four five</text>")
    done = judged_by_words("judge_self_text", trial, answer(["one two", "three four"]))
    assert done.score.value == 0.8
    assert done.score.evidence["claimed"] == "One two, three four five"
    assert "the board" in done.questions[0]
    four = claim("judge_self_text", "<text>one two  three four</text>")
    read = '["one two three four"]'
    assert judged_by_words("judge_self_text", four, read).calls == []
    assert judged_by_words("judge_self_text", four, read, "official").score.value == 1.0
    two, six = (
        claim("judge_self_text", f"<text>{words}</text>")
        for words in ("a b", "a b c d e f")
    )
    assert (
        judged_by_words("judge_self_text", two, '["a b"]', least=2).score.value == 1.0
    )
    assert judged_by_words("judge_self_text", six, '["a b"]', most=5).calls == []


def test_words_and_the_last_picture_must_agree_with_the_pattern_and_a_lost_reply_is_unscored() -> (
    None
):
    for words, drawn, value in ((YES, YES, 1.0), (YES, NO, 0.0), (NO, YES, 0.0)):
        trial = trial_of(
            "so <<two squares>> and <<no>>", RED, BLUE, **ROWS["judge_pattern"]
        )
        done = judged_by_words("judge_pattern", trial, {WORDS: words, DRAWN: drawn})
        assert done.score.value == value
        assert done.score.evidence["claimed"] == "two squares"
        assert done.kinds == [["text"], ["image", "text"]]
        assert done.pictures(1) == (BLUE,)
    trial = trial_of("<<two squares>>", RED, BLUE, **ROWS["judge_pattern"])
    assert judged_by_words(
        "judge_pattern", trial, {WORDS: LOST, DRAWN: YES}
    ).score.bounds == (
        0.0,
        1.0,
    )
    assert (
        judged_by_words("judge_pattern", trial, {WORDS: LOST, DRAWN: NO}).score.value
        == 0.0
    )
    assert (
        judged_by_words(
            "judge_pattern", trial, {WORDS: LOST, DRAWN: "Yes"}, "official"
        ).score.value
        == 0.0
    )
    text = claim("judge_self_text", "<text>a b c d e</text>")
    assert judged_by_words("judge_self_text", text, {"": LOST}).score.bounds == (
        0.0,
        1.0,
    )
    assert (
        judged_by_words("judge_self_text", text, {"": LOST}, "official").score.value
        == 0.0
    )
