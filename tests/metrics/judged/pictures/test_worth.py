import pytest

from mmeval.metrics.judged.pictures.worth import (
    Worth,
    mean,
    product,
    unknown,
    weighted,
    worth,
)
from mmeval.records import Score

OPEN = unknown("the judge slept", "lost")


def test_an_unknown_value_leaves_bounds_and_its_cause_unless_its_weight_is_0() -> None:
    assert mean([worth(1), worth(0), worth(1)]).scored({}).value == pytest.approx(2 / 3)
    assert product([worth(0), OPEN]).scored({}).value == 0
    score = product([worth(0.5), mean([worth(1), OPEN])]).scored({"why": "so"})
    unscored = Score(
        status="unscored",
        reason=OPEN.reason,
        cause="lost",
        bounds=(0.25, 0.5),
        evidence={"why": "so"},
    )
    assert score == unscored
    assert (
        product([unknown("a", "final"), OPEN, unknown("b", "unsure")]).cause == "lost"
    )
    assert mean([unknown("a", "final"), unknown("b", "unsure")]).cause == "unsure"
    assert product([]) == mean([]) == Worth(1.0, 1.0)
    assert weighted([worth(0.5), OPEN], [1, 0]) == worth(0.5)
    assert weighted([worth(0.5), OPEN], [0.5, 0.5]) == Worth(
        0.25, 0.75, OPEN.reason, "lost"
    )
    assert weighted([worth(1), worth(1)], [0.7, 0.4]) == worth(1)
