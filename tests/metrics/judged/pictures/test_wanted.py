from __future__ import annotations

from typing import Any

import pytest

from mmeval.decode import image
from mmeval.records import Response, Trial
from tests.support.picture_judging import BLUE, LOST, RED, Says, answer, judged, trial_of
from tests.support.pictures import DAMAGED, even, medium, painted, picture_trial

YES, NO = answer("yes"), answer("no")
ONCE = "shows this: exactly one"
SCENE = "Taken as a whole"


def beach(*things: str) -> Trial:
    return trial_of("", RED, object=["a beach", *things])


@pytest.mark.parametrize(("said", "value"), [(YES, 1.0), (NO, 0.0)])
def test_one_description_is_there_or_not(said: str, value: float) -> None:
    done = judged("judge_presence", trial_of("", RED, object="exactly one kite"), said)
    assert (done.score.value, done.pictures()) == (value, (RED,))
    assert "shows this: exactly one kite" in done.questions[0]
    assert done.score.evidence["questions"][0]["reason"] == "so"


@pytest.mark.parametrize(("scene", "value"), [(YES, 0.5), (NO, 0.0)])
def test_without_its_scene_nothing_counts_and_with_it_the_share_of_the_rest(scene: str, value: float) -> None:
    says = {SCENE: scene, "kite": YES, "crab": NO}
    done = judged("judge_presence", beach("exactly one kite", "exactly one crab"), says, scene=True)
    assert (done.score.value, len(done.calls)) == (value, 3)


@pytest.mark.parametrize(
    ("scene", "tent", "value"), [(YES, NO, 1.0), (YES, YES, 0.0), (NO, NO, 0.0)], ids=["right", "tent", "no scene"]
)
def test_what_is_not_wanted_must_be_absent_from_the_scene(scene: str, tent: str, value: float) -> None:
    done = judged("judge_presence", beach("tents"), {SCENE: scene, "": tent}, scene=True, wanted=False)
    assert done.score.value == value


@pytest.mark.parametrize(
    ("scene", "tent", "value"),
    [("Yes", "No", 1.0), ("A beach.", "It has none", 1.0), ("In the snow", "No", 0.0), ("Yes", "Not sure", 1.0)],
)
def test_the_release_looks_for_no_beside_what_is_not_wanted_and_a_scene_without_it_holds(
    scene: str, tent: str, value: float
) -> None:
    says = {SCENE: scene, "": tent}
    done = judged("judge_presence", beach("tents"), says, "official", scene=True, wanted=False)
    assert done.score.value == value


def test_the_same_prose_is_read_by_the_release_and_refused_by_a_robust_reading() -> None:
    says = "There are no eyes here. No way"
    official, standard = (
        judged("judge_presence", beach(), says, profile).score for profile in ("official", "standard")
    )
    assert (official.value, standard.status) == (1.0, "unscored")  # "eyes" holds "yes"


def test_each_picture_shows_its_own_description_or_all_is_0() -> None:
    trial = trial_of("", RED, BLUE, object=["red", "blue"])
    right = judged("judge_presence", trial, YES, pictures="each")
    wrong = judged("judge_presence", trial, {"blue": NO, "": YES}, pictures="each")
    assert (right.score.value, wrong.score.value) == (1.0, 0.0)
    assert [right.pictures(at) for at in (0, 1)] == [(RED,), (BLUE,)]


def test_the_last_of_several_pictures_may_be_the_one_that_counts() -> None:
    trial = trial_of("one <image_start><image_0><image_end> two", RED, BLUE, object="blue")
    assert judged("judge_presence", trial, YES, pictures="last").pictures() == (BLUE,)
    assert judged("judge_presence", trial, YES, "official", pictures="last").pictures() == (BLUE,)


def test_of_an_edited_picture_the_judge_sees_the_box_in_the_size_of_the_original() -> None:
    original = even(100, 200, (0, 0, 255))
    edited = painted(even(50, 100, (0, 0, 255)), slice(20, 30), slice(40, 60), (255, 0, 0))
    trial = picture_trial(edited, given=(original,), bbox=[80, 40, 120, 60], object="a red box")
    done = judged("judge_presence", trial, YES, region="bbox")
    (crop,) = done.pictures()
    assert (done.score.value, image(crop).size, crop.name) == (1.0, (80, 40), "")
    assert image(crop).getpixel((40, 20)) == (255, 0, 0)
    assert image(judged("judge_presence", trial, YES, region="bbox", margin=20).pictures()[0]).size == (60, 30)


@pytest.mark.parametrize(
    ("trial", "switches", "reason"),
    [
        (trial_of("none", object="a"), {}, "0 pictures, not exactly one"),
        (trial_of("", RED, BLUE, object="a"), {}, "2 pictures, not exactly one"),
        (trial_of("", DAMAGED, object="a"), {}, "picture"),
        (trial_of("", RED, object=["a", "b"]), {"pictures": "each"}, "1 pictures, not exactly 2"),
        (trial_of("", RED, BLUE, RED, object=["a", "b"]), {"pictures": "each"}, "3 pictures, not exactly 2"),
        (trial_of("", RED, DAMAGED, object=["a", "b"]), {"pictures": "each"}, "picture"),
        (trial_of("none", object="a"), {"pictures": "last"}, "the answer has no picture"),
    ],
)
def test_an_answer_without_the_right_pictures_is_0_and_no_judge_is_asked(
    trial: Trial, switches: dict[str, Any], reason: str
) -> None:
    done = judged("judge_presence", trial, YES, **switches)
    assert (done.score.value, done.calls) == (0.0, [])
    assert reason in done.score.evidence["reason"]


@pytest.mark.parametrize(
    ("labels", "switches", "reason"),
    [
        ({}, {}, "no descriptions under 'object'"),
        ({"object": ["a", 3]}, {}, "no descriptions under 'object'"),
        ({"object": "a"}, {"scene": True}, "no description but the scene"),
        ({"object": "a"}, {"region": "bbox"}, "must be a box"),
        ({"object": "a", "bbox": [1, 1, 3, 3]}, {"region": "bbox", "pictures": "last"}, "does not go with"),
        ({"object": "a", "bbox": [3, 3, 1, 1]}, {"region": "bbox"}, "is empty"),
    ],
)
def test_a_row_that_does_not_say_what_to_look_for_is_unscored(
    labels: dict[str, Any], switches: dict[str, Any], reason: str
) -> None:
    done = judged("judge_presence", trial_of("", RED, **labels), YES, **switches)
    assert (done.score.status, done.calls) == ("unscored", [])
    assert reason in done.score.reason


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ({SCENE: NO, "": LOST}, (0.0, None)),
        ({SCENE: YES, "kite": YES, "": LOST}, (None, (0.5, 1.0))),
        ({SCENE: LOST, "kite": YES, "": NO}, (None, (0.0, 0.5))),
    ],
    ids=["decided", "one lost", "scene lost"],
)
def test_a_lost_reply_costs_only_what_it_decides(says: dict[str, str | Response], expected: tuple[Any, Any]) -> None:
    score = judged("judge_presence", beach("exactly one kite", "exactly one crab"), says, scene=True).score
    assert (score.value, score.bounds) == expected


def test_without_an_answer_the_trial_is_unscored() -> None:
    for pictures in ("only", "last", "each"):
        assert judged("judge_presence", trial_of(None, object="a"), YES, pictures=pictures).score.status == "unscored"


def test_a_large_picture_is_shown_as_it_is() -> None:
    large = medium(even(300, 900, (1, 2, 3)))
    assert judged("judge_presence", trial_of("", large, object="a"), YES).pictures() == (large,)


LETTERS = {3: "B", 4: "C", 5: "D", 6: "E"}


@pytest.mark.parametrize("count", LETTERS)
@pytest.mark.parametrize("letter", "ABCDEF")
def test_each_count_has_one_letter(count: int, letter: str) -> None:
    trial = trial_of("", RED, object="kites", count=count)
    standard = judged("judge_count", trial, answer(letter)).score.value
    official = judged("judge_count", trial, f" {letter.lower()}.", "official").score.value
    assert standard == official == float(LETTERS[count] == letter)


def test_the_judge_is_told_what_the_letters_mean_and_the_evidence_spells_the_answer_out() -> None:
    done = judged("judge_count", trial_of("", RED, object="kites", count=4), answer("F"))
    assert "this: kites?" not in done.questions[0]
    assert "does the picture show: kites?" in done.questions[0]
    assert "A: fewer than 3, or the picture is blank\nB: 3\nC: 4\nD: 5\nE: 6\nF: more than 6\n" in done.questions[0]
    assert done.score.evidence["counted"] == "more than 6"


def test_other_counts_may_be_told_apart() -> None:
    done = judged("judge_count", trial_of("", RED, object="kites", count=1), answer("C"), fewest=0, most=2)
    assert "A: fewer than 0" in done.questions[0]
    assert "D: 2\nE: more than 2" in done.questions[0]
    assert done.score.value == 1.0


@pytest.mark.parametrize(("said", "value"), [("four", 0.0), ("five", 0.0), ("3", 0.0), ("Cats: I count 4", 1.0)])
def test_the_release_takes_any_first_character_for_a_letter(said: str, value: float) -> None:
    assert judged("judge_count", trial_of("", RED, object="cats", count=4), said, "official").score.value == value
    assert judged("judge_count", trial_of("", RED, object="cats", count=4), said).score.status == "unscored"


@pytest.mark.parametrize("said", ["", LOST], ids=["empty", "lost"])
def test_an_empty_reply_on_which_the_release_stops_is_wrong_there_and_else_lost(said: Any) -> None:
    trial = trial_of("", RED, object="kites", count=4)
    standard, official = (judged("judge_count", trial, {"": said}, name).score for name in ("standard", "official"))
    assert (standard.status, standard.cause, official.value) == ("unscored", "lost", 0.0)


def test_two_pictures_are_0_and_no_judge_is_asked() -> None:
    done = judged("judge_count", trial_of("", RED, BLUE, object="kites", count=4), answer("C"))
    assert (done.score.value, done.calls) == (0.0, [])


@pytest.mark.parametrize(
    ("labels", "switches", "reason"),
    [
        ({"count": 4}, {}, "no text under 'object'"),
        ({"object": "kites"}, {}, "must be 3 to 6, not None"),
        ({"object": "kites", "count": 7}, {}, "must be 3 to 6, not 7"),
        ({"object": "kites", "count": "4"}, {}, "must be 3 to 6, not '4'"),
        ({"object": "kites", "count": 4}, {"fewest": 5, "most": 4}, "no range of counts"),
        ({"object": "kites", "count": 4}, {"most": 30}, "no range of counts"),
    ],
)
def test_a_row_without_a_count_that_can_be_told_is_unscored(
    labels: dict[str, Any], switches: dict[str, Any], reason: str
) -> None:
    assert reason in judged("judge_count", trial_of("", RED, **labels), answer("C"), **switches).score.reason


@pytest.mark.parametrize(
    ("constraint", "letter", "option"),
    [
        (["kite", "tree", "left"], "A", "A: clearly to the left"),
        (["kite", "tree", "right"], "B", "B: clearly to the right"),
        (["kite", "tree", "above"], "A", "A: clearly higher"),
        (["kite", "tree", "below"], "B", "B: clearly lower"),
        (["kite", "bottom left"], "A", "A: bottom left"),
        (["kite", "bottom right"], "B", "B: bottom right"),
        (["kite", "up left"], "C", "C: top left"),
        (["kite", "up right"], "D", "D: top right"),
    ],
)
def test_each_place_is_one_letter(constraint: list[str], letter: str, option: str) -> None:
    trial = trial_of("", RED, constraint=[constraint])
    values = {
        said: judged("judge_position", trial, {ONCE: YES, "": answer(said)})
        for said in ("ABC" if len(constraint) == 3 else "ABCDE")
    }
    assert [said for said, done in values.items() if done.score.value == 1.0] == [letter]
    assert option in values[letter].questions[1]
    assert judged("judge_position", trial, {ONCE: "Yes", "": f"So Answer: {letter}"}, "official").score.value == 1.0


def test_things_that_are_not_there_once_are_not_looked_for() -> None:
    done = judged("judge_position", trial_of("", RED, constraint=[["kite", "tree", "left"]]), NO)
    assert (done.score.value, len(done.calls)) == (0.0, 1)
    assert "exactly one kite and exactly one tree" in done.questions[0]


@pytest.mark.parametrize(("kite", "calls"), [(NO, 2), (LOST, 3), (YES, 4)], ids=["absent", "lost", "there"])
def test_nothing_is_looked_for_that_can_decide_nothing(kite: str, calls: int) -> None:
    trial = trial_of("", RED, constraint=[["kite", "up left"], ["tree", "bottom right"]])
    done = judged("judge_position", trial, {"exactly one kite": kite, ONCE: YES, "": answer("B")})
    assert len(done.calls) == calls


def test_nothing_is_asked_twice_where_no_reply_came() -> None:
    trial = trial_of("", RED, constraint=[["kite", "up left"], ["tree", "bottom right"]])
    done = judged("judge_position", trial, {"": LOST})
    assert (done.score.bounds, len(done.calls)) == ((0.0, 1.0), 2)


def test_all_places_must_be_right() -> None:
    trial = trial_of("", RED, constraint=[["kite", "up left"], ["tree", "bottom right"]])
    done = judged("judge_position", trial, {ONCE: YES, "this: kite": answer("C"), "": answer("A")})
    assert (done.score.value, len(done.calls)) == (0.0, 4)
    assert [one["place"]["wanted"] for one in done.score.evidence["places"]] == ["C", "B"]


@pytest.mark.parametrize(
    ("said", "value"), [("Answer: **A**", 0.0), ("Answer: B, then Answer: A", 0.0), ("Answer: A", 1.0)]
)
def test_a_letter_that_the_release_cannot_read_is_wrong(said: str, value: float) -> None:
    trial = trial_of("", RED, constraint=[["kite", "tree", "left"]])
    assert judged("judge_position", trial, {ONCE: "Yes", "": said}, "official").score.value == value


def test_a_lost_reply_is_unknown_unless_another_place_is_wrong() -> None:
    trial = trial_of("", RED, constraint=[["kite", "up left"], ["tree", "bottom right"]])
    lost = judged("judge_position", trial, {ONCE: YES, "this: kite": LOST, "": answer("B")}).score
    wrong = judged("judge_position", trial, {ONCE: YES, "this: kite": LOST, "": answer("C")}).score
    official = judged("judge_position", trial, {ONCE: "Yes", "this: kite": LOST, "": "Answer: B"}, "official").score
    assert (lost.status, lost.bounds, wrong.value, official.value) == ("unscored", (0.0, 1.0), 0.0, 0.0)


def test_the_prompts_of_the_three_questions_can_be_replaced() -> None:
    constraint = [["a", "b", "left"], ["c", "d", "above"], ["e", "up left"]]
    switches: dict[str, Any] = {
        f"{name}_prompt": {"text": f"{name}?"} for name in ("left_right", "above_below", "quarter")
    }
    done = judged("judge_position", trial_of("", RED, constraint=constraint), {ONCE: YES, "": "Answer: A"}, **switches)
    assert done.questions[3:] == ["left_right?", "above_below?", "quarter?"]


@pytest.mark.parametrize(
    "label", [None, [], "left", [["kite"]], [["kite", "middle"]], [["a", "b", "near"]], [[1, "up left"]]]
)
def test_a_row_without_places_is_unscored_and_no_judge_is_asked(label: Any) -> None:
    done = judged("judge_position", trial_of("", RED, constraint=label), YES)
    assert (done.score.status, done.calls) == ("unscored", [])
    assert "'constraint'" in done.score.reason


def test_an_answer_without_a_picture_is_0() -> None:
    assert judged("judge_position", trial_of("none", constraint=[["kite", "up left"]]), YES).score.value == 0.0


SIGN = trial_of("", RED, object="the sign", text="Café & Bar")


@pytest.mark.parametrize(
    ("read", "value"),
    [(["cafe", "bar"], 1.0), (["Cafe bar!"], 1.0), (["cafe"], 0.5), ([], 0.0), (["a", "b", "c", "d", "e"], 0.0)],
)
def test_the_words_that_were_read_are_compared_with_the_wanted_ones(read: list[str], value: float) -> None:
    done = judged("judge_ocr", SIGN, answer(read))
    assert done.score.value == value
    assert "written on the sign, and nowhere else" in done.questions[0]
    assert done.score.evidence["wanted"] == ["cafe  bar".replace("  ", " ")]


def test_without_a_thing_that_it_stands_on_the_whole_picture_is_read_with_digits() -> None:
    done = judged("judge_ocr", trial_of("", RED, text="Gate 4"), answer(["gate", "4"]))
    assert done.score.value == 1.0
    assert "Latin letters and digits alone" in done.questions[0]


@pytest.mark.parametrize(("read", "value"), [([], 1.0), (["exit"], 0.0)])
def test_where_no_text_is_wanted_none_read_is_right(read: list[str], value: float) -> None:
    assert judged("judge_ocr", trial_of("", RED, text=""), answer(read)).score.value == value


def test_a_lost_reply_is_wrong_in_the_official_profile_even_where_no_text_is_wanted() -> None:
    trial = trial_of("", RED, text="")
    assert judged("judge_ocr", trial, {"": LOST}, "official").score.value == 0.0
    assert judged("judge_ocr", trial, {"": LOST}).score.bounds == (0.0, 1.0)


@pytest.mark.parametrize(("said", "value"), [('["cafe", "bar"]', 1.0), ("['cafe', 'bar']", 0.0), ("cafe bar", 0.0)])
def test_only_a_strict_list_is_read_by_the_release(said: str, value: float) -> None:
    assert judged("judge_ocr", SIGN, said, "official").score.value == value


def test_single_quotes_are_read_robustly() -> None:
    assert judged("judge_ocr", SIGN, "['cafe', 'bar']").score.value == 1.0


TWO = trial_of("", RED, object="two signs", text={"the left sign": "mind out", "the right sign": "more coffee now"})


def test_the_errors_of_several_places_are_summed_up() -> None:
    says = {"shows this: two signs": YES, "the left sign": answer(["mind out"]), "the right sign": answer(["coffee"])}
    done = judged("judge_ocr", TWO, says)
    assert (done.score.value, len(done.calls)) == (pytest.approx(1 - 2 / 5), 3)
    assert (done.score.evidence["errors"], done.score.evidence["length"]) == (2, 5)


def test_places_of_a_scene_that_is_not_there_are_not_read() -> None:
    done = judged("judge_ocr", TWO, NO)
    assert (done.score.value, len(done.calls)) == (0.0, 1)
    assert done.score.evidence["found"] == ["<none>", "<none>"]


@pytest.mark.parametrize("says", [{"two signs": LOST}, {"two signs": YES, "left sign": LOST, "": answer(["more"])}])
def test_a_lost_reply_about_places_is_unscored_and_for_the_release_an_empty_reading(says: Any) -> None:
    assert judged("judge_ocr", TWO, says).score.bounds == (0.0, 1.0)
    plain = {words: "yes" if said == YES else said if said is LOST else '["more"]' for words, said in says.items()}
    assert judged("judge_ocr", TWO, plain, "official").score.value == (pytest.approx(0.2) if len(says) > 1 else 0.0)


def test_of_an_edited_picture_the_judge_reads_the_box() -> None:
    trial = picture_trial(
        even(100, 100, (9, 9, 9)), given=(even(100, 100, (0, 0, 0)),), bbox=[20, 20, 40, 60], text="no"
    )
    done = judged("judge_ocr", trial, answer(["no"]), region="bbox")
    assert (done.score.value, image(done.pictures()[0]).size) == (1.0, (40, 60))


@pytest.mark.parametrize(
    ("labels", "switches"),
    [
        ({}, {}),
        ({"text": 3}, {}),
        ({"text": {}}, {}),
        ({"text": "a", "object": ["b"]}, {}),
        ({"text": {"left": "a"}}, {}),
        ({"text": "a"}, {"region": "bbox"}),
    ],
)
def test_a_row_without_a_wanted_text_is_unscored(labels: dict[str, Any], switches: dict[str, Any]) -> None:
    done = judged("judge_ocr", trial_of("", RED, **labels), YES, **switches)
    assert (done.score.status, done.calls) == ("unscored", [])


def test_two_pictures_are_0() -> None:
    assert judged("judge_ocr", trial_of("", RED, BLUE, text="a"), YES).score.value == 0.0


DREAM = trial_of("", RED, text="天天向上")


def second(said: str) -> dict[str, Says]:
    return {"second_judge": {"": said}}


def test_what_both_judges_read_counts_in_the_order_of_the_first() -> None:
    done = judged("judge_ocr_multilingual", DREAM, answer("天天向上梦"), role_says=second(answer("上，向天")))
    assert (done.score.value, done.score.evidence["found"]) == (1.0, ["天天向上"])
    assert [call.role for call in done.calls] == ["judge", "second_judge"]


def test_the_release_compares_sets_and_so_loses_what_stands_twice() -> None:
    done = judged("judge_ocr_multilingual", DREAM, "天天向上", "official", role_says=second("天向上"))
    assert (done.score.value, done.score.evidence["found"]) == (0.75, ["天向上"])


def test_one_judge_alone_cannot_make_up_a_text() -> None:
    done = judged("judge_ocr_multilingual", DREAM, answer("天天向上"), role_says=second(answer("")))
    assert done.score.value == 0.0


def test_each_judge_gets_the_picture_where_it_wants_it() -> None:
    usual = judged("judge_ocr_multilingual", DREAM, answer("天"), role_says=second(answer("天")))
    other = judged(
        "judge_ocr_multilingual", DREAM, answer("天"), role_says=second(answer("天")), second_media_first=True
    )
    assert usual.kinds == [["image", "text"], ["text", "image"]]
    assert other.kinds == [["image", "text"], ["image", "text"]]


def test_another_script_is_read_by_the_first_judge_alone() -> None:
    done = judged("judge_ocr_multilingual", trial_of("", RED, object="the sign", text="Grüße"), answer(["grusse"]))
    assert [call.role for call in done.calls] == ["judge"]
    assert done.score.value == 0.0  # no folding of ß beyond what is told
    assert judged("judge_ocr_multilingual", trial_of("", RED, text="Tür"), answer(["TUR"])).score.value == 1.0


@pytest.mark.parametrize("said", ["Chinese", "<none>", "1"])
def test_what_is_no_chinese_is_left_out_of_a_reading(said: str) -> None:
    trial = trial_of("", RED, text="和")
    robust = judged("judge_ocr_multilingual", trial, answer(f"和{said}"), role_says=second(answer(f"{said}和")))
    plain = judged("judge_ocr_multilingual", trial, f"和{said}", "official", role_says=second(f"{said}和"))
    assert (robust.score.value, plain.score.value) == (1.0, 1.0)


def test_a_judge_that_declines_in_prose_has_read_nothing_and_is_lost() -> None:
    said = "Sorry, I cannot read this."
    done = judged("judge_ocr_multilingual", trial_of("", RED, text="和"), said, role_says=second("和"))
    assert (done.score.status, done.score.bounds) == ("unscored", (0.0, 1.0))


def test_a_lost_reading_is_unscored_and_for_the_release_an_empty_one() -> None:
    lost = {"second_judge": {"": LOST}}
    standard = judged("judge_ocr_multilingual", DREAM, answer("天"), role_says=lost).score
    official = judged("judge_ocr_multilingual", DREAM, "天", "official", role_says=lost).score
    assert (standard.bounds, standard.cause, official.value) == ((0.0, 1.0), "lost", 0.0)


def test_several_texts_are_not_read_here() -> None:
    score = judged("judge_ocr_multilingual", trial_of("", RED, object="a", text={"a": "b"}), "no").score
    assert (score.status, "several texts" in score.reason) == ("unscored", True)
