from __future__ import annotations

import pytest

from mmeval.metrics.judged.pictures.judge_ocr_multilingual import common_characters
from tests.support.picture_judging import LOST, RED, Says, answer, judged, trial_of

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


def test_characters_in_common() -> None:
    assert common_characters("好好学习", "习学好") == "好好学习"
    assert common_characters("好好学习", "习学好", "set") == "好学习"
    assert common_characters("好", "") == ""


def test_several_texts_are_not_read_here() -> None:
    score = judged("judge_ocr_multilingual", trial_of("", RED, object="a", text={"a": "b"}), "no").score

    assert (score.status, "several texts" in score.reason) == ("unscored", True)
