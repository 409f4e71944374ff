from __future__ import annotations

from typing import Any

import pytest

from mmeval.records.trial import Trial
from tests.support.picture_judging import RED, answer, judged, trial_of

YES, NO = answer("yes"), answer("no")
ONCE = "shows this: exactly one"
PAIRS = [["cup", "pen"], ["rug", "cup"]]


def says(claim: str, things: Any) -> Trial:
    return trial_of(f"<image_start><image_0><image_end> {claim}", RED, object=things)


@pytest.mark.parametrize(("heights", "value"), [("C", 1.0), ("B", 0.0)])
def test_the_first_pair_is_asked_for_its_sides_and_the_second_for_its_heights(heights: str, value: float) -> None:
    done = judged(
        "judge_self_position", says('["A", "c"]', PAIRS), {ONCE: YES, "seen from": answer("A"), "": answer(heights)}
    )

    assert (done.score.value, done.score.evidence["claimed"], len(done.calls)) == (value, ["A", "C"], 4)
    assert "cup, and pen" in done.questions[2]
    assert "At which height" in done.questions[3]


def test_two_things_are_asked_for_their_quarters() -> None:
    done = judged(
        "judge_self_position",
        says('["B", "D"]', ["cup", "pen"]),
        {ONCE: "Yes", "this: cup": "Answer: B", "": "Answer: D"},
        "official",
    )

    assert (done.score.value, len(done.calls)) == (1.0, 4)


def test_where_one_pair_is_not_there_no_other_is_looked_for() -> None:
    done = judged("judge_self_position", says('["A", "A"]', PAIRS), {"exactly one rug": NO, ONCE: YES, "": answer("A")})

    assert (done.score.value, len(done.calls)) == (0.0, 2)


@pytest.mark.parametrize(
    ("claim", "things"),
    [
        ("[A, B]", PAIRS),
        ('["A. left", "B"]', PAIRS),
        ('["A"]', PAIRS),
        ('["A", "D"]', PAIRS),
        ('["A", "E"]', ["cup", "pen"]),
        ("A, B", PAIRS),
    ],
)
def test_another_claim_is_0_and_nobody_is_asked(claim: str, things: Any) -> None:
    done = judged("judge_self_position", says(claim, things), YES)

    assert (done.score.value, done.calls) == (0.0, [])


@pytest.mark.parametrize("label", [None, ["cup"], [["cup", "pen"]], [["cup"], ["pen"]], ["cup", ["a", "b"]], [1, 2]])
def test_a_row_without_two_things_or_pairs_is_unscored(label: Any) -> None:
    assert judged("judge_self_position", says('["A", "B"]', label), YES).score.status == "unscored"
