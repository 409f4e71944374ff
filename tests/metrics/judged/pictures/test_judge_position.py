from __future__ import annotations

from typing import Any

import pytest

from tests.support.picture_judging import LOST, RED, answer, judged, trial_of

YES, NO = answer("yes"), answer("no")
ONCE = "shows this: exactly one"


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
def test_a_row_without_places_is_unscored_and_nobody_is_asked(label: Any) -> None:
    done = judged("judge_position", trial_of("", RED, constraint=label), YES)

    assert (done.score.status, done.calls) == ("unscored", [])
    assert "'constraint'" in done.score.reason


def test_an_answer_without_a_picture_is_0() -> None:
    assert judged("judge_position", trial_of("none", constraint=[["kite", "up left"]]), YES).score.value == 0.0
