from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.metric import bind, load_metric, score_derived
from mmeval.records import Score

NAMES = ("semantic_correctness", "unim_gq")
LOST = Score.lost("the judge is gone", bounds=(0.0, 1.0))


def score(correct: Score | float, quality: Score | float, **switches: Any) -> Score:
    given_ = [
        one if isinstance(one, Score) else Score(one) for one in (correct, quality)
    ]
    return score_derived(
        bind(load_metric("sqcs"), switches), dict(zip(NAMES, given_, strict=True))
    )["sqcs"]


def test_seven_tenths_of_the_correctness_count_in_any_case_and_the_rest_by_the_quality() -> (
    None
):
    for (correct, quality), value in {
        (1, 0): 0.7,
        (0.5, 1): 0.5,
        (0.5, 0.5): 0.425,
        (0, 1): 0,
    }.items():
        evidence = {
            "of": {"semantic_correctness": correct, "unim_gq": quality},
            "eta": 0.7,
        }
        found = score(correct, quality)
        assert found.value == pytest.approx(value)
        assert found.evidence == evidence
    assert [score(0.5, 0.5, eta=eta).value for eta in (0.6, 0, 1)] == pytest.approx(
        [0.4, 0.25, 0.5]
    )
    for switch, wrong in (("of", ["a", "b", "c"]), ("eta", 1.01), ("eta", -0.1)):
        with pytest.raises(UsageError, match=f"'{switch}'"):
            bind(load_metric("sqcs"), {switch: wrong})


def test_an_unscored_quality_leaves_bounds_unless_nothing_is_correct() -> None:
    found = score(0.5, LOST)
    assert found.status == "unscored"
    assert found.cause == "lost"
    assert found.bounds == pytest.approx((0.35, 0.5))
    assert found.reason[:9] == "unim_gq: "
    assert score(LOST, Score.unscored("x")).reason.count(":") == 2
    assert score(0.0, LOST).value == 0.0
    assert score(0.0, LOST).evidence["whatever"] == ["unim_gq"]
    assert score(0.25, LOST, eta=1).value == 0.25
