from typing import Any

import pytest

from mmeval.media.decode import image
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
from tests.support.pictures import DAMAGED, even, painted, picture_trial

YES, NO = answer("yes"), answer("no")
ONCE, SCENE = "shows this: exactly one", "Taken as a whole"
BEACH = trial_of("", RED, object=["a beach", "exactly one kite", "exactly one crab"])
TENTS = trial_of("", RED, object=["a beach", "tents"])
BOX = {"region": "bbox"}
BOXED = {"object": "a", "bbox": [1, 1, 3, 3]}
PLACES: list[Any] = [
    [],
    "left",
    [["kite"]],
    [["kite", "middle"]],
    [["a", "b", "near"]],
    [[1, "up left"]],
]
KITES: dict[str, Any] = {"object": "kites", "count": 4}
UNUSABLE: dict[str, list[Any]] = {
    "judge_presence": [
        ({}, {}, "'object'"),
        ({"object": ["a", 3]}, {}, "'object'"),
        ({"object": "a"}, {"scene": True}, "scene"),
        ({"object": "a"}, BOX, "box"),
        ({**BOXED, "bbox": [3, 3, 1, 1]}, BOX, "empty"),
        (BOXED, {**BOX, "pictures": "last"}, "pictures: last"),
    ],
    "judge_count": [
        ({"count": 4}, {}, "'object'"),
        ({**KITES, "count": 7}, {}, "not 7"),
        ({**KITES, "count": 2}, {}, "not 2"),
        (KITES, {"fewest": 5, "most": 4}, "5 to 4"),
        (KITES, {"most": 24}, "3 to 24"),
        (KITES, {"fewest": -1}, "-1 "),
    ],
    "judge_position": [({"constraint": label}, {}, "'constraint'") for label in PLACES],
    "judge_ocr": [
        ({}, {}, "'text'"),
        ({"text": 3}, {}, "'text'"),
        ({"text": {}}, {}, "'text'"),
        ({"text": "a"}, BOX, "box"),
        ({"text": "a", "object": ["b"]}, {}, "'object'"),
        ({"text": {"left": "a"}}, {}, "'object'"),
    ],
    "judge_ocr_multilingual": [({"object": "a", "text": {"a": "b"}}, {}, "'text'")],
}
OPTIONS = {
    "tree,left": "A: clearly to the left",
    "tree,right": "B: clearly to the right",
    "tree,above": "A: clearly higher",
}
OPTIONS |= {
    "tree,below": "B: clearly lower",
    "bottom left": "A: bottom left",
    "bottom right": "B: bottom right",
}
OPTIONS |= {"up left": "C: top left", "up right": "D: top right"}
TWO_PLACES = trial_of(
    "", RED, constraint=[["kite", "up left"], ["tree", "bottom right"]]
)
SIGN = trial_of("", RED, object="the sign", text="Café & Bar")
ANYWHERE, NOTHING = trial_of("", RED, text="Gate 4"), trial_of("", RED, text="")
TWO = trial_of(
    "",
    RED,
    object="two signs",
    text={"the left sign": "mind out", "the right sign": "more coffee now"},
)
DREAM = trial_of("", RED, text="天天向上")


def test_without_its_scene_nothing_counts_and_what_is_not_wanted_must_be_absent() -> (
    None
):
    for scene, value in {YES: 0.5, NO: 0.0}.items():
        says = {SCENE: scene, "kite": YES, "crab": NO}
        done = judged_by_words("judge_presence", BEACH, says, scene=True)
        assert done.score.value == value
        assert len(done.calls) == 3
        assert done.pictures() == (RED,)
        assert done.score.evidence["questions"][0]["reason"] == "so"
    for (scene, tent), value in {
        (YES, NO): 1.0,
        (YES, YES): 0.0,
        (NO, NO): 0.0,
    }.items():
        done = judged_by_words(
            "judge_presence", TENTS, {SCENE: scene, "": tent}, scene=True, wanted=False
        )
        assert done.score.value == value
    # in the release a scene holds unless "no" is there
    for (scene, tent), value in {
        ("A beach.", "It has none"): 1.0,
        ("In the snow", "No"): 0.0,
    }.items():
        done = judged_by_words(
            "judge_presence",
            TENTS,
            {SCENE: scene, "": tent},
            "official",
            scene=True,
            wanted=False,
        )
        assert done.score.value == value


def test_each_picture_shows_its_own_description_or_all_is_0_or_the_last_one_counts() -> (
    None
):
    trial = trial_of("", RED, BLUE, object=["red", "blue"])
    right, wrong = (
        judged_by_words(
            "judge_presence", trial, {"blue": said, "": YES}, pictures="each"
        )
        for said in (YES, NO)
    )
    assert right.score.value == 1.0
    assert wrong.score.value == 0.0
    assert [right.pictures(at) for at in (0, 1)] == [(RED,), (BLUE,)]
    trial = trial_of(
        "one <image_start><image_0><image_end> two", RED, BLUE, object="blue"
    )
    for profile in ("standard", "official"):
        assert judged_by_words(
            "judge_presence", trial, YES, profile, pictures="last"
        ).pictures() == (BLUE,)


def test_of_an_edited_picture_the_judge_sees_the_box_in_the_size_of_the_original() -> (
    None
):
    original, red = even(100, 200, (0, 0, 255)), (255, 0, 0)
    edited = painted(even(50, 100, (0, 0, 255)), slice(20, 30), slice(40, 60), red)
    trial = picture_trial(
        edited, given=(original,), bbox=[80, 40, 120, 60], object="a red box", text="no"
    )
    done = judged_by_words("judge_presence", trial, YES, region="bbox")
    (crop,) = done.pictures()
    assert done.score.value == 1.0
    assert image(crop).size == (80, 40)
    assert crop.name == ""
    assert image(crop).getpixel((40, 20)) == red
    assert image(
        judged_by_words(
            "judge_presence", trial, YES, region="bbox", margin=20
        ).pictures()[0]
    ).size == (60, 30)
    assert image(
        judged_by_words("judge_ocr", trial, answer(["no"]), region="bbox").pictures()[0]
    ).size == (80, 40)


@pytest.mark.parametrize(
    ("trial", "pictures"),
    [
        (trial_of("", RED, BLUE, object="a"), "only"),
        (trial_of("", DAMAGED, object="a"), "only"),
        (trial_of("", RED, object=["a", "b"]), "each"),
        (trial_of("none", object="a"), "last"),
    ],
)
def test_an_answer_without_the_right_pictures_is_0_and_no_judge_is_asked(
    trial: Trial, pictures: str
) -> None:
    done = judged_by_words("judge_presence", trial, YES, pictures=pictures)
    assert done.score.value == 0.0
    assert done.calls == []
    assert "picture" in done.score.evidence["reason"]
    failed = judged_by_words(
        "judge_presence", trial_of(None, object="a"), YES, pictures=pictures
    )
    assert failed.score.status == "unscored"


@pytest.mark.parametrize(
    ("metric", "row"),
    [(metric, row) for metric, rows in UNUSABLE.items() for row in rows],
)
def test_a_row_without_usable_labels_is_unscored_and_no_judge_is_asked(
    metric: str, row: Any
) -> None:
    labels, switches, words = row
    done = judged_by_words(metric, trial_of("", RED, **labels), YES, **switches)
    assert done.score.status == "unscored"
    assert done.calls == []
    assert words in done.score.reason


def test_a_lost_reply_costs_only_what_it_decides_and_for_the_release_is_an_empty_reading() -> (
    None
):
    lost_places: list[Says] = [
        {"two signs": LOST},
        {"two signs": YES, "left sign": LOST, "": answer(["more"])},
    ]
    assert [
        judged_by_words("judge_ocr", TWO, says).score.bounds for says in lost_places
    ] == [(0.0, 1.0)] * 2
    plain: list[Says] = [
        {"two signs": LOST},
        {"two signs": "yes", "left sign": LOST, "": '["more"]'},
    ]
    assert [
        judged_by_words("judge_ocr", TWO, says, "official").score.value
        for says in plain
    ] == [0.0, pytest.approx(0.2)]
    all_says: list[Says] = [{SCENE: NO, "": LOST}, {SCENE: YES, "kite": YES, "": LOST}]
    all_says += [{SCENE: LOST, "kite": YES, "": NO}]
    scores = [
        judged_by_words("judge_presence", BEACH, says, scene=True).score
        for says in all_says
    ]
    assert [(one.value, one.bounds) for one in scores] == [
        (0.0, None),
        (None, (0.5, 1.0)),
        (None, (0.0, 0.5)),
    ]


def test_each_count_has_one_letter_and_the_judge_reads_its_meaning() -> None:
    for count, right in {3: "B", 6: "E"}.items():
        found = [
            judged_by_words(
                "judge_count",
                trial_of("", RED, object="kites", count=count),
                answer(letter),
            ).score.value
            for letter in "ABCDEF"
        ]
        assert found == [float(letter == right) for letter in "ABCDEF"]
    done = judged_by_words(
        "judge_count", trial_of("", RED, object="kites", count=4), answer("F")
    )
    assert "fewer than 3" in done.questions[0]
    assert "B: 3\nC: 4\nD: 5\nE: 6\nF: " in done.questions[0]
    assert done.score.evidence["counted"] == "more than 6"
    other = judged_by_words(
        "judge_count",
        trial_of("", RED, object="kites", count=1),
        answer("C"),
        fewest=0,
        most=2,
    )
    assert [
        words in other.questions[0]
        for words in ("fewer than 0", "D: 2\nE: more than 2")
    ] == [True] * 2
    assert other.score.value == 1.0


@pytest.mark.parametrize(("place", "option"), OPTIONS.items())
def test_each_place_is_one_letter(place: str, option: str) -> None:
    trial = trial_of("", RED, constraint=[["kite", *place.split(",")]])
    letter = option[0]
    letters = "ABC" if "," in place else "ABCDE"
    found = {
        said: judged_by_words("judge_position", trial, {ONCE: YES, "": answer(said)})
        for said in letters
    }
    assert [said for said, done in found.items() if done.score.value == 1.0] == [letter]
    assert option in found[letter].questions[1]
    assert (
        judged_by_words(
            "judge_position",
            trial,
            {ONCE: "Yes", "": f"So Answer: {letter}"},
            "official",
        ).score.value
        == 1.0
    )


@pytest.mark.parametrize(
    ("says", "value", "bounds", "calls"),
    [
        ({"exactly one kite": NO, ONCE: YES, "": answer("B")}, 0.0, None, 2),
        ({"exactly one kite": LOST, ONCE: YES, "": answer("B")}, None, (0.0, 1.0), 3),
        ({ONCE: YES, "": answer("B")}, 0.0, None, 4),
        ({ONCE: YES, "this: kite": answer("C"), "": answer("B")}, 1.0, None, 4),
        ({ONCE: YES, "this: kite": LOST, "": answer("C")}, 0.0, None, 4),
    ],
    ids=["absent", "lost", "one wrong", "right", "place lost, other wrong"],
)
def test_all_places_must_be_right_and_no_more_asked(
    says: Says, value: float | None, bounds: Any, calls: int
) -> None:
    done = judged_by_words("judge_position", TWO_PLACES, says)
    assert done.score.value == value
    assert done.score.bounds == bounds
    assert len(done.calls) == calls
    letters = [
        place["place"]["wanted"]
        for place in done.score.evidence["places"]
        if "place" in place
    ]
    assert letters == {2: [], 3: ["B"], 4: ["C", "B"]}[calls]


def test_the_prompts_of_the_three_questions_can_be_replaced() -> None:
    trial = trial_of(
        "", RED, constraint=[["a", "b", "left"], ["c", "d", "above"], ["e", "up left"]]
    )
    names = ("left_right", "above_below", "quarter")
    switches: dict[str, Any] = {
        f"{name}_prompt": {"text": f"{name}?"} for name in names
    }
    done = judged_by_words(
        "judge_position", trial, {ONCE: YES, "": "Answer: A"}, **switches
    )
    assert done.questions[3:] == [f"{name}?" for name in names]


def test_the_words_that_were_read_are_compared_and_errors_of_several_places_summed_up() -> (
    None
):
    cases: list[Any] = [
        (SIGN, ["cafe", "Bar!"], 1.0),
        (SIGN, ["cafe"], 0.5),
        (ANYWHERE, ["gate", "4"], 1.0),
    ]
    for trial, read, value in (*cases, (NOTHING, [], 1.0), (NOTHING, ["exit"], 0.0)):
        done = judged_by_words("judge_ocr", trial, answer(read))
        assert done.score.value == value
        assert ("the sign" in done.questions[0]) == (trial is SIGN)
        assert trial is not SIGN or done.score.evidence["wanted"] == ["cafe bar"]
    says = {
        "shows this: two signs": YES,
        "the left sign": answer(["mind out"]),
        "the right sign": answer(["coffee"]),
    }
    done = judged_by_words("judge_ocr", TWO, says)
    assert done.score.value == pytest.approx(1 - 2 / 5)
    assert len(done.calls) == 3
    assert done.score.evidence["errors"] == 2
    assert done.score.evidence["length"] == 5
    done = judged_by_words("judge_ocr", TWO, NO)
    assert done.score.value == 0.0
    assert len(done.calls) == 1
    assert done.score.evidence["found"] == ["<none>", "<none>"]


@pytest.mark.parametrize(
    ("first", "other", "profile", "value", "found"),
    [
        (
            answer("天天Chinese向上梦"),
            answer("1上，向天<none>"),
            "standard",
            1.0,
            "天天向上",
        ),
        # a set loses a character that stands twice
        ("天天向上", "天向上", "official", 0.75, "天向上"),
    ],
)
def test_characters_that_both_judges_read_count(
    first: str, other: str, profile: str, value: float, found: str
) -> None:
    done = judged_by_words(
        "judge_ocr_multilingual",
        DREAM,
        first,
        profile,
        role_says={"second_judge": {"": other}},
    )
    assert done.score.value == value
    assert done.score.evidence["found"] == [found]
    assert [call.role for call in done.calls] == ["judge", "second_judge"]
    assert done.kinds == [["image", "text"], ["text", "image"]]


def test_another_script_is_read_by_the_first_judge_alone_and_a_lost_reading_is_unscored() -> (
    None
):
    done = judged_by_words(
        "judge_ocr_multilingual",
        trial_of("", RED, object="the sign", text="Grüße"),
        answer(["grusse"]),
    )
    assert [call.role for call in done.calls] == ["judge"]
    assert "the sign" in done.questions[0]
    assert done.score.value == 0.0  # ß is not folded
    assert (
        judged_by_words(
            "judge_ocr_multilingual", trial_of("", RED, text="Tür"), answer(["TUR"])
        ).score.value
        == 1.0
    )
    lost: dict[str, Says] = {"second_judge": {"": LOST}}
    standard = judged_by_words(
        "judge_ocr_multilingual", DREAM, answer("天"), role_says=lost
    ).score
    official = judged_by_words(
        "judge_ocr_multilingual", DREAM, "天", "official", role_says=lost
    ).score
    assert standard.bounds == (0.0, 1.0)
    assert standard.cause == "lost"
    assert official.value == 0.0
