from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.metric import bind, load_metric
from mmeval.records import Response, Trial
from tests.support.judging import judged
from tests.support.toy import reply, sample

TRIAL = Trial(sample(), output=reply("An ash.").output)


def grade(value: Any) -> str:
    return f'{{"reason": "r", "grade": "{value}"}}'


def test_a_grade_lies_between_the_levels_that_the_judge_reads_and_repeats_are_combined() -> (
    None
):
    cases: list[tuple[Any, int, float]] = [
        (["bad", "fair", "good"], 2, 0.5),
        ({"-2": "bad", "2": "good"}, -1, 0.25),
    ]
    for levels, given, value in cases:
        score = judged("judge_grade", TRIAL, grade(given), levels=levels).score
        assert score.value == value
        assert score.evidence == {"reason": "r", "grade": given}
    for unfit in (["one"], {"low": "a", "high": "b"}, {"1": "a", "01": "b"}):
        with pytest.raises(UsageError, match="'levels'"):
            bind(load_metric("judge_grade"), {"levels": unfit})
    (asked,) = judged(
        "judge_grade",
        TRIAL,
        grade(4),
        levels={"4": "good", "-1": "bad"},
        criterion="Style",
    ).questions
    assert "Style" in asked
    assert "- -1: bad\n- 4: good" in asked
    assert "from -1 to 4" in asked
    for combine, value in {"mean": 0.625, "median": 0.75, "majority": 0.75}.items():
        done = judged(
            "judge_grade", TRIAL, *map(grade, (4, 4, 4, 2)), repeats=4, combine=combine
        )
        assert done.score.value == value


def test_without_a_grade_the_trial_is_unscored_within_the_whole_range() -> None:
    for said in (grade("not sure"), Response.failed("server", "no")):
        score = judged("judge_grade", TRIAL, said).score
        assert score.status == "unscored"
        assert score.bounds == (0.0, 1.0)
