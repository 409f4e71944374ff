from __future__ import annotations

from typing import Any

import pytest

from tests.support.picture_judging import BLUE, LOST, RED, answer, judged, trial_of

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


def test_two_pictures_are_0_and_nobody_is_asked() -> None:
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
