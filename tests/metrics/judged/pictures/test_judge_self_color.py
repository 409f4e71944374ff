from __future__ import annotations

from typing import Any

import pytest

from mmeval.records.trial import Trial
from tests.support.picture_judging import LOST, RED, answer, judged, trial_of

YES, NO = answer("yes"), answer("no")
ROW: dict[str, Any] = {"object": ["cup", "ball", "rug"], "color": ["red", "blue", "green"]}


def says(claim: str, **labels: Any) -> Trial:
    return trial_of(f"<image_start><image_0><image_end> {claim}", RED, **{**ROW, **labels})


def test_each_thing_must_have_its_colour() -> None:
    claim = says('{"cup": "blue", "rug": "red", "ball": "green"}')
    right, wrong = judged("judge_self_color", claim, YES), judged("judge_self_color", claim, {"rug": NO, "": YES})

    assert (right.score.value, wrong.score.value, len(right.calls)) == (1.0, 0.0, 3)
    assert "exactly one cup, which is mostly blue and has no other major color" in right.questions[0]
    assert right.score.evidence["claimed"] == {"cup": "blue", "rug": "red", "ball": "green"}


def test_things_with_several_colours_by_nature_may_have_them() -> None:
    claim = says('{"cup": "blue", "rug": "red", "ball": "green"}')

    assert "exactly one ball, which is mostly green\n" in judged("judge_self_color", claim, YES).questions[2]
    assert (
        "exactly one rug, which is mostly red\n"
        in judged("judge_self_color", claim, YES, many_colored=["rug"]).questions[1]
    )


@pytest.mark.parametrize(
    "claim",
    [
        '{"cup": "Blue", "rug": "red", "ball": "green"}',
        '{"cup": "red", "rug": "red", "ball": "green"}',
        '{"cup": "blue", "rug": "red"}',
        "{'cup': 'blue', 'rug': 'red', 'ball': 'green'}",
        '{"cup": ["blue"], "rug": "red", "ball": "green"}',
        "blue, red, green",
    ],
)
def test_another_claim_is_0_and_nobody_is_asked(claim: str) -> None:
    done = judged("judge_self_color", says(claim), YES)

    assert (done.score.value, done.calls) == (0.0, [])


def test_a_lost_reply_is_unscored_and_wrong_for_the_release() -> None:
    claim = says('{"cup": "blue", "rug": "red", "ball": "green"}')

    assert judged("judge_self_color", claim, {"rug": LOST, "": YES}).score.bounds == (0.0, 1.0)
    assert judged("judge_self_color", claim, {"rug": LOST, "": "Yes"}, "official").score.value == 0.0


@pytest.mark.parametrize("labels", [{"object": None}, {"color": "red", "object": 3}, {"color": [1]}])
def test_a_row_without_things_or_colours_is_unscored(labels: dict[str, Any]) -> None:
    assert judged("judge_self_color", says("", **labels), YES).score.status == "unscored"
