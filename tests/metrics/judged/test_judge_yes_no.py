from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.metric import bind, load_metric
from mmeval.records import Response, Trial
from tests.support.judging import judged
from tests.support.toy import reply, sample

YES, NO, UNSURE = (
    f'{{"reason": "r", "verdict": "{word}"}}' for word in ("yes", "no", "not sure")
)


def trial(**labels: Any) -> Trial:
    return Trial(
        sample(text="Name a tree.", answer="An oak.", **labels),
        output=reply("An ash.").output,
    )


def test_the_wanted_answer_is_1_and_the_other_0_and_repeats_are_combined() -> None:
    values = [
        judged("judge_yes_no", trial(), said, wanted=it).score.value
        for said in (YES, NO)
        for it in (True, False)
    ]
    assert values == [1, 0, 0, 1]
    majority = judged("judge_yes_no", trial(), YES, NO, YES, repeats=3)
    mean = judged(
        "judge_yes_no",
        trial(),
        YES,
        NO,
        YES,
        YES,
        repeats=4,
        combine="mean",
        wanted=False,
    )
    assert majority.score.value == 1.0
    assert mean.score.value == 0.25
    assert majority.score.evidence["spread"]["verdict"] == pytest.approx(1 / 3)
    assert [vote["verdict"] for vote in mean.score.evidence["votes"]] == [
        True,
        False,
        True,
        True,
    ]


def test_the_question_and_the_wanted_answer_may_be_the_rows_own() -> None:
    for right, value in ((" No", 1.0), (True, 0.0)):
        row = trial(check="A tree?", right=right)
        done = judged("judge_yes_no", row, NO, question_key="check", wanted_key="right")
        assert "A tree?" in done.questions[0]
        assert done.score.value == value
    for switch in ("question_key", "wanted_key"):
        done = judged("judge_yes_no", trial(), **{switch: "gone"})
        assert done.score.status == "unscored"
        assert done.asked == []
        assert "'gone'" in done.score.reason


def test_doubt_is_unscored_or_has_a_value() -> None:
    lost = Response.failed("timeout", "slow")
    for said, not_sure, reason in (
        (UNSURE, None, "not sure"),
        (lost, 0.0, "timeout: slow"),
    ):
        score = judged("judge_yes_no", trial(), said, not_sure=not_sure).score
        assert score.value is None
        assert score.bounds == (0, 1)
        assert reason in score.reason
    score = judged("judge_yes_no", trial(), UNSURE, not_sure=0.5).score
    assert score.value == 0.5
    assert score.bounds is None


def test_the_judge_sees_references_only_on_request_and_senseless_switches_are_refused() -> (
    None
):
    senseless: dict[str, Any] = {
        "not_sure": 2.0,
        "combine": "best",
        "repeats": 0,
        "prompt": {"text": "{{ levels }}"},
    }
    for switch, value in senseless.items():
        with pytest.raises(UsageError, match=switch):
            bind(load_metric("judge_yes_no"), {switch: value})
    words = ("Name a tree.", "An oak.", "An ash.")
    usual = judged("judge_yes_no", trial(), YES).questions[0]
    more = judged(
        "judge_yes_no", trial(), YES, show_input=False, show_references=True
    ).questions[0]
    assert [[one in asked for one in words] for asked in (usual, more)] == [
        [True, False, True],
        [False, True, True],
    ]
