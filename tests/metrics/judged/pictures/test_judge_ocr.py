from __future__ import annotations

from typing import Any

import pytest

from mmeval.decode import image
from tests.support.picture_judging import BLUE, LOST, RED, answer, judged, trial_of
from tests.support.pictures import even, picture_trial

YES, NO = answer("yes"), answer("no")
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
